"""A memory network that answers questions about stories."""

import keras
from keras import ops

from keras_attn.contracts import QUESTION, STORY
from keras_attn.layers.memory_network import ADJACENT, MemoryNetwork
from keras_attn.models.memory.story_model import StoryModel

GREATEST = 3e38
"""Above every loss, and finite in float32."""


@keras.saving.register_keras_serializable(package="keras_attn")
class QuestionAnswerer(StoryModel):
    """A memory network whose last state chooses a word as the answer.

        logits = W u_{K+1},  with adjacent tying W = C_Kᵀ

    A network with a linear start remembers the lowest validation loss of that phase and how long
    ago it was, so that the phase ends at the same epoch after training is resumed; see
    `training.LinearStart`.

    Args:
        memory: `MemoryNetwork`.

    Call arguments:
        batch: dict: STORY int32 (B, M, W) and QUESTION int32 (B, W').

    Returns:
        logits: float32 (B, V), of each word of the vocabulary.

    Raises:
        ValueError: no MemoryNetwork.

    Example:
        >>> from keras_attn.layers import MemoryNetwork
        >>> model = QuestionAnswerer(MemoryNetwork(13, 5))
        >>> batch = {"story": ops.ones((2, 7, 3), "int32"), "question": ops.ones((2, 3), "int32")}
        >>> tuple(model(batch).shape)
        (2, 13)

    Source: Sukhbaatar et al. 2015, arXiv:1503.08895, equation 3 and 2.2.
    """

    def __init__(self, memory, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(memory, MemoryNetwork):
            raise ValueError(f"Expected a MemoryNetwork. Received: memory={memory!r}")
        self.memory = memory
        self.answer = None
        if memory.tying != ADJACENT:
            self.answer = keras.layers.Dense(
                memory.input_dim, use_bias=False, name="answer", dtype="float32"
            )

    reader = "hop"
    """What each row of the weights belongs to."""

    @property
    def vocabulary_size(self):
        """V."""
        return self.memory.input_dim

    @property
    def memory_size(self):
        """Most sentences of a story that are read."""
        return self.memory.memory_size

    def build(self, input_shape=None):
        if not self.memory.built:
            self.memory.build()
        if self.answer is not None and not self.answer.built:
            self.answer.build((None, self.memory.output_dim))
        if self.memory.linear_start:
            self.lowest_loss = self._decided("lowest_loss", GREATEST)
            self.epochs_waited = self._decided("epochs_waited", 0.0)

    def _decided(self, name, value):
        """A scalar that training keeps with the weights."""
        return self.add_weight(
            shape=(),
            initializer=keras.initializers.Constant(value),
            trainable=False,
            aggregation="only_first_replica",
            autocast=False,
            name=name,
        )

    def call(self, batch, training=None):
        return self._run(batch, training)[0]

    def hops(self, batch):
        """Logits, and where each hop looked.

        Args:
            batch: as in the call.

        Returns:
            logits: float32 (B, V).
            weights: float32 (B, K, M); see `MemoryNetwork`.
        """
        return self._run(batch, training=False)

    def _run(self, batch, training):
        state, weights = self.memory(
            batch[QUESTION], batch[STORY], return_attention_scores=True, training=training
        )
        state = ops.cast(state, "float32")
        if self.answer is None:
            return ops.matmul(state, self.memory.answer_kernel()), weights
        return self.answer(state), weights

    def float32_layers(self):
        """Layers that compute in float32 under any precision: all."""
        return [layer for layer in (self.memory, self.answer) if layer is not None]
