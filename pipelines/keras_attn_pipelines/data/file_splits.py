"""Splits pairs into train, dev and test."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keras_attn_pipelines.data.hash_split import place_of_text, split_by_place
from keras_attn_pipelines.data.record_file import RecordFile
from keras_attn_pipelines.data.split_names import SPLIT_NAMES, split_in, split_of
from keras_attn_pipelines.data.training_data import Records, again_in_train, read_line


@dataclass(frozen=True)
class FileSplits:
    """Finds the pairs of a split among the files of a data folder.

    Files are named for their splits: train or training; dev, val, valid or validation; test or
    the only name with that prefix. Every other file is a split under its own name; a single
    file is train. Splits without a file are held out from train by the SHA-256 of the source
    text, so equal sources are always in the same split.

    Attributes:
        sources: of `pair_sources` or `tree_sources`.
        tolerance: share of unusable records above which nothing is read.
        dev_share: share of train held out for dev if dev has no file.
        test_share: share of train held out for test if neither dev nor test has a file.
        unit: noun for a record, in messages.
    """

    sources: Mapping[str, RecordFile]
    tolerance: float = 0.01
    dev_share: float = 0.1
    test_share: float = 0.1
    unit: str = "pair"

    def training(self) -> Records:
        """The splits for training, at least "train" and "dev".

        Raises:
            ValueError: too many unusable records, no train file, or an empty split.
        """
        train = self._file("train")
        split, files = self._with_held_out(train), [train]
        if self._stem("dev"):
            files.append(self._file("dev"))
            split["dev"] = files[-1].pairs
        if self._stems("test"):
            del split["test"]
        for name in ("train", "dev"):
            if not split[name]:
                raise ValueError(
                    f"Expected at least one {self.unit} in the split {name!r} of {train.path}. "
                    f"Received: none of {len(train.pairs)}"
                )
        forms = dict.fromkeys(file.form for file in files)
        lines = [read_line(" and ".join(forms), split, *(file.path for file in files))]
        if len(files) > 1 or train.splits:  # What is held out from train is never in both.
            lines += again_in_train(split, f"{self.unit}s", _content)
        return Records(
            split,
            [skip for file in files for skip in file.skipped],
            lines,
            {name: files[-1 if name == "dev" else 0].path for name in split},
            tolerance=self.tolerance,
        )

    def pairs(self, name: str) -> list[Any]:
        """The pairs of one split, or of the file of that name.

        Raises:
            ValueError: no such split, too many unusable records, or none that is usable.
        """
        split: dict[str, list] = {}
        if name in self.sources or self._stem(name):
            file = self._file(name)
            split = {name: file.pairs}
            if name == "train" or (file.splits and len(self.sources) == 1):
                split = self._with_held_out(file)
        elif name in SPLIT_NAMES or len(self.sources) == 1:
            split = self._with_held_out(self._file("train"))
        if name not in split:
            raise ValueError(
                f"Expected a split of {', '.join(dict.fromkeys((*SPLIT_NAMES, *self.sources)))}. "
                f"Received: {name!r}"
            )
        if not split[name]:
            files = ", ".join(str(source.path) for source in self.sources.values())
            raise ValueError(
                f"Expected a file for the split {name!r}, or {self.unit}s held out from train. "
                f"Received: none in {files}"
            )
        return split[name]

    def _with_held_out(self, file):
        """Train, and the splits held out from it or named by its records."""
        named = self._named(file)
        train = named.get("train", [])
        need_dev = not (self._stem("dev") or "dev" in named)
        held_out = self.test_share if need_dev and not self._stems("test") else 0.0
        shares = (self.dev_share if need_dev else 0.0, 0.0 if "test" in named else held_out)
        places = [place_of_text(pair.source) for pair in train]
        return split_by_place(train, places, *shares, need_dev) | {
            name: pairs for name, pairs in named.items() if name != "train"
        }

    def _named(self, file) -> dict[str, list]:
        """The pairs of the file of train by the splits that its records name.

        Raises:
            ValueError: records name splits, and files do; or some records name none.
        """
        if not file.splits:
            return {"train": file.pairs}
        if (len(self.sources) > 1 and set(file.splits) != {"train"}) or "" in file.splits:
            names = ", ".join(sorted({name or "none" for name in file.splits}))
            raise ValueError(
                f"Expected either files named for splits, or one whose {self.unit}s all name "
                f"theirs. Received: {file.path} with the splits {names}, of "
                f"{', '.join(self.sources)}"
            )
        named: dict[str, list] = {}
        for pair, name in zip(file.pairs, file.splits):
            named.setdefault(name, []).append(pair)
        return named

    def _file(self, name):
        stem = name if name in self.sources else self._stem(name)
        if stem is None:
            raise ValueError(
                f"Expected a file for the split {name!r}, as {' or '.join(SPLIT_NAMES[name])}. "
                f"Received: {', '.join(self.sources)}"
            )
        pairs = self.sources[stem].read()
        pairs.check(self.tolerance)
        return pairs

    def _stem(self, name):
        """The stem of a split's file, or None."""
        stems = self._stems(name)
        if len(stems) > 1:
            exact = [stem for stem in stems if name == "test" and stem.lower() == name]
            if len(exact) != 1:
                hint = "; name one as the split" if name == "test" else ""
                raise ValueError(f"Expected one {name} file{hint}. Received: {', '.join(stems)}")
            return exact[0]
        if not stems and name == "train" and len(others := self._stems("")) == 1:
            return others[0]
        return stems[0] if stems else None

    def _stems(self, split):
        return [stem for stem in self.sources if self._split_of(stem) == split]

    def _split_of(self, stem):
        """The split that a file is named for; a word of its name counts if each name has one."""
        exact = any(split_of(other) == "train" for other in self.sources)
        worded = not exact and all(map(split_in, self.sources))
        return split_in(stem) if worded else split_of(stem)


def _content(record):
    """What makes records equal: the source, and the target or the texts."""
    said = getattr(record, "target", None) or getattr(record, "texts", None)
    return record.source, str(said)
