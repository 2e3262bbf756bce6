"""A recurrent network with a memory, or without one, as a model of algorithmic problems."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SEQUENCE
from keras_attn_pipelines.data.vocabulary import ANSWER_WORDS, SOURCE_WORDS
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Built

NTM, DNC, LSTM = CELLS = ("ntm", "dnc", "lstm")
MEMORY = {"cell": (NTM, DNC)}
FEED_FORWARD, RECURRENT = ("feed_forward", "lstm")


@part
class MemoryMachine:
    """A Neural Turing Machine, a Differentiable Neural Computer, or an LSTM to compare with."""

    reads: ClassVar[tuple[str, ...]] = (SEQUENCE,)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    cell: str = option("recurrent cell", default=NTM, settled=True, choices=CELLS)
    controller: str = option(
        "controller of ntm and dnc: one layer without a state, or an LSTM",
        default=RECURRENT,
        settled=True,
        needs=MEMORY,
        choices=(FEED_FORWARD, RECURRENT),
    )
    hidden_dim: int = option(
        "units of the controller, or of the LSTM without a memory",
        default=100,
        settled=True,
        least=1,
    )
    num_slots: int = option("slots of the memory", default=128, settled=True, needs=MEMORY, least=1)
    slot_dim: int = option("width of a slot", default=20, settled=True, needs=MEMORY, least=1)
    num_read_heads: int = option("heads that read", default=1, settled=True, needs=MEMORY, least=1)

    def check(self):
        """Raises ValueError for a memory in which a head of an NTM cannot move."""
        if self.cell == NTM and self.num_slots < 3:
            raise ValueError(
                "Expected num_slots >= 3 for an NTM, whose heads move by a slot either way. "
                f"Received: num_slots={self.num_slots}"
            )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        import keras

        from keras_attn.layers.memory_rnn import MemoryRNN

        keras.utils.set_random_seed(seed)
        source = keras.Input((None, vocabulary_sizes[SOURCE_WORDS]), name=SEQUENCE)
        width = vocabulary_sizes[ANSWER_WORDS]
        if self.cell == LSTM:
            hidden = keras.layers.LSTM(self.hidden_dim, return_sequences=True)(source)
            logits, memory = keras.layers.Dense(width, name=LOGITS)(hidden), "no memory"
        else:
            logits = MemoryRNN(self._memory_cell(width), name="memory")(source)
            memory = f"a memory of {self.num_slots} × {self.slot_dim}"
        model = keras.Model(source, logits, name=self.cell)
        named = {
            NTM: "a Neural Turing Machine",
            DNC: "a Differentiable Neural Computer",
            LSTM: "an LSTM",
        }
        units = f"{self.hidden_dim} units"
        if self.cell != LSTM:
            kind = "feed-forward" if self.controller == FEED_FORWARD else "LSTM"
            units = f"{kind} controller of {units}"
        return Built(model, f"{named[self.cell]}, {units}, {memory}", small_steps=True)

    def _memory_cell(self, width):
        import keras

        from keras_attn.layers.dnc_cell import DNCCell
        from keras_attn.layers.ntm_cell import NTMCell

        if self.controller == FEED_FORWARD:
            controller = keras.layers.Dense(self.hidden_dim, "tanh", dtype="float32")
        else:
            controller = keras.layers.LSTMCell(self.hidden_dim, dtype="float32")
        return (NTMCell if self.cell == NTM else DNCCell)(
            controller,
            width,
            num_slots=self.num_slots,
            slot_dim=self.slot_dim,
            num_read_heads=self.num_read_heads,
        )
