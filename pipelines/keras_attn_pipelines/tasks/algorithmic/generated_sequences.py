"""The source of algorithmic problems: sequences drawn from a seed."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from keras_attn.text.sequence_forms import (
    COPY,
    PRIORITY_SORT,
    PROBLEMS,
    REPEAT_COPY,
    SHORTEST_PATH,
)
from keras_attn_pipelines.experiment.fields import option, part

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.algorithmic.problems import Problem, SequencePair

SPLITS = ("train", "dev", "test")
MOST_SEED = 2**32 - 1


@dataclass(frozen=True)
class TrainingSequences:
    """The training sequences, which are drawn when they are needed.

    Attributes:
        problem: `Problem`.
        lengths: bucket lengths.
        shortest: the least length.
        count: sequences of an epoch.
        seed: seed of all draws.
    """

    problem: "Problem"
    lengths: tuple[int, ...]
    shortest: int
    count: int
    seed: int

    def __len__(self):
        return self.count

    @cached_property
    def shares(self) -> list[float]:
        """How often each bucket is drawn: as many lengths as it has."""
        ends = (self.shortest - 1, *self.lengths)
        return [(end - start) / (ends[-1] - ends[0]) for start, end in pairwise(ends)]

    def batch(self, step: int, rows: int, known: int) -> "tuple[int, list[SequencePair]]":
        """The sequences of a training step, which depend on the seed and the step alone.

        Args:
            step: from 0 on.
            rows: number of sequences.
            known: number of buckets, the shortest first, to draw from.

        Returns:
            bucket: place of the bucket.
            pairs: its sequences.
        """
        import numpy as np

        random = np.random.default_rng((self.seed, SPLITS.index("train"), step))
        shares = np.array(self.shares[:known])
        bucket = int(random.choice(known, p=shares / shares.sum()))
        return bucket, [self.problem.draw(random, self.length(random, bucket)) for _ in range(rows)]

    def length(self, random, bucket: int) -> int:
        """A random length of a bucket."""
        least = self.lengths[bucket - 1] + 1 if bucket else self.shortest
        return int(random.integers(least, self.lengths[bucket] + 1))


@part
class GeneratedSequences:
    """Sequences of an algorithmic problem; --data generated:SEED says from which seed."""

    unit: ClassVar[str] = "sequences"
    records: ClassVar[str] = "algorithmic problems"

    problem: str = option("problem to learn", default=COPY, settled=True, choices=PROBLEMS)
    bits: int = option("bits of a word", default=8, settled=True, least=1, most=32)
    lengths: tuple[int, ...] = option(
        "bucket lengths of sequences: words, items of a recall, or nodes of a graph",
        default=(5, 10, 20),
        buckets=True,
    )
    shortest: int = option("least length of a sequence", default=1, least=1)
    repeats: int = option("maximum number of copies of a repeat copy", default=10, least=1, most=99)
    hops: int = option("maximum number of edges of a shortest path", default=3, least=1)
    sequences: int = option("training sequences of an epoch", default=8000, least=1)
    held_out: int = option("sequences of dev and of test, of each bucket", default=64, least=1)

    def check(self):
        """Raises ValueError for lengths that the problem cannot have."""
        least = 1 if self.problem in (COPY, REPEAT_COPY, PRIORITY_SORT) else 2
        if not least <= self.shortest <= self.lengths[0]:
            raise ValueError(
                f"Expected shortest between {least} and the first of lengths for {self.problem}. "
                f"Received: shortest={self.shortest}, lengths={self.lengths}"
            )
        if self.problem == SHORTEST_PATH and 2**self.bits < self.lengths[-1]:
            raise ValueError(
                "Expected a word for each node, 2 ** bits >= the last of lengths. "
                f"Received: bits={self.bits}, lengths={self.lengths}"
            )

    def read(self, data):
        """See `Source`."""
        from keras_attn_pipelines.data.training_data import Records

        sequences = self.training_sequences(data)
        return Records({"train": sequences, "dev": self.split(data, "dev")})

    def split(self, data, name):
        """See `Source`: dev, test, the first sequences of train; a number, such as 120: sequences
        of this length."""
        import numpy as np

        sequences = self.training_sequences(data)
        if name.isdecimal():
            return self._of_length(sequences, int(name))
        if name not in SPLITS:
            raise ValueError(
                f"Expected the split {', '.join(SPLITS)}, or a length such as 120. "
                f"Received: {name!r:.80}"
            )
        if name == "train":
            return sequences.batch(0, self.held_out, len(self.lengths))[1]
        random = np.random.default_rng((sequences.seed, SPLITS.index(name), 0))
        buckets = [bucket for bucket in range(len(self.lengths)) for _ in range(self.held_out)]
        return [
            sequences.problem.draw(random, sequences.length(random, bucket)) for bucket in buckets
        ]

    def training_sequences(self, data) -> TrainingSequences:
        """The training sequences.

        Raises:
            ValueError: data of another name.
        """
        from keras_attn_pipelines.tasks.algorithmic.problems import Problem

        seed = re.fullmatch("generated:([0-9]{1,10})", str(data))
        if seed is None or int(seed[1]) > MOST_SEED:
            raise ValueError(
                f"Expected data named generated:SEED, such as generated:7, with a seed of at most "
                f"{MOST_SEED}. Received: {str(data)!r:.80}"
            )
        problem = Problem(self.problem, self.bits, self.repeats, self.hops)
        return TrainingSequences(problem, self.lengths, self.shortest, self.sequences, int(seed[1]))

    def _of_length(self, sequences, length):
        import numpy as np

        least = self.shortest
        fits = self.problem != SHORTEST_PATH or length <= 2**self.bits
        if length < least or not fits:
            most = f" and at most {2**self.bits}" if self.problem == SHORTEST_PATH else ""
            raise ValueError(f"Expected a length of at least {least}{most}. Received: {length}")
        random = np.random.default_rng((sequences.seed, len(SPLITS), length))
        return [sequences.problem.draw(random, length) for _ in range(self.held_out)]
