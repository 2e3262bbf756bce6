"""Everything that `fit` wants of pairs: vocabularies and batches."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.tokenizer import Tokenizer
from pipelines.pair_batches import PairBatches, PairRows
from pipelines.pair_encoding import length_text
from pipelines.pairs import PairFile
from pipelines.recipe import TrainingData
from pipelines.skipped import Skipped, check_share, listing

if TYPE_CHECKING:
    from pipelines.pair_recipe import PairRecipe


@dataclass(frozen=True)
class PairData(TrainingData):
    """Everything that `fit` wants of pairs.

    Attributes:
        known: dict from name to vocabulary: `Tokenizer` or `SymbolTable`.
        wanted: int. Pieces that a tokenizer was to have at most.
        batches: `PairBatches`.
        splits: dict of lists of pairs.
        files: list of `PairFile`, where they are from.
        skipped: list of `Skipped`: unusable records, and pairs that are too long or otherwise not
            to be trained on.
        unknown: for each pair of dev with something that train has not, what that is.
        rows: dict of the `PairRows` of "train" and "dev".
        dev: validation data set.
        steps: batches in one epoch.
    """

    known: Mapping[str, Tokenizer | SymbolTable]
    wanted: int
    batches: PairBatches
    splits: Mapping[str, list[Any]]
    files: list[PairFile]
    skipped: list[Skipped]
    unknown: list[str]
    rows: Mapping[str, PairRows]
    dev: tf.data.Dataset
    steps: int

    @classmethod
    def load(cls, recipe: "PairRecipe", data, tokenizers=None, replicas: int = 1) -> "PairData":
        """Reads pairs, learns the vocabularies and makes the data sets.

        Args:
            recipe: `PairRecipe`.
            data: path of a folder or file, or "tfds:NAME[/CONFIG]".
            tokenizers: dict from name to vocabulary, to take instead of learning them.
            replicas: int. Batch sizes can be divided by it.

        Raises:
            ValueError: bad data: see `PairRecipe.splits` and `PairSplits`.
        """
        splits, files = recipe.splits(data).training()
        splits, refused = _usable(recipe, files, splits)
        known = tokenizers or recipe.learned(splits["train"])
        if strange := _unknown(recipe, known, splits["train"]):
            raise ValueError(
                "Expected pairs of train for which the vocabularies suffice. Received: "
                f"{len(strange)}, such as {_skipped(files[0], strange[:1])[0]}"
            )
        batches = recipe.batches(known, replicas)
        rows = {name: batches.rows(splits[name]) for name in ("train", "dev")}
        dev, steps = batches.dataset(rows["dev"]), batches.steps(rows["train"])
        skipped = [*(one for file in files for one in file.skipped), *refused]
        for name in rows:
            long = _long(splits[name], rows[name], batches)
            skipped += _skipped(_file(files, name), long)
        wanted = recipe.vocabulary_size
        unknown = [reason for _, reason in _unknown(recipe, known, splits["dev"])]
        return cls(known, wanted, batches, splits, files, skipped, unknown, rows, dev, steps)

    @property
    def tokenizers(self) -> dict[str, Any]:
        """See `TrainingData`."""
        return dict(self.known)

    def fitting(self, split: str) -> list[Any]:
        """The pairs of "train" or "dev" that are not too long for a batch."""
        long = {index for index, _, _ in self.rows[split].long}
        return [pair for index, pair in enumerate(self.splits[split]) if index not in long]

    def training(self, start: int) -> tf.data.Dataset:
        """See `TrainingData`."""
        return self.batches.training(self.rows["train"], start)

    def report(self) -> list[str]:
        """See `TrainingData`."""
        lines = [f"read: {one.path} ({one.form})" for one in self.files]
        for name, one in self.known.items():
            if isinstance(one, Tokenizer) and one.vocabulary_size < self.wanted:
                size = one.vocabulary_size
                lines.append(
                    f"{name}: {size} pieces instead of {self.wanted}, the text has no more"
                )
        longest = (self.batches.source_lengths[-1], self.batches.target_lengths[-1])
        for name, rows in self.rows.items():
            if rows.long:
                limit = f"more than {length_text(self.batches.encoding, *longest, 'or')}: left out"
                lines.append(f"{len(rows.long)} pairs of {name} have {limit}")
        if self.unknown:
            lines.append(
                f"{len(self.unknown)} pairs of dev hold what train does not, which is never "
                f"answered, such as {self.unknown[0]}"
            )
        share = self.batches.padding(self.rows["train"])
        shapes = ", ".join(f"{size}×({one}, {two})" for size, one, two in self.batches.shapes)
        return [*lines, f"batches: {shapes}; {share:.1%} padding, {self.steps} steps an epoch"]

    def frozen(self) -> bool:
        """Nothing ever is."""
        return False

    def thawed(self) -> "PairData":
        """These data."""
        return self

    def naming_faults(self):
        """Nothing: all pairs are in memory."""
        return contextlib.nullcontext()


def _file(files, split):
    """The file that a split is from: its own where there are two, and dev has one."""
    return files[-1] if split == "dev" else files[0]


def _long(pairs, rows, batches):
    """(pair, how long it is) of each pair of a split that is too long for every bucket."""
    for index, source, target in sorted(rows.long):
        length = length_text(batches.encoding, source, target)
        yield pairs[index], f"pair of {length}, too long for a batch"


def _usable(recipe, files, splits):
    """The splits without the pairs that cannot be trained on, and these as `Skipped`.

    Raises:
        ValueError: too many of them, or nothing left to train on.
    """
    kept, refused = {}, []
    for name, own in splits.items():
        reasons = [recipe.unusable(pair) for pair in own]
        kept[name] = [pair for pair, reason in zip(own, reasons) if not reason]
        bad = [(pair, reason) for pair, reason in zip(own, reasons) if reason]
        refused += _skipped(_file(files, name), bad)
    for name in ("train", "dev"):
        if not kept[name]:
            raise ValueError(
                f"Expected at least one pair that can be trained on in the split {name!r}. "
                f"Received: none{listing(refused)}"
            )
    check_share(refused, sum(map(len, splits.values())), recipe.tolerance)
    return kept, refused


def _unknown(recipe, known, pairs):
    """(pair, what it is) of each pair that holds what the vocabularies do not."""
    reasons = ((pair, recipe.unknown(pair, known)) for pair in pairs)
    return [(pair, reason) for pair, reason in reasons if reason]


def _skipped(file, refused):
    """(pair, reason) of a split, in order, as `Skipped`; equal pairs are all refused, or none."""
    lines: dict[Any, Iterator[int]] = {}
    return [
        Skipped(
            file.path,
            next(lines.setdefault(pair, iter(file.lines[pair]))),
            f"{reason}: {pair.source!r:.80}",
        )
        for pair, reason in refused
    ]
