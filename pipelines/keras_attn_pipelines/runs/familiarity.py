"""Learns from a run's own pictures which pictures are familiar to it."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_attn.contracts import FEATURES, IMAGE
from keras_attn.escaping import escape_markdown, escape_terminal
from keras_attn.models.captioner.familiarity import TOLERATED, Familiarity
from keras_attn.progress import Progress
from keras_attn.serving.familiarity import check_captioner
from keras_attn.serving.stored_weights import FLOAT32, round_weights
from keras_attn_pipelines.experiment.sharded import read_split
from keras_attn_pipelines.runs.run import Run

BATCH = 32
FEWEST = 20
"""Pictures of each kind that can be learned from."""


@dataclass(frozen=True)
class Share:
    """How many pictures of a kind have a familiarity below 0.5.

    Attributes:
        kind: of the pictures.
        count: of the pictures.
        below: share of them, 0 to 1.
    """

    kind: str
    count: int
    below: float


@dataclass(frozen=True)
class LearnedFamiliarity:
    """A familiarity, and how often it calls a kind of pictures unfamiliar.

    Attributes:
        layer: `Familiarity`.
        data: name of the data.
        count: of training pictures.
        dev, others: `Share`s of dev, and of pictures of other kinds.
    """

    layer: Familiarity
    data: str
    count: int
    dev: Share
    others: Sequence[Share]

    def text(self) -> str:
        """What was learned from what, as Markdown."""
        kinds = " and ".join(escape_markdown(share.kind) for share in self.others)
        shares = [
            f"| {escape_markdown(share.kind)} | {share.count:,} | {100 * share.below:.1f}% |"
            for share in (self.dev, *self.others)
        ]
        return "\n".join(
            [
                "`familiarity` is the probability that a picture is of the kind of the "
                f"{self.count:,} training pictures of {escape_markdown(self.data)}, by the "
                f"features of the encoder, calibrated on {self.dev.count:,} pictures of dev and on "
                f"{kinds}, as if {100 * float(self.layer.prior):.0f}% of all pictures were of that "
                f"kind: then at most {TOLERATED:.0%} of dev are below 0.5. Such a picture gets a "
                "note.",
                "",
                "| pictures | number | below 0.5 |",
                "| --- | --- | --- |",
                *shares,
            ]
        )


def learn_familiarity(
    run: Run,
    data,
    others: Mapping[str, Sequence[bytes | Path]],
    precision: str = FLOAT32,
    max_pixels: int | None = None,
    storage: str = FLOAT32,
) -> LearnedFamiliarity:
    """The familiarity of pictures to a captioner: of its training pictures, calibrated on dev.

    Args:
        run: `Run` of a captioner.
        data: path of the data it was trained on, or another name that its source accepts.
        others: pictures of other kinds, encoded or as files, by the name of each kind; calibrated
            on, too.
        precision: "float32" or "bfloat16", the compute precision.
        max_pixels: int, or None for the default; see `PictureFormat`.
        storage: of the weights, as of `export_service`, which changes features.

    Raises:
        ValueError: a run of another task, bad data, too few readable pictures of some kind, or
            others that are no farther from the training pictures than dev.
    """
    experiment = run.experiment()
    service = run.service(precision=precision, max_pixels=max_pixels)
    check_captioner(service.model)
    round_weights(service.model, storage)
    pictures, channels = service.reader.picture_format, service.model.feature_shape[-1]
    pictures = pictures.for_batches(BATCH)

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string)], autograph=False)
    def pooled(files):
        pixels, _, reasons = pictures.decode_batch(files)
        return Familiarity.pool(service.model.encoded({IMAGE: pixels})[FEATURES]), reasons

    def vectors(kind, items, read):
        parts, problems = [np.zeros((0, channels))], Counter[str]()
        for start in Progress.over(range(0, len(items), BATCH), f"reading {kind}", "batch"):
            files = [read(item) for item in items[start : start + BATCH]]
            rows, reasons = (part.numpy() for part in pooled(tf.constant(files)))
            parts.append(rows[reasons == b""])
            problems.update(reason.decode() for reason in reasons if reason)
        for reason, count in problems.items():
            line = f"skipped: {count} pictures of {kind}: {reason}"
            print(escape_terminal(line), file=sys.stderr, flush=True)
        rows = np.concatenate(parts)
        if len(rows) < FEWEST:
            raise ValueError(
                f"Expected at least {FEWEST} readable pictures of {kind}. Received: {len(rows)}"
            )
        return rows

    def of_record(record):
        return experiment.work.request(record).inputs[IMAGE]

    other = {kind: vectors(kind, items, _contents) for kind, items in others.items()}
    dev, training = (
        vectors(split, read_split(experiment.source, data, split), of_record)
        for split in ("dev", "train")
    )
    layer = Familiarity(channels, Familiarity.rank_for(len(training), channels))
    layer.adapt(training, dev, np.concatenate(list(other.values())))

    def share(kind, rows):
        return Share(kind, len(rows), float(np.mean(np.asarray(layer.of_pooled(rows)) < 0.5)))

    shares = [share(kind, rows) for kind, rows in other.items()]
    return LearnedFamiliarity(layer, Path(data).name, len(training), share("dev", dev), shares)


def _contents(item):
    """The bytes of an encoded picture or a file."""
    return item.read_bytes() if isinstance(item, Path) else item
