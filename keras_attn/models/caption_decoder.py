"""The recurrent caption decoder: grid features in, one word piece a step out."""

import functools
from dataclasses import asdict, dataclass

import keras
from keras import ops

from keras_attn.contracts import PAD_ID, StepResult
from keras_attn.former_names import FormerNames
from keras_attn.layers.scored_attention import check_width
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.models.base_model import config_of
from keras_attn.ops.check_choice import check_probability
from keras_attn.ops.hypotheses import gather_hypotheses, prefill_by_steps, repeat_hypotheses
from keras_attn.ops.scan import scan


@dataclass(frozen=True)
class CaptionDecoderConfig(FormerNames):
    """Sizes of a `CaptionDecoder`.

    Attributes:
        vocabulary_size: int. V, pieces of the tokenizer.
        embedding_dim: int. Width m of a piece's embedding and of the deep output.
        hidden_dim: int. Width H of the LSTM.
        feature_dim: int or None. Features are projected to this width first; None leaves them as
            the encoder made them, as in the paper.
        dropout: probability. On the embedding, the projected features and the deep output.
    """

    vocabulary_size: int
    embedding_dim: int = 256
    hidden_dim: int = 512
    feature_dim: int | None = None
    dropout: float = 0.3

    def __post_init__(self):
        for name in ("vocabulary_size", "embedding_dim", "hidden_dim"):
            check_width(name, getattr(self, name))
        if self.feature_dim is not None:
            check_width("feature_dim", self.feature_dim)
        check_probability("dropout", self.dropout)


@keras.saving.register_keras_serializable(package="keras_attn")
class CaptionDecoder(FormerNames, keras.layers.Layer):
    """LSTM decoder that reads the picture anew at each step, with a deep output.

        h₀ = tanh(W_h ā + b),  c₀ = tanh(W_c ā + b),  ā = mean of the features
        z_t = reader(h_{t−1}),  h_t, c_t = LSTM([E y_{t−1}; z_t], h_{t−1}, c_{t−1})
        logits_t = L_o tanh(E y_{t−1} + L_h h_t + L_z z_t)

    It is a `contracts.Stepper` whose context is the features.

    Args:
        config: `CaptionDecoderConfig`, or its fields as keywords.
        reader: layer such as `AttentionReader`; see there.

    Call arguments:
        features: float (B, S, D).
        tokens: int32 (B, C, T), decoder input of C captions a picture.

    Returns:
        logits: float32 (B, C, T, V).
        weights: float32 (B, C, T, S).
        locations: int32 (B, C, T), only where the reader samples them in training.

    Source: Xu et al. 2015, arXiv:1502.03044, 3.1. Differs: the deep output has a tanh and dropout,
    as in the authors' program; 1 is added to the forget gate; optional projection of the features.
    """

    def __init__(self, config=None, reader=None, **kwargs):
        config = config_of(CaptionDecoderConfig, config, kwargs)
        super().__init__(**kwargs)
        if not isinstance(reader, keras.layers.Layer):
            raise ValueError(
                f"Expected a reader, such as AttentionReader(256). Received: reader={reader!r}"
            )
        self.config, self.reader = config, reader
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
        self.initial_hidden = dense(config.hidden_dim, name="initial_hidden", activation="tanh")
        self.initial_cell = dense(config.hidden_dim, name="initial_cell", activation="tanh")
        self.input_gates = dense(4 * config.hidden_dim, name="input_gates")
        self.context_gates = dense(4 * config.hidden_dim, name="context_gates", use_bias=False)
        self.hidden_gates = dense(
            4 * config.hidden_dim,
            name="hidden_gates",
            use_bias=False,
            kernel_initializer="orthogonal",
        )
        self.hidden_output = dense(config.embedding_dim, name="hidden_output")
        self.context_output = dense(config.embedding_dim, name="context_output", use_bias=False)
        self.logits = keras.layers.Dense(config.vocabulary_size, name="logits", dtype="float32")
        self.dropout = keras.layers.Dropout(config.dropout, name="dropout", dtype=self.dtype_policy)

    def build(self, features_shape, tokens_shape=None):
        config = self.config
        self.embedding.build((None, None))
        if self.feature_projection is not None:
            self.feature_projection.build(features_shape)
            features_shape = (*features_shape[:-1], config.feature_dim)
        for layer in (self.initial_hidden, self.initial_cell):
            layer.build((None, features_shape[-1]))
        hidden_shape = (None, config.hidden_dim)
        if not self.reader.built:
            self.reader.build(features_shape, hidden_shape)
        context_dim = self.reader.context_dim(features_shape[-1], config.hidden_dim)
        self.input_gates.build((None, config.embedding_dim))
        self.context_gates.build((None, context_dim))
        self.hidden_gates.build(hidden_shape)
        self.hidden_output.build(hidden_shape)
        self.context_output.build((None, context_dim))
        self.logits.build((None, config.embedding_dim))

    def call(self, features, tokens, training=None):
        captions, length = ops.shape(tokens)[1], ops.shape(tokens)[2]
        memory, (hidden, cell) = self.start(features, length, training=training)
        hidden, cell = ops.repeat(hidden, captions, axis=0), ops.repeat(cell, captions, axis=0)
        embedded = self.dropout(self.embedding(tokens), training=training)
        embedded = ops.reshape(embedded, (-1, length, self.config.embedding_dim))
        gates = ops.swapaxes(self.input_gates(embedded), 0, 1)
        draws = self.reader.draws(memory, captions, length) if training else None
        step = functools.partial(self._recur, memory)
        _, outputs = scan(step, (hidden, cell), (gates,) if draws is None else (gates, draws))
        hidden, context, weights, *locations = (ops.swapaxes(one, 0, 1) for one in outputs)
        logits = self._deep_output(embedded, hidden, context, training)
        grouped = (-1, captions, length)
        return (
            ops.reshape(logits, (*grouped, self.config.vocabulary_size)),
            ops.reshape(weights, (*grouped, weights.shape[-1])),
            *(ops.reshape(one, grouped) for one in locations),
        )

    def compute_output_shape(self, features_shape, tokens_shape):
        weights = (*tokens_shape, features_shape[1])
        return (*tokens_shape, self.config.vocabulary_size), weights

    def compute_output_spec(self, features, tokens, training=None):
        """Logits, weights and locations, if there are any; float32 in any precision."""
        return traced_spec(self, features, tokens, training=training)

    def start(self, context, length, training=False):
        """Memory and first state of each picture.

        Args:
            context: float (B, S, D). The features.
            length: int. Of no use here: the state does not grow.
            training: bool. Whether dropout is on.

        Returns:
            memory: dict of tensors leading with B.
            state: (hidden (B, H), cell float32 (B, H)).
        """
        features = ops.cast(context, self.compute_dtype)
        if self.feature_projection is not None:
            features = self.dropout(self.feature_projection(features), training=training)
        mean = ops.mean(features, axis=1)
        hidden = self.initial_hidden(mean)
        cell = ops.cast(self.initial_cell(mean), "float32")
        return self.reader.start(features, hidden), (hidden, cell)

    def step(self, tokens, memory, state):
        """One decoding step: int32 tokens (N,) to a `StepResult`; see `contracts.Stepper`."""
        embedded = self.embedding(tokens)
        state, (hidden, context, weights) = self._recur(
            memory, state, (self.input_gates(embedded),)
        )
        return StepResult(self._deep_output(embedded, hidden, context, False), state, weights)

    def prefill(self, prefix, memory, state):
        """Steps over a forced prefix int32 (N, P); see `contracts.Stepper`."""
        return prefill_by_steps(self.step, prefix, prefix != PAD_ID, memory, state)

    def widen(self, state, width):
        """From one hypothesis a picture to `width` equal ones."""
        return repeat_hypotheses(state, width)

    def reorder(self, state, parents):
        """Hypotheses go on from their parents int32 (B, K)."""
        return gather_hypotheses(state, parents)

    def _recur(self, memory, state, inputs):
        """(hidden, cell), the gates of the input word and draws, if any -> new state, outputs.

        The outputs are hidden, context, weights and, with draws, locations.
        """
        hidden, cell = state
        input_gates, *draws = inputs
        context, weights, location = self.reader.read(memory, hidden, *draws)
        gates = input_gates + self.hidden_gates(hidden) + self.context_gates(context)
        enter, forget, candidate, leave = ops.split(ops.cast(gates, "float32"), 4, axis=-1)
        cell = ops.sigmoid(forget + 1.0) * cell + ops.sigmoid(enter) * ops.tanh(candidate)
        hidden = ops.cast(ops.sigmoid(leave) * ops.tanh(cell), self.compute_dtype)
        outputs = (hidden, context, weights) + (() if location is None else (location,))
        return (hidden, cell), outputs

    def _deep_output(self, embedded, hidden, context, training):
        deep = embedded + self.hidden_output(hidden) + self.context_output(context)
        return self.logits(self.dropout(ops.tanh(deep), training=training))

    def get_config(self):
        reader = keras.saving.serialize_keras_object(self.reader)
        return {**super().get_config(), "config": asdict(self.config), "reader": reader}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        sizes = CaptionDecoderConfig(**config.pop("config"))
        reader = keras.saving.deserialize_keras_object(config.pop("reader"))
        return cls(sizes, reader, **config)
