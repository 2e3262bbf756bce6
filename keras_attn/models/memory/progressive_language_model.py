"""A language model with a memory bank that grows with each new domain."""

import keras
import numpy as np
from keras import ops

from keras_attn.checks import check_probability, check_sizes
from keras_attn.contracts import PAD_ID
from keras_attn.layers.context_lstm_cell import ContextLSTMCell
from keras_attn.layers.memory_bank import MemoryBank
from keras_attn.layers.memory_bank_cell import MemoryBankCell
from keras_attn.models.base_model import BaseModel
from keras_attn.ops.recurrent import masked_recurrence

GATES = 4


@keras.saving.register_keras_serializable(package="keras_attn")
class ProgressiveLanguageModel(BaseModel):
    """Predicts the next word with an LSTM that reads a `MemoryBank` at each step.

        c_t = bank(h_{t−1}),  h_t = LSTM([E x_t; c_t], h_{t−1}),  logits_t = W h_t + b

    For a new domain a larger model takes over the weights of a trained one, see `grow_from`.

    Args:
        vocabulary_size: int > 0. V.
        slots: sequence of int > 0. Slots that each domain has added, see `MemoryBank`.
        embedding_dim: int > 0. E.
        hidden_dim: int > 0. H.
        memory_dim: int > 0. F, width of the values of slots.
        dropout: probability. On embeddings and outputs.

    Call arguments:
        tokens: int32 (B, T), START_ID first, PAD_ID at the end.

    Returns:
        logits: float32 (B, T, V), of the next word.

    Raises:
        ValueError: a size < 1.

    Example:
        >>> model = ProgressiveLanguageModel(13, (3, 5), 7, 11, 2)
        >>> tuple(model(ops.ones((2, 3), "int32")).shape)
        (2, 3, 13)

    Source: Asghar et al. 2020, arXiv:1811.00239.
    """

    custom_config = ("dropout",)

    def __init__(
        self,
        vocabulary_size,
        slots,
        embedding_dim=100,
        hidden_dim=200,
        memory_dim=200,
        dropout=0.3,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(vocabulary_size=vocabulary_size, embedding_dim=embedding_dim)
        check_sizes(hidden_dim=hidden_dim, memory_dim=memory_dim)
        check_probability("dropout", dropout)
        self.vocabulary_size, self.embedding_dim = vocabulary_size, embedding_dim
        self.hidden_dim, self.memory_dim = hidden_dim, memory_dim
        policy = self.dtype_policy
        self.embedding = keras.layers.Embedding(
            vocabulary_size, embedding_dim, name="embedding", dtype=policy
        )
        self.dropout = keras.layers.Dropout(dropout, name="dropout", dtype=policy)
        self.cell = MemoryBankCell(
            ContextLSTMCell(hidden_dim, name="lstm", dtype=policy),
            MemoryBank(slots, memory_dim, name="bank", dtype=policy),
            name="cell",
            dtype=policy,
        )
        self.slots = self.cell.bank.slots
        self.logits = keras.layers.Dense(vocabulary_size, name="logits", dtype=policy)

    def build(self, input_shape=(None, None)):
        self.embedding.build()
        if not self.cell.built:
            self.cell.build((None, self.embedding.output_dim))
        self.logits.build((None, None, self.cell.units))

    def call(self, tokens, training=None):
        hidden = self.dropout(self.states(tokens, training), training=training)
        return ops.cast(self.logits(hidden), "float32")

    def slot_weights(self, tokens):
        """How much of each slot each step read.

        Args:
            tokens: as in the call.

        Returns:
            float32 (B, T, N); rows sum to 1.
        """
        before = ops.pad(self.states(tokens)[:, :-1], [(0, 0), (1, 0), (0, 0)])
        return self.cell.bank(before, return_attention_scores=True)[1]

    def states(self, tokens, training=False):
        """The states of all steps.

        Args:
            tokens: as in the call.
            training: bool.

        Returns:
            (B, T, H), compute dtype. h_1 to h_T.
        """
        tokens = ops.cast(tokens, "int32")
        embedded = self.dropout(self.embedding(tokens), training=training)
        zeros = ops.zeros((ops.shape(tokens)[0], self.cell.units), "float32")
        state = self.cell.state_of((zeros, zeros))
        projected, real = self.cell.project(embedded), ops.not_equal(tokens, PAD_ID)
        return masked_recurrence(self.cell.step, projected, state, real)[0]

    def grow_from(self, other):
        """Takes over the weights of a model that is not larger; the rest stay as initialized.

        New words, new slots and new units of the state keep their initial weights. A word's token
        and a unit's place are the same in both.

        Args:
            other: built `ProgressiveLanguageModel`.

        Raises:
            ValueError: another kind of model, other slots of an earlier domain, other widths of
                embeddings and slots, or a larger model.
        """
        if not isinstance(other, ProgressiveLanguageModel):
            raise ValueError(f"Expected a ProgressiveLanguageModel. Received: {other!r}")
        mine, theirs = self.get_config(), other.get_config()
        count = len(theirs["slots"])
        same = {"slots": mine["slots"][:count], **{key: mine[key] for key in FIXED}}
        if wrong := [key for key, value in same.items() if value != theirs[key]]:
            expected = ", ".join(f"{key}={theirs[key]!r}" for key in wrong)
            more = " and more" if "slots" in wrong else ""
            received = ", ".join(f"{key}={mine[key]!r}" for key in wrong)
            raise ValueError(f"Expected {expected}{more}. Received: {received}")
        for key in ("vocabulary_size", "hidden_dim"):
            if mine[key] < theirs[key]:
                raise ValueError(f"Expected {key} >= {theirs[key]}. Received: {key}={mine[key]}")
        gates = {weight.path for weight in self.cell.cell.weights}
        targets = {_place(weight): weight for weight in self.weights}
        for weight in other.weights:
            target = targets[_place(weight)]
            _take_over(target, weight, GATES if target.path in gates else 1)

    def float32_layers(self):
        """Layers that compute in float32 under any precision: the bank."""
        return [self.cell.bank]

    def input_signature(self):
        return keras.InputSpec(dtype="int32", shape=(None, None))

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout.rate}


FIXED = ("embedding_dim", "memory_dim")
"""Sizes that do not grow."""


def _place(weight):
    """A weight's path inside its model."""
    return weight.path.partition("/")[2]


def _take_over(target, source, blocks):
    """Copies a smaller weight into the beginning of each axis; the last axis has blocks."""
    new, old = (np.array(ops.convert_to_numpy(weight)) for weight in (target, source))
    wide, narrow = (
        array.reshape(*array.shape[:-1], blocks, array.shape[-1] // blocks) for array in (new, old)
    )
    wide[tuple(slice(size) for size in narrow.shape)] = narrow
    target.assign(wide.reshape(new.shape))
