"""Everything that `fit` wants of pairs of texts: tokenizers and batches."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_attn.text.tokenizer import Tokenizer
from pipelines.pair_batches import PairBatches, PairRows
from pipelines.pairs import PairFile, TextPair
from pipelines.recipe import SOURCE_TOKENIZER, TARGET_TOKENIZER, TrainingData
from pipelines.skipped import Skipped

if TYPE_CHECKING:
    from pipelines.text_to_text import TextToTextRecipe

SHARED, SEPARATE = VOCABULARIES = ("shared", "separate")


@dataclass(frozen=True)
class TextData(TrainingData):
    """Everything that `fit` wants of pairs of texts.

    Attributes:
        known: dict from name to `Tokenizer`.
        wanted: int. Pieces that a tokenizer was to have at most.
        batches: `PairBatches`.
        splits: dict of lists of `TextPair`.
        files: list of `PairFile`, where they are from.
        skipped: list of `Skipped`: unusable records, and pairs that are too long.
        rows: dict of the `PairRows` of "train" and "dev".
        dev: validation data set.
        steps: batches in one epoch.
    """

    known: Mapping[str, Tokenizer]
    wanted: int
    batches: PairBatches
    splits: Mapping[str, list[TextPair]]
    files: list[PairFile]
    skipped: list[Skipped]
    rows: Mapping[str, PairRows]
    dev: tf.data.Dataset
    steps: int

    @classmethod
    def load(
        cls, recipe: "TextToTextRecipe", data, tokenizers=None, replicas: int = 1
    ) -> "TextData":
        """Reads pairs, learns the tokenizers and makes the data sets.

        Args:
            recipe: `TextToTextRecipe`.
            data: path of a folder or file, or "tfds:NAME[/CONFIG]".
            tokenizers: dict from name to `Tokenizer`, to take instead of learning them.
            replicas: int. Batch sizes can be divided by it.

        Raises:
            ValueError: bad data: see `pair_sources` and `PairSplits`.
        """
        splits, files = recipe.splits(data).training()
        known = tokenizers or learned(recipe, splits["train"])
        batches = recipe.batches(known, replicas)
        rows = {name: batches.rows(splits[name]) for name in ("train", "dev")}
        dev, steps = batches.dataset(rows["dev"]), batches.steps(rows["train"])
        skipped = [one for file in files for one in file.skipped]
        skipped += [one for name in rows for one in _long(files, splits[name], rows[name])]
        wanted = recipe.vocabulary_size
        return cls(known, wanted, batches, splits, files, skipped, rows, dev, steps)

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """See `TrainingData`."""
        return dict(self.known)

    def training(self, start: int) -> tf.data.Dataset:
        """See `TrainingData`."""
        return self.batches.training(self.rows["train"], start)

    def report(self) -> list[str]:
        """See `TrainingData`."""
        lines = [f"read: {one.path} ({one.form})" for one in self.files]
        for name, one in self.known.items():
            if one.vocabulary_size < self.wanted:
                size = one.vocabulary_size
                lines.append(
                    f"{name}: {size} pieces instead of {self.wanted}, the text has no more"
                )
        longest = (self.batches.source_lengths[-1], self.batches.target_lengths[-1])
        for name, rows in self.rows.items():
            if rows.long:
                limit = f"more than {longest[0]} or {longest[1]} pieces: left out"
                lines.append(f"{len(rows.long)} pairs of {name} have {limit}")
        share = self.batches.padding(self.rows["train"])
        shapes = ", ".join(f"{size}×({one}, {two})" for size, one, two in self.batches.shapes)
        return [*lines, f"batches: {shapes}; {share:.1%} padding, {self.steps} steps an epoch"]

    def frozen(self) -> bool:
        """Nothing ever is."""
        return False

    def thawed(self) -> "TextData":
        """These data."""
        return self

    def naming_faults(self):
        """Nothing: all pairs are in memory."""
        return contextlib.nullcontext()


def _long(files, pairs, rows):
    """The pairs of a split that are too long for every bucket, as `Skipped`."""
    for index, source, target in rows.long:
        pair = pairs[index]
        file = next(one for one in files if pair in one.lines)
        reason = f"pair of {source} and {target} pieces, too long for a batch: {pair.source!r:.80}"
        yield Skipped(file.path, file.lines[pair], reason)


def learned(recipe: "TextToTextRecipe", pairs: list[TextPair]) -> dict[str, Tokenizer]:
    """Tokenizers learned from pairs: one of both sides, or one of each."""
    sources, targets = [one.source for one in pairs], [one.target for one in pairs]

    def learn(texts):
        return Tokenizer.learn(texts, recipe.vocabulary_size, recipe.lowercase)

    if recipe.vocabulary == SHARED:
        return {TARGET_TOKENIZER: learn(sources + targets)}
    return {TARGET_TOKENIZER: learn(targets), SOURCE_TOKENIZER: learn(sources)}
