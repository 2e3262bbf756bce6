"""Evaluation: free-running captions of a run on a split, in the field's metrics."""

import json
from dataclasses import dataclass

import tensorflow as tf
from tqdm import tqdm

from keras_attn.contracts import ERROR, SCORE, TEXT
from keras_attn.evaluation.caption_metrics import TOKENIZER_NAME, caption_metrics
from pipelines.run import Run

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
class Evaluation:
    """Result of `evaluate`.

    Attributes:
        data: path of the data folder, as it was given.
        split: name of the split.
        pictures: how many were captioned.
        scores: dict of metrics.
        beam_width: int.
        captions: list of dicts with image, caption, score (nats), references.
        errors: list of strings, pictures that could not be read.
    """

    data: str
    split: str
    pictures: int
    scores: dict[str, float]
    beam_width: int
    captions: list[dict]
    errors: list[str]

    def table(self) -> str:
        """The metrics as a Markdown table."""
        keys = [key for key in LABELS if key in self.scores]
        head = " | ".join(LABELS[key] for key in keys)
        row = " | ".join(_shown(key, self.scores[key]) for key in keys)
        note = (
            f"{self.pictures} pictures of {self.split}, beam {self.beam_width}, all references, "
            f"tokenizer: {TOKENIZER_NAME}"
        )
        if "meteor" not in self.scores:
            note += "; no METEOR, which needs Java"
        return f"| {head} |\n|{' --- |' * len(keys)}\n| {row} |\n\n{note}"

    def json(self) -> str:
        """Everything, as JSON."""
        return json.dumps({**self.__dict__, "tokenizer": TOKENIZER_NAME}, indent=2) + "\n"


def _shown(key, value):
    return f"{value:.3f}" if key == "cider_d" else f"{100 * value:.1f}"


def evaluate(
    run: Run,
    data,
    split: str = "dev",
    beam_width: int | None = None,
    batch: int = 32,
    precision: str = "float32",
) -> Evaluation:
    """Captions every picture of a split with the run's service and scores the captions.

    Args:
        run: `Run`.
        data: path of the data folder.
        split: "train", "dev" or "test", or the name of another split file in the folder.
        beam_width: int, or None for the recipe's.
        batch: int. Pictures at a time.
        precision: "float32" or "bfloat16", what the model computes in.

    Returns:
        `Evaluation`. A picture that cannot be read counts as an empty caption and is listed.

    Raises:
        ValueError: bad data, an unknown or empty split.
    """
    records = run.recipe().records(data, split)
    service = run.service(beam_width, precision=precision)
    answer = tf.function(
        service.caption, input_signature=[tf.TensorSpec((None,), tf.string)], autograph=False
    )
    texts, scores, errors = [], [], []
    for start in tqdm(range(0, len(records), batch), desc=f"captions of {split}", unit="batch"):
        chunk = records[start : start + batch]
        found = answer(tf.constant([record.path.read_bytes() for record in chunk]))
        texts += [text.decode() for text in found[TEXT][:, 0].numpy()]
        scores += found[SCORE][:, 0].numpy().tolist()
        for record, error in zip(chunk, found[ERROR].numpy()):
            if error:
                errors.append(f"{record.path}: {error.decode()}")
    metrics, captions = _scored(service, records, texts, scores)
    width = service.strategy.width
    return Evaluation(str(data), split, len(records), metrics, width, captions, errors)


def _scored(service, records, texts, scores):
    """Metrics of the captions, and each with its picture, score and references."""
    references = [record.captions for record in records]
    metrics = caption_metrics(texts, references)
    normalize = service.tokenizer.normalize
    same = [text.encode() in normalize(list(own)).numpy() for text, own in zip(texts, references)]
    metrics["exact"] = sum(same) / len(same)
    captions = [
        {"image": record.name, "caption": text, "score": score, "references": record.captions}
        for record, text, score in zip(records, texts, scores)
    ]
    return metrics, captions
