"""The recurrent caption decoder: from grid features to one word piece per step."""

import functools
from dataclasses import dataclass

import keras
from keras import ops

from keras_attn.checks import check_probability, check_sizes
from keras_attn.contracts import PAD_ID, StepResult
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.context_cell import ContextCell
from keras_attn.layers.context_lstm_cell import ContextLSTMCell
from keras_attn.layers.location_sampler import for_samples
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.models.base_model import config_of
from keras_attn.ops.hypotheses import gather_hypotheses, prefill_by_steps, repeat_hypotheses
from keras_attn.ops.scan import scan


@dataclass(frozen=True)
class CaptionDecoderConfig:
    """Sizes of a `CaptionDecoder`.

    Attributes:
        vocabulary_size: int. V, pieces of the tokenizer.
        embedding_dim: int. Width m of a piece's embedding and of the deep output.
        hidden_dim: int. Width H of the recurrent cell.
        feature_dim: int or None. Width to which features are projected first; None is no
            projection, as in the paper.
        dropout: probability. On the embedding, the projected features and the deep output.
        logits_gain: float > 0. Factor of the initial weights of the last layer (Glorot uniform).
            With few words, 4 to 8 spare many steps: the deep output begins small, so that the
            rest of the model gets little gradient.
    """

    vocabulary_size: int
    embedding_dim: int = 256
    hidden_dim: int = 512
    feature_dim: int | None = None
    dropout: float = 0.3
    logits_gain: float = 1.0

    def __post_init__(self):
        for name in ("vocabulary_size", "embedding_dim", "hidden_dim"):
            check_sizes(**{name: getattr(self, name)})
        if self.feature_dim is not None:
            check_sizes(feature_dim=self.feature_dim)
        check_probability("dropout", self.dropout)
        if not self.logits_gain > 0:
            raise ValueError(f"Expected logits_gain > 0. Received: logits_gain={self.logits_gain}")


@keras.saving.register_keras_serializable(package="keras_attn")
class CaptionDecoder(BaseLayer):
    """Recurrent decoder that attends to the picture at each step, with a deep output.

        s₀ = tanh(W ā + b), one for each part of the cell's state,  ā = mean of the features
        z_t = attention(h_{t−1}),  h_t, s_t = cell([E y_{t−1}; z_t], s_{t−1})
        logits_t = L_o tanh(E y_{t−1} + L_h h_t + L_z z_t)

    It is a `contracts.Stepper` whose context is the features. The first part of the cell's
    state is the query.

    Args:
        config: `CaptionDecoderConfig`, or its fields as keywords.
        attention: layer such as `SoftAttention`; see `GridAttention`.
        cell: `ContextLSTMCell`, `ContextGRUCell`, or one of Keras' cells, whose output has the
            width `hidden_dim`. None is `ContextLSTMCell(hidden_dim)`.

    Call arguments:
        features: float (B, S, D).
        tokens: int32 (B, C, T), decoder input of C captions per picture.

    Returns:
        logits: float32 (B, C, T, V).
        weights: float32 (B, C, T, S).
        locations: int32 (B, C, T), only if the attention samples them in training; all of them
            with C·K for C if it draws K samples, those of a caption as neighbors.

    Raises:
        ValueError: no attention; a cell of another width, or something else in its place.

    Source: Xu et al. 2015, arXiv:1502.03044, 3.1. Differs: the deep output has a tanh and dropout,
    as in the authors' code; 1 is added to the forget gate; optional projection of the features.
    """

    def __init__(self, config=None, attention=None, cell=None, **kwargs):
        config = config_of(CaptionDecoderConfig, config, kwargs)
        super().__init__(**kwargs)
        if not isinstance(attention, keras.layers.Layer):
            raise ValueError(
                "Expected an attention, such as SoftAttention(256). "
                f"Received: attention={attention!r}"
            )
        if cell is None:
            cell = ContextLSTMCell(config.hidden_dim, name="cell", dtype=self.dtype_policy)
        elif not hasattr(cell, "project"):
            cell = ContextCell(cell, name="cell", dtype=self.dtype_policy)
        if cell.units != config.hidden_dim:
            raise ValueError(
                f"Expected a cell of width hidden_dim={config.hidden_dim}. "
                f"Received: one of {cell.units}"
            )
        self.config, self.attention, self.cell = config, attention, cell
        dense = functools.partial(keras.layers.Dense, dtype=self.dtype_policy)
        self.embedding = keras.layers.Embedding(
            config.vocabulary_size,
            config.embedding_dim,
            name="embedding",
            dtype=self.dtype_policy,
        )
        self.feature_projection = (
            dense(config.feature_dim, name="feature_projection", activation="tanh")
            if config.feature_dim is not None
            else None
        )
        self.initial_states = [
            dense(size, name=f"initial_state_{place}", activation="tanh")
            for place, size in enumerate(cell.state_sizes)
        ]
        self.hidden_output = dense(config.embedding_dim, name="hidden_output")
        self.context_output = dense(config.embedding_dim, name="context_output", use_bias=False)
        self.logits = keras.layers.Dense(
            config.vocabulary_size,
            kernel_initializer=keras.initializers.VarianceScaling(
                config.logits_gain**2, "fan_avg", "uniform"
            ),
            name="logits",
            dtype="float32",
        )
        self.dropout = keras.layers.Dropout(config.dropout, name="dropout", dtype=self.dtype_policy)

    def build(self, features_shape, tokens_shape=None):
        config = self.config
        self.embedding.build((None, None))
        if self.feature_projection is not None:
            self.feature_projection.build(features_shape)
            features_shape = (*features_shape[:-1], config.feature_dim)
        for layer in self.initial_states:
            layer.build((None, features_shape[-1]))
        query_dim = self.cell.state_sizes[0]
        if not self.attention.built:
            self.attention.build(features_shape, (None, query_dim))
        context_dim = self.attention.context_dim(features_shape[-1], query_dim)
        if not self.cell.built:
            self.cell.build((None, config.embedding_dim), (None, context_dim))
        self.hidden_output.build((None, config.hidden_dim))
        self.context_output.build((None, context_dim))
        self.logits.build((None, config.embedding_dim))

    def call(self, features, tokens, training=None):
        if training:
            tokens = for_samples(self.attention, tokens, axis=1)
        captions, length = ops.shape(tokens)[1], ops.shape(tokens)[2]
        memory, state = self.start(features, length, training=training)
        state = repeat_hypotheses(state, captions)
        embedded = self.dropout(self.embedding(tokens), training=training)
        embedded = ops.reshape(embedded, (-1, length, self.config.embedding_dim))
        projected = ops.swapaxes(self.cell.project(embedded), 0, 1)
        draws = self.attention.draws(memory, captions, length) if training else None
        step = functools.partial(self._recur, memory)
        _, outputs = scan(step, state, (projected,) if draws is None else (projected, draws))
        hidden, context, weights, *locations = (ops.swapaxes(output, 0, 1) for output in outputs)
        logits = self._deep_output(embedded, hidden, context, training)
        grouped = (-1, captions, length)
        return (
            ops.reshape(logits, (*grouped, self.config.vocabulary_size)),
            ops.reshape(weights, (*grouped, weights.shape[-1])),
            *(ops.reshape(location, grouped) for location in locations),
        )

    def compute_output_shape(self, features_shape, tokens_shape):
        weights = (*tokens_shape, features_shape[1])
        return (*tokens_shape, self.config.vocabulary_size), weights

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns; with weights only if requested."""
        return traced_spec(self, *args, **kwargs)

    def start(self, context, length, training=False):
        """Memory and initial state of each picture.

        Args:
            context: float (B, S, D). The features.
            length: int. Unused: the state does not grow.
            training: bool. Whether dropout is on.

        Returns:
            memory: dict of tensors leading with B.
            state: the cell's, a tuple of tensors that lead with B.
        """
        features = ops.cast(context, self.compute_dtype)
        if self.feature_projection is not None:
            features = self.dropout(self.feature_projection(features), training=training)
        mean = ops.mean(features, axis=1)
        state = self.cell.state_of([layer(mean) for layer in self.initial_states])
        return self.attention.start(features, ops.cast(state[0], self.compute_dtype)), state

    def step(self, tokens, memory, state):
        """One decoding step: int32 tokens (N,) to a `StepResult`; see `contracts.Stepper`."""
        embedded = self.embedding(tokens)
        state, (hidden, context, weights) = self._recur(
            memory, state, (self.cell.project(embedded),)
        )
        return StepResult(self._deep_output(embedded, hidden, context, False), state, weights)

    def prefill(self, prefix, memory, state):
        """Steps over a forced prefix int32 (N, P); see `contracts.Stepper`."""
        return prefill_by_steps(self.step, prefix, prefix != PAD_ID, memory, state)

    def widen(self, state, width):
        """From one hypothesis per example to `width` equal ones."""
        return repeat_hypotheses(state, width)

    def reorder(self, state, parents):
        """Hypothesis k of example b goes on from hypothesis parents[b, k], int32 (B, K)."""
        return gather_hypotheses(state, parents)

    def _recur(self, memory, state, inputs):
        """The state, the projected input and draws, if any -> new state, outputs.

        The outputs are hidden, context, weights and, with draws, locations.
        """
        projected, *draws = inputs
        query = ops.cast(state[0], self.compute_dtype)
        context, weights, location = self.attention.read(memory, query, *draws)
        hidden, state = self.cell.step(projected, context, state)
        outputs = (hidden, context, weights) + (() if location is None else (location,))
        return state, outputs

    def _deep_output(self, embedded, hidden, context, training):
        deep = embedded + self.hidden_output(hidden) + self.context_output(context)
        return self.logits(self.dropout(ops.tanh(deep), training=training))
