"""Captions of a split in coco-caption's metrics."""

from dataclasses import dataclass

from keras_attn.evaluation.caption_metrics import TOKENIZER_NAME, caption_metrics
from pipelines.evaluation import SearchEvaluation

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


@dataclass(frozen=True)
class CaptionEvaluation(SearchEvaluation):
    """Captions of a split, scored.

    Attributes:
        pictures: how many were captioned.
        captions: list of dicts with image, caption, score (nats), references.
    """

    pictures: int
    captions: list[dict]

    @classmethod
    def of(cls, records, texts, scores, tokenizer, **facts) -> "CaptionEvaluation":
        """Scores captions: see `SearchRecipe.text_evaluation`."""
        references = [record.captions for record in records]
        print(f"scoring {len(texts)} captions …")
        metrics = caption_metrics(texts, references)
        own = [tokenizer.normalize(list(one)).numpy() for one in references]
        same = [text.encode() in one for text, one in zip(texts, own)]
        metrics["exact"] = sum(same) / len(same)
        captions = [
            {"image": record.name, "caption": text, "score": score, "references": record.captions}
            for record, text, score in zip(records, texts, scores)
        ]
        return cls(scores=metrics, pictures=len(records), captions=captions, **facts)

    def cells(self):
        """See `Evaluation`."""
        return {LABELS[key]: _shown(key, self.scores[key]) for key in LABELS if key in self.scores}

    def note(self):
        """See `Evaluation`."""
        note = (
            f"{self.pictures} pictures of {self.split}, beam {self.beam_width}, all references, "
            f"tokenizer: {TOKENIZER_NAME}"
        )
        return note + ("" if "meteor" in self.scores else "; no METEOR, which needs Java")

    def facts(self):
        """See `Evaluation`."""
        return {"tokenizer": TOKENIZER_NAME}


def _shown(key, value):
    return f"{value:.3f}" if key == "cider_d" else f"{100 * value:.1f}"
