"""Data sets of the real tensorflow-datasets by name: builders of local files."""

import json
import shutil

import numpy as np
import pytest

from keras_attn_pipelines.data.readers.pair_reader import pair_sources
from keras_attn_pipelines.data.readers.picture_kinds import read_captions
from keras_attn_pipelines.recipes import load_recipe
from tests.pipelines.picture_folder import pictures

pytestmark = pytest.mark.tfds


@pytest.fixture(scope="module")
def builders(tfds, tmp_path_factory):
    """Two data sets that tensorflow-datasets knows by name: captioned pictures, and reviews."""
    folder = pictures(tmp_path_factory.mktemp("made") / "own", ["0.png", "1.png", "2.png"])

    class ToyCaptions(tfds.core.GeneratorBasedBuilder):
        """Three pictures with captions."""

        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            texts = tfds.features.Sequence(tfds.features.Text())
            features = {"image": tfds.features.Image(), "captions": texts}
            return self.dataset_info_from_configs(features=tfds.features.FeaturesDict(features))

        def _split_generators(self, dl_manager):
            return {
                "train": self._generate_examples([0]),
                "validation": self._generate_examples([1]),
                "test": self._generate_examples([2]),
            }

        def _generate_examples(self, rows):
            for row in rows:
                yield row, {"image": folder / f"{row}.png", "captions": [f"{row}", "same"]}

    class ToyReviews(tfds.core.GeneratorBasedBuilder):
        """Reviews with a class, and with a summary."""

        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            features = {
                "text": tfds.features.Text(),
                "summary": tfds.features.Text(),
                "label": tfds.features.ClassLabel(names=["bad", "good"]),
                "stars": tfds.features.Scalar(np.int64),
            }
            return self.dataset_info_from_configs(features=tfds.features.FeaturesDict(features))

        def _split_generators(self, dl_manager):
            return {"train": self._generate_examples(17), "test": self._generate_examples(3)}

        def _generate_examples(self, count):
            for row in range(count):
                word = ("bad", "good")[row % 2]
                text, summary = f"a {word} film, {row} é", f"{word} {row}"
                yield row, {"text": text, "summary": summary, "label": word, "stars": row}

    return folder, ToyCaptions.name, ToyReviews.name


def test_captioned_pictures_come_with_their_splits(builders):
    folder, name, _ = builders
    captioned = read_captions(f"tfds:{name}")
    assert sorted(picture.captions for picture in captioned.pictures) == [
        ("0", "same"),
        ("1", "same"),
        ("2", "same"),
    ]
    contents = {picture.captions[0]: picture.path.read_bytes() for picture in captioned.pictures}
    assert contents == {f"{row}": (folder / f"{row}.png").read_bytes() for row in range(3)}
    splits = load_recipe("scenes").source.read(f"tfds:{name}").splits
    assert [picture.captions[0] for picture in splits["dev"]] == ["1"]


def test_pictures_by_name_are_those_of_a_folder(builders, tmp_path):
    """The same data as Karpathy's split, which has them in one file."""
    folder, name, _ = builders
    images = [
        {
            "filename": f"{row}.png",
            "split": split,
            "sentences": [{"raw": f"{row}"}, {"raw": "same"}],
        }
        for row, split in enumerate(("train", "val", "test"))
    ]
    (tmp_path / "dataset.json").write_text(json.dumps({"images": images}))
    shutil.copytree(folder, tmp_path / "images")
    source = load_recipe("scenes").source
    by_name, on_disk = (source.read(data).splits for data in (f"tfds:{name}", tmp_path))
    for split in ("train", "dev", "test"):
        found = [[(p.captions, p.digest) for p in own[split]] for own in (by_name, on_disk)]
        assert found[0] == found[1] and len(found[0]) == 1


def test_texts_come_with_the_names_of_their_classes(builders):
    name = builders[2]
    records = load_recipe("text_classifier").source.read(f"tfds:{name}")
    known = {pair.source: pair.target for split in records.splits.values() for pair in split}
    assert known["a good film, 1 é"] == "good" and known["a bad film, 0 é"] == "bad"
    assert len(known) == 17
    pairs = pair_sources(f"tfds:{name}", "text", "summary")
    assert {pair.target for pair in pairs["test"].read().pairs} == {"bad 0", "good 1", "bad 2"}
