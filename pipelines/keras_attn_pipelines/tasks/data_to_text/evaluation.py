"""Scores texts that say facts: sacreBLEU, METEOR, and what they say of the facts."""

import math

from keras_attn.contracts import SCORE, TEXT
from keras_attn.evaluation.caption_metrics import caption_metrics
from keras_attn.evaluation.fact_metrics import fact_metrics
from keras_attn.evaluation.text_metrics import text_metrics, text_signatures
from keras_attn.evaluation.tokenization import AUTO
from keras_attn_pipelines.experiment.evaluation import Evaluation

POINTS = {"bleu": "BLEU", "chrf": "chrF", "meteor": "METEOR"}
SHARES = {"order": "order", "mentioned": "facts mentioned", "copied": "values copied"}


def text_scores(texts, records, tokenization=AUTO) -> dict[str, float]:
    """Scores of a text for each `FactSet`: "bleu", "chrf", "order", "mentioned", "copied" and more.

    The scores of sacreBLEU are in 0..100, those of `fact_metrics` in 0..1.
    """
    references = [record.texts for record in records]
    facts, orders = [record.facts for record in records], [record.orders for record in records]
    return {
        **text_metrics(texts, references, tokenization),
        **fact_metrics(texts, facts, references, orders),
    }


def evaluate_texts(records, answers, metadata, scoring) -> Evaluation:
    """Scores the best text of each answer: see `Task.evaluation`. METEOR needs Java."""
    texts = [answer[TEXT][0].decode() for answer in answers]
    scores = text_scores(texts, records, scoring.metric_tokenization)
    captions = caption_metrics(texts, [record.texts for record in records])
    scores |= {key: captions[key] for key in ("meteor",) if key in captions}
    cells = {POINTS[key]: f"{scores[key]:.1f}" for key in POINTS if key in scores}
    cells |= {
        SHARES[key]: f"{100 * scores[key]:.1f}%" for key in SHARES if not math.isnan(scores[key])
    }
    signatures = text_signatures(several=True, tokenization=scoring.metric_tokenization)
    lines = [
        f"- {POINTS[key]}: `{signature}`" for key, signature in signatures.items() if key in POINTS
    ]
    return Evaluation(
        scores={key: score for key, score in scores.items() if not math.isnan(score)},
        cells=cells,
        count=len(records),
        unit="sets of facts",
        note="; sacreBLEU's signatures:\n\n" + "\n".join(lines),
        facts={
            "texts": [
                {
                    "facts": record.facts,
                    "text": text,
                    "score": float(answer[SCORE][0]),
                    "references": record.texts,
                }
                for record, text, answer in zip(records, texts, answers)
            ],
            "signatures": signatures,
        },
        beam_width=metadata["beam_width"],
    )
