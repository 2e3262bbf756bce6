"""Learns from a run's own pictures which pictures are familiar to it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_attn.contracts import FEATURES, IMAGE
from keras_attn.escaping import escape_markdown
from keras_attn.models.captioner.captioner import Captioner
from keras_attn.models.captioner.familiarity import TOLERATED, Familiarity
from keras_attn.progress import Progress
from keras_attn_pipelines.experiment.sharded import read_split
from keras_attn_pipelines.runs.run import Run

BATCH = 32
FEWEST = 20
"""Pictures of a kind that can be learned from."""


class LearnedFamiliarity(NamedTuple):
    """A familiarity, and how often it calls a kind of pictures unfamiliar.

    Attributes:
        layer: `Familiarity`.
        data: name of the data.
        counts: pictures of training and dev.
        shares: share with a familiarity below 0.5, and number, of each kind of pictures.
    """

    layer: Familiarity
    data: str
    counts: tuple[int, int]
    shares: Mapping[str, tuple[float, int]]

    def text(self) -> str:
        """What was learned from what, as Markdown."""
        training, dev = self.counts
        others = " and ".join(escape_markdown(name) for name in list(self.shares)[1:])
        rows = [
            f"| {escape_markdown(name)} | {count:,} | {100 * share:.1f}% |"
            for name, (share, count) in self.shares.items()
        ]
        kept = f"{training:,} training pictures of {escape_markdown(self.data)}"
        return "\n".join(
            [
                f"`familiarity` is the probability that a picture is of the kind of the {kept}, by "
                f"the features of the encoder. {TOLERATED:.0%} of {dev:,} pictures of dev are "
                f"below 0.5; how fast it falls was chosen by these and by {others}. Below 0.5, the "
                "answer is noted as one about an unfamiliar picture.",
                "",
                "| pictures | number | below 0.5 |",
                "| --- | --- | --- |",
                *rows,
            ]
        )


def learn_familiarity(
    run: Run,
    data,
    others: Mapping[str, Sequence[bytes]],
    precision: str = "float32",
    max_pixels: int | None = None,
) -> LearnedFamiliarity:
    """The familiarity of pictures to a captioner: of its training pictures, calibrated on dev.

    Args:
        run: `Run` of a captioner.
        data: path of the data it was trained on, or another name that its source accepts.
        others: encoded pictures of other kinds, by the name of each kind; calibrated on, too.
        precision: "float32" or "bfloat16", the compute precision.
        max_pixels: int, or None for the default; see `PictureFormat`.

    Raises:
        ValueError: a run of another task, bad data, or too few readable pictures of some kind.
    """
    experiment = run.experiment()
    service = run.service(precision=precision, max_pixels=max_pixels)
    model, reader = service.model, service.reader
    if not isinstance(model, Captioner):
        raise ValueError(
            f"Expected a captioner of pictures for a familiarity. Received: {model.name}"
        )
    channels = model.feature_shape[-1]

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string)], autograph=False)
    def pooled(files):
        read = reader.read(files)
        features = model.encoded(read.features)[FEATURES]
        return Familiarity.pool(features), read.readable

    def vectors(name, files):
        parts = []
        for start in Progress.over(range(0, len(files), BATCH), f"reading {name}", "batch"):
            batch = [files[place] for place in range(start, min(start + BATCH, len(files)))]
            rows, readable = pooled(tf.constant(batch))
            parts.append(rows.numpy()[readable.numpy()])
        found = np.concatenate(parts) if parts else np.zeros((0, channels))
        if len(found) < FEWEST:
            raise ValueError(
                f"Expected at least {FEWEST} readable pictures of {name}. Received: {len(found)}"
            )
        return found

    other = {name: vectors(name, files) for name, files in others.items()}
    known = {
        split: vectors(split, _Files(experiment.work, read_split(experiment.source, data, split)))
        for split in ("dev", "train")
    }
    layer = Familiarity(channels, Familiarity.rank_for(len(known["train"]), channels))
    layer.adapt(known["train"], known["dev"], np.concatenate(list(other.values())))
    shares = {
        name: (float(np.mean(np.asarray(layer.of_pooled(rows)) < 0.5)), len(rows))
        for name, rows in {"dev": known["dev"], **other}.items()
    }
    return LearnedFamiliarity(
        layer, Path(data).name, (len(known["train"]), len(known["dev"])), shares
    )


class _Files(Sequence):
    """The encoded pictures of records, read when they are taken."""

    def __init__(self, work: Any, records: Sequence[Any]):
        self.work, self.records = work, records

    def __len__(self):
        return len(self.records)

    def __getitem__(self, place):
        return self.work.request(self.records[place]).inputs[IMAGE]
