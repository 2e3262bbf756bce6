"""Scores captions by coco-caption's metrics."""

from keras_attn.contracts import SCORE, TEXT
from keras_attn.evaluation.caption_metrics import TOKENIZER_NAMES, caption_metrics
from keras_attn_pipelines.experiment.evaluation import Evaluation

LABELS = {
    "bleu_1": "BLEU-1",
    "bleu_2": "BLEU-2",
    "bleu_3": "BLEU-3",
    "bleu_4": "BLEU-4",
    "cider_d": "CIDEr-D",
    "rouge_l": "ROUGE-L",
    "meteor": "METEOR",
    "exact": "exact match",
}


def evaluate_captions(records, answers, tokenizer, metadata, scoring) -> Evaluation:
    """Scores the best caption of each answer: see `Task.evaluation`."""
    captions = [answer[TEXT][0].decode() for answer in answers]
    references = [record.captions for record in records]
    print(f"scoring {len(captions)} captions …")
    tokenization = scoring.metric_tokenization
    scores = caption_metrics(captions, references, tokenization=tokenization)
    normalized = [tokenizer.normalize(list(texts)).numpy() for texts in references]
    exact = [caption.encode() in texts for caption, texts in zip(captions, normalized)]
    scores["exact"] = sum(exact) / len(exact)
    name = TOKENIZER_NAMES[tokenization]
    note = f", all references, tokenizer: {name}"
    return Evaluation(
        scores=scores,
        cells={LABELS[key]: _shown(key, scores[key]) for key in LABELS if key in scores},
        count=len(records),
        unit="pictures",
        note=note + ("" if "meteor" in scores else "; no METEOR, which needs Java"),
        facts={
            "captions": [
                {
                    "image": record.name,
                    "caption": caption,
                    "score": float(answer[SCORE][0]),
                    "references": record.captions,
                }
                for record, caption, answer in zip(records, captions, answers)
            ],
            "tokenizer": name,
        },
        beam_width=metadata["beam_width"],
    )


def _shown(key, value):
    if key == "exact":
        return f"{100 * value:.1f}%"
    return f"{value:.3f}" if key == "cider_d" else f"{value:.1f}"
