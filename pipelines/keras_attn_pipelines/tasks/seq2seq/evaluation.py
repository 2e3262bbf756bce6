"""Scores generated texts by sacreBLEU's metrics."""

from keras_attn.contracts import SCORE, TEXT
from keras_attn.evaluation.text_metrics import text_metrics, text_signatures
from keras_attn_pipelines.experiment.evaluation import Evaluation

LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "bleu_lowercase": "BLEU, lower case",
    "exact": "exact match",
}


def evaluate_texts(records, answers, metadata, scoring) -> Evaluation:
    """Scores the best text of each answer: see `Task.evaluation`."""
    texts = [answer[TEXT][0].decode() for answer in answers]
    tokenization = scoring.metric_tokenization
    scores = text_metrics(texts, [pair.target for pair in records], tokenization)
    cells = {LABELS[key]: f"{scores[key]:.1f}" for key in LABELS if key != "exact"}
    cells[LABELS["exact"]] = f"{100 * scores['exact']:.1f}%"
    signatures = text_signatures(tokenization=tokenization)
    lines = [f"- {LABELS[key]}: `{signature}`" for key, signature in signatures.items()]
    return Evaluation(
        scores=scores,
        cells=cells,
        count=len(records),
        unit="pairs",
        note="; sacreBLEU's signatures:\n\n" + "\n".join(lines),
        facts={
            "texts": [
                {
                    "source": pair.source,
                    "text": text,
                    "score": float(answer[SCORE][0]),
                    "reference": pair.target,
                }
                for pair, text, answer in zip(records, texts, answers)
            ],
            "signatures": signatures,
        },
        beam_width=metadata["beam_width"],
    )
