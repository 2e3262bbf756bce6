"""Settings of the parsing task."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE, TAG_LOGITS, TOKENS
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.beam_search import BeamSearch
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import TaskSpec, Work
from keras_attn_pipelines.experiment.pieces import Pieces

DEEPEST = 200
"""Largest depth of a tree that is read."""


@part
class Parsing:
    """Constituency parsing."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="trees",
        targets=(LOGITS, TAG_LOGITS),
        monitors=("f1", "precision", "recall", "exact", "tagging"),
        best_possible=dict.fromkeys(("f1", "precision", "recall", "exact", "tagging"), 100),
        batches_of_tokens=True,
        searches=True,
    )

    pieces: Pieces = Pieces()
    lengths: tuple[int, ...] = option(
        "bucket lengths in symbols",
        default=(16, 32, 48, 64, 80, 96, 112, 128, 160, 224, 448, 1024),
        buckets=True,
    )
    source_lengths: tuple[int, ...] = option(
        "bucket lengths in words, including the end token",
        default=(9, 16, 23, 30, 36, 43, 50, 57, 71, 100, 200, 448),
        buckets=True,
    )
    word_pieces: int = option(
        "number of leading pieces read per word", default=8, settled=True, least=1
    )
    max_unary_chain: int = option(
        "maximum length of a chain of unary constituents", default=3, least=1
    )
    max_depth: int = option("maximum nesting depth", default=32, least=1, most=DEEPEST)
    scored: int = option("dev trees scored after each epoch", default=500, least=1)
    label_smoothing: float = option(
        "label smoothing: probability spread over the vocabulary", default=0.1, least=0, below=1
    )
    scheduled_sampling_rate: float = option(
        "fraction of decoder inputs sampled from the model by the end of training",
        default=0.0,
        least=0,
        most=1,
    )
    search: BeamSearch = BeamSearch(length_alpha=0.0)

    def check(self):
        """Raises ValueError unless the buckets match and leave room for trees."""
        if len(self.source_lengths) != len(self.lengths):
            raise ValueError(
                f"Expected one source_length for each of lengths={self.lengths}. "
                f"Received: source_lengths={self.source_lengths}"
            )
        if self.lengths[-1] < self.source_lengths[-1] + 2:
            raise ValueError(
                "Expected the last of lengths >= the last of source_lengths + 2, "
                f"so that the longest sentence has a tree. Received: lengths={self.lengths}, "
                f"source_lengths={self.source_lengths}"
            )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None, self.word_pieces)), TOKENS: Feature((None,))}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.parsing.work import ParsingWork

        return ParsingWork(self)
