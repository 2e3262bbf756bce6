"""How fast networks with a writable memory train, beside torch and `keras.layers.RNN`.

Run as `python -m benchmarks.memory_speed` in an environment with torch. A training step copies 20
words of 8 bits, 41 steps of the cell, with an LSTM controller of 100 units and a memory of
128 × 20. Each contender is a process of its own with the same number of threads; a turn does one
training step with each of them.

- keras-attn: `MemoryRNN` under XLA, as the recipes train.
- `keras.layers.RNN`: the same cell in Keras' loop, under XLA, as a graph, and eagerly.
- torch: the papers' equations in plain torch.

Rates are training steps a second, medians over the turns; in brackets the median over the turns of
the contender's rate by keras-attn's. Where other programs keep the processors busy, `--threads 1
--processor-time` still compares: seconds are those that a process itself computed.
This module needs NumPy alone.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.race import OURS, Contender, Race, Results, race_command

NTM, DNC = CELLS = ("NTM", "DNC")


@dataclass(frozen=True)
class Task:
    """Copying words of bits: an LSTM controller, one head that reads and one that writes.

    Attributes:
        cores: int. Threads that a contender may use.
        batches: tuple of batch sizes.
        words, bits: int. Of a sequence and of a word.
        units: int. Of the controller.
        slots, width: int. Of the memory.
    """

    cores: int = 2
    batches: tuple[int, ...] = (16, 64)
    words: int = 20
    bits: int = 8
    units: int = 100
    slots: int = 128
    width: int = 20

    def phases(self):
        """dict from the name of a phase, which is also that of its one work, to its settings."""
        return {
            f"{cell}, batch {batch}": {"cell": cell, "batch": batch}
            for cell in CELLS
            for batch in self.batches
        }

    def items(self, work):
        """Training steps of a work."""
        return 1

    def arrays(self, batch):
        """inputs (B, T, bits + 1), bits (B, T, bits) and weights (B, T), float32."""
        words = np.random.default_rng(1).integers(0, 2, (batch, self.words, self.bits))
        length = 2 * self.words + 1
        inputs = np.zeros((batch, length, self.bits + 1), "float32")
        inputs[:, : self.words, : self.bits], inputs[:, self.words, self.bits] = words, 1
        targets, weights = np.zeros((batch, length, self.bits), "float32"), np.zeros(length)
        targets[:, self.words + 1 :], weights[self.words + 1 :] = words, 1
        return inputs, targets, np.tile(weights, (batch, 1)).astype("float32")


def contenders(task) -> list[Contender]:
    """All that there are."""

    def phases(**more):
        return {name: {"work": name, **sizes, **more} for name, sizes in task.phases().items()}

    ours, loop = "benchmarks.our_memory", "`keras.layers.RNN`"
    return [
        Contender(OURS, None, ours, phases(loop="MemoryRNN", jit=True)),
        Contender(f"{OURS}, no XLA", None, ours, phases(loop="MemoryRNN", jit=False)),
        Contender(f"{loop}, XLA", None, ours, phases(loop="RNN", jit=True)),
        Contender(f"{loop}, no XLA", None, ours, phases(loop="RNN", jit=False)),
        Contender(f"{loop}, eager", None, ours, phases(loop="RNN", jit=None)),
        Contender("torch", "torch", "benchmarks.torch_memory", phases()),
    ]


def measured(task, options, folder) -> tuple[Race, Results]:
    """The race and its results."""
    race = Race(task, contenders(task), options, folder)
    return race, race.run({work: [work] for work in task.phases()})


def compare(task, options, folder) -> str:
    """The table."""
    race, results = measured(task, options, folder)
    return race.table(results, list(task.phases()), digits=1)


if __name__ == "__main__":
    race_command(__doc__, Task, compare)
