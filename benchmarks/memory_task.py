"""What `memory_speed` lets every contender do. It needs NumPy alone."""

from dataclasses import asdict, dataclass

import numpy as np

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

    def settings(self, **more):
        """The JSON object that a worker gets."""
        return {"task": asdict(self), **more}
