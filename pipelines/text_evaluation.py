"""Generated texts of a split in sacreBLEU's metrics."""

from dataclasses import dataclass

from keras_attn.evaluation.text_metrics import text_metrics, text_signatures
from pipelines.evaluation import SearchEvaluation

LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "bleu_lowercase": "BLEU, lower case",
    "exact": "exact match",
}


@dataclass(frozen=True)
class TextEvaluation(SearchEvaluation):
    """Generated texts of a split, scored.

    Attributes:
        pairs: how many there were.
        texts: list of dicts with source, text, score (nats), reference.
    """

    pairs: int
    texts: list[dict]

    @classmethod
    def of(cls, records, texts, scores, **facts) -> "TextEvaluation":
        """Scores texts: see `SearchRecipe.text_evaluation`."""
        metrics = text_metrics(texts, [pair.target for pair in records])
        rows = [
            {"source": pair.source, "text": text, "score": score, "reference": pair.target}
            for pair, text, score in zip(records, texts, scores)
        ]
        return cls(scores=metrics, pairs=len(records), texts=rows, **facts)

    def cells(self):
        """See `Evaluation`."""
        shown = {key: f"{self.scores[key]:.1f}" for key in LABELS if key != "exact"}
        shown["exact"] = f"{100 * self.scores['exact']:.1f}%"
        return {LABELS[key]: value for key, value in shown.items()}

    def note(self):
        """See `Evaluation`."""
        lines = [
            f"{self.pairs} pairs of {self.split}, beam {self.beam_width}; sacreBLEU's signatures:"
        ]
        signatures = text_signatures()
        lines += [f"- {LABELS[key]}: `{signature}`" for key, signature in signatures.items()]
        return "\n".join([lines[0], "", *lines[1:]])

    def facts(self):
        """See `Evaluation`."""
        return {"signatures": text_signatures()}
