"""Writes records into shards through tensorflow-datasets."""

import contextlib
import importlib.util
import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keras_attn.extras import import_optional, missing_package
from keras_attn_pipelines.data.shards.record_features import (
    IMAGE,
    INTEGER,
    JSON,
    PICTURE,
    TEXT,
    TEXTS,
    RecordFeatures,
)

ARRAY_RECORD, TF_RECORD = FORMS = ("array_record", "tfrecord")
RECORDS, INDEX = "keras_attn_records", "_index"
"""Key of the description in the metadata; suffix of the data set without pictures."""
VERSION = "1.0.0"


@dataclass(frozen=True)
class ShardOptions:
    """How shards are written.

    Attributes:
        form: "array_record" or "tfrecord".
        shards: number of files of each split; None lets tensorflow-datasets choose by size.
        beam_runner: name of an Apache Beam runner, such as "DirectRunner"; None: without Beam.
        beam_options: flags of the runner, such as "--direct_num_workers=2".
    """

    form: str = ARRAY_RECORD
    shards: int | None = None
    beam_runner: str | None = None
    beam_options: Sequence[str] = ()

    def __post_init__(self):
        if self.form not in FORMS:
            raise ValueError(f"Expected a format of {', '.join(FORMS)}. Received: {self.form!r}")
        if self.shards is not None and self.shards < 1:
            raise ValueError(f"Expected shards >= 1. Received: shards={self.shards}")
        if self.beam_options and self.beam_runner is None:
            raise ValueError(
                "Expected a Beam runner for options of Beam. "
                f"Received: {' '.join(self.beam_options)} and no runner"
            )

    def check_packages(self) -> None:
        """Raises ImportError for a package that the options need and that is not installed."""
        needed = {"tensorflow_datasets": "tfds"}
        needed |= {"array_record": "tfds"} if self.form == ARRAY_RECORD else {}
        needed |= {"apache_beam": "beam"} if self.beam_runner is not None else {}
        for module, extra in needed.items():
            if importlib.util.find_spec(module) is None:
                raise missing_package("shards", module, "no such package", extra)


def write_shards(
    splits: Mapping[str, Sequence[Any]],
    record: type,
    folder,
    name: str,
    description: Mapping[str, Any],
    options: ShardOptions | None = None,
) -> None:
    """Writes records as data sets of tensorflow-datasets, in their order.

    The data set `name` has all features. Where records have pictures, a second one, `name_index`,
    has all but the pictures, so that records can be read without reading pictures.

    Args:
        splits: records by the names of splits.
        record: dataclass of the records, see `RecordFeatures`.
        folder: path of an empty folder.
        name: name of the data set: lower-case letters, digits and underscores.
        description: dict for JSON that describes the records; readers find it.
        options: `ShardOptions`.

    Raises:
        ImportError: tensorflow-datasets or what the options need is not installed.
        ValueError: more shards than records in a split.
    """
    options = options or ShardOptions()
    smallest = min(splits, key=lambda split: len(splits[split]))
    if (options.shards or 0) > len(splits[smallest]):
        raise ValueError(
            f"Expected at most {len(splits[smallest])} shards, the records of {smallest}. "
            f"Received: shards={options.shards}"
        )
    features = RecordFeatures(record)
    _build(splits, features, folder, name, description, options)
    if IMAGE in features.kinds:
        _build(splits, features, folder, name + INDEX, description, options, leaves_out=IMAGE)


def _build(splits, features, folder, name, description, options, leaves_out=""):
    """Writes one data set."""
    tfds = import_optional(folder)
    if options.form == ARRAY_RECORD:
        import_optional(folder, "array_record")
    kinds = {key: kind for key, kind in features.kinds.items() if key != leaves_out}
    content = json.dumps({**description, "kinds": kinds}, ensure_ascii=False)
    data_set_name = name

    with tfds.core.registered.skip_registration():

        class Shards(tfds.core.GeneratorBasedBuilder):
            """Records of one kind."""

            VERSION = tfds.core.Version(VERSION)
            name = data_set_name

            def _info(self):
                return tfds.core.DatasetInfo(
                    builder=self,
                    description=str(description.get("description", "")),
                    features=_features(tfds, kinds),
                    metadata=tfds.core.MetadataDict({RECORDS: content}),
                    disable_shuffling=True,
                )

            def _split_generators(self, dl_manager):
                return {
                    key: _examples(records, features, leaves_out, options)
                    for key, records in splits.items()
                }

            def _generate_examples(self):
                raise NotImplementedError("The splits come with their examples.")

    with (
        tempfile.TemporaryDirectory() as downloads,
        contextlib.redirect_stdout(io.StringIO()),  # It says that it downloads.
    ):
        builder = Shards(data_dir=str(folder), file_format=options.form)
        builder.download_and_prepare(download_dir=downloads, download_config=_config(tfds, options))


def _features(tfds, kinds):
    """The features of tensorflow-datasets."""
    import numpy as np

    made = {
        TEXT: tfds.features.Text,
        JSON: tfds.features.Text,
        INTEGER: lambda: tfds.features.Scalar(np.int64),
        TEXTS: lambda: tfds.features.Sequence(tfds.features.Text()),
        PICTURE: tfds.features.Image,
    }
    return tfds.features.FeaturesDict({name: made[kind]() for name, kind in kinds.items()})


def _examples(records, features, leaves_out, options):
    """Pairs of a row number and an example; with a runner, a step of a Beam pipeline."""
    example = _Example(features, leaves_out)
    if options.beam_runner is None:
        return _numbered(records, example)
    beam = import_optional(options.beam_runner, "apache_beam", "beam")
    rows = beam.Create(list(enumerate(records)), reshuffle=True)
    return rows | beam.MapTuple(example)


def _numbered(records, example) -> Iterator[tuple[int, dict[str, Any]]]:
    for row, record in enumerate(records):
        yield example(row, record)


@dataclass(frozen=True)
class _Example:
    """Function from a row number and a record to the row number and the features."""

    features: RecordFeatures
    leaves_out: str

    def __call__(self, row, record):
        values = self.features.values(record, self.leaves_out)
        if IMAGE in values:  # Bytes in a file stay as they are.
            values[IMAGE] = io.BytesIO(values[IMAGE])
        return row, values


def _config(tfds, options):
    """The configuration of the builder, with the runner."""
    beam = {}
    if options.beam_runner is not None:
        module = import_optional(
            options.beam_runner, "apache_beam.options.pipeline_options", "beam"
        )
        beam["beam_runner"] = options.beam_runner
        beam["beam_options"] = module.PipelineOptions(list(options.beam_options))
    return tfds.download.DownloadConfig(num_shards=options.shards, **beam)
