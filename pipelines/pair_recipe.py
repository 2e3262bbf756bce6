"""What recipes have in common whose model is a Transformer from one sequence to another."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from keras_attn.models.transformer_config import ALL, DECODER, TransformerConfig
from keras_attn.training.optimizers import ClippedAdam
from pipelines.choices import increasing
from pipelines.pair_batches import PairBatches
from pipelines.pair_data import PairData
from pipelines.pair_encoding import PairEncoding
from pipelines.pair_splits import PairSplits
from pipelines.recipe import option
from pipelines.transformer_choices import TransformerChoices


@dataclass(frozen=True, kw_only=True)
class PairRecipe(TransformerChoices):
    """Abstract: a Transformer from pairs, each of a text and what is to be made of it.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    unit = "pairs"
    settled: ClassVar[Sequence[str]] = (*TransformerChoices.settled, "vocabulary")

    vocabulary_size: int = option(8000, "most pieces that a tokenizer learns")
    lowercase: bool = option(False, "put texts in lower case")
    lengths: tuple[int, ...] = option((12, 16, 20, 24, 32, 48, 96), "target's bucket lengths")
    source_lengths: tuple[int, ...] = option((), "source's bucket lengths; none: as the target's")
    batch_tokens: int = option(4096, "tokens of one side in a batch, over all devices")

    def __post_init__(self):
        super().__post_init__()
        own = self.source_lengths
        if own and not (increasing(own) and len(own) == len(self.lengths)):
            raise ValueError(
                f"Expected source_lengths increasing and >= 1, as many as lengths={self.lengths}. "
                f"Received: source_lengths={own}"
            )

    @abc.abstractmethod
    def splits(self, data) -> PairSplits:
        """`PairSplits` of a data folder, or of whatever else pairs are found in."""

    @abc.abstractmethod
    def learned(self, pairs: Sequence[Any]) -> dict[str, Any]:
        """Vocabularies learned from pairs, by their names."""

    @abc.abstractmethod
    def encoding(self, tokenizers: Mapping[str, Any]) -> PairEncoding:
        """What makes ids of pairs, with the vocabularies of `learned`."""

    def unusable(self, pair) -> str:
        """Why a pair cannot be trained on, beside its length; empty where it can."""
        return ""

    def unknown(self, pair, tokenizers: Mapping[str, Any]) -> str:
        """What in a pair has no place in vocabularies that were learned without it; empty where
        all of it has."""
        return ""

    @property
    def longest_source(self) -> int:
        """Most pieces of a source, its end included."""
        return (self.source_lengths or self.lengths)[-1]

    def batches(self, tokenizers: Mapping[str, Any], replicas: int = 1) -> PairBatches:
        """`PairBatches` with the recipe's shapes."""
        return PairBatches(
            encoding=self.encoding(tokenizers),
            source_lengths=self.source_lengths or self.lengths,
            target_lengths=self.lengths,
            tokens=self.batch_tokens,
            replicas=replicas,
            seed=self.seed,
        )

    def load(self, data, cache=None, source=None, replicas=1):
        """See `Recipe`; there is nothing to cache."""
        return PairData.load(self, data, source.tokenizers if source else None, replicas)

    def config(self, vocabulary_size, source_vocabulary_size=None):
        """`TransformerConfig`; without a size of the source's own, one table for everything."""
        return TransformerConfig(
            vocabulary_size=source_vocabulary_size or vocabulary_size,
            target_vocabulary_size=vocabulary_size,
            tied=DECODER if source_vocabulary_size else ALL,
            **self.sizes(),
        )

    def optimizer(self, model, steps):
        """See `Recipe`: Adam with the paper's β₂ and ε."""
        return ClippedAdam(self.rates(steps), self.clip_norm, beta_2=0.98, epsilon=1e-9)

    def thaw_step(self):
        """See `Recipe`: everything trains from the start."""
        return 0

    def records(self, data, split):
        """See `Recipe`."""
        return self.splits(data).pairs(split)

    def asked(self, record):
        """See `Recipe`."""
        return f"{record.source!r:.80}", record.source.encode()

    def size(self, record):
        """See `Recipe`: characters of the source."""
        return len(record.source)
