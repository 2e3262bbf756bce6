"""The decoder of the convolutional sequence-to-sequence model, parallel and step by step."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.contracts import PAD_ID, StepResult
from keras_attn.layers.gated_convolution import CAUSAL
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.layers.multi_step_attention import MultiStepAttention
from keras_attn.layers.weight_normalized_dense import (
    NormalizedKernels,
    WeightNormalizedDense,
    scaled_normal,
)
from keras_attn.models.base_model import config_of
from keras_attn.models.conv_seq2seq.conv_seq2seq_config import ConvSeq2SeqConfig
from keras_attn.models.conv_seq2seq.conv_seq2seq_encoder import (
    build_stack,
    embedding_initializer,
    make_stack,
    make_start,
    positioned,
)
from keras_attn.models.transformer.transformer_config import LEARNED, NOTHING
from keras_attn.ops.cached_attention import hypotheses_of
from keras_attn.ops.hypotheses import gather_hypotheses, prefill_by_steps, repeat_hypotheses
from keras_attn.ops.linear import linear
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.scaled_sum import scaled_sum


class LayerKernels(NamedTuple):
    """Weights of a layer: of its residual's projection or None, convolution and attention."""

    projection: Any
    convolution: Any
    attention: Any


class ConvSeq2SeqMemory(NamedTuple):
    """What every step reads: the encoder's output, and the weights, normalized and cast once.

    Attributes:
        key_mask: bool (B, S).
        keys, values: compute dtype (B, S, E).
        embedding: compute dtype (V, E); no batch axis, nor have those below.
        enter: `NormalizedKernels`.
        layers: tuple of `LayerKernels`, by layer.
        leave: `NormalizedKernels`.
        logits: `NormalizedKernels`, float32.
    """

    key_mask: Any
    keys: Any
    values: Any
    embedding: Any
    enter: Any
    layers: Any
    leave: Any
    logits: Any


class ConvSeq2SeqState(NamedTuple):
    """What a hypothesis has consumed; N = B·K rows.

    Attributes:
        time: int32 (N,). Tokens consumed.
        buffers: tuple by layer, compute dtype (N, k − 1, C), the last inputs of its convolution.
    """

    time: Any
    buffers: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class ConvSeq2SeqDecoder(MaskedLayer):
    """Embedding, positions, dropout, causal gated convolutions that each attend, and logits.

        g = dropout(E y + p),  x⁰ = W g,  hˡ = GLU(convolution(xˡ⁻¹))
        xˡ = √½ (attention(hˡ, g, z, v) + xˡ⁻¹),  logits = V dropout(U xᴸ) + b

    It is a `Stepper` over an encoder's output: `start((values, keys, key_mask), length)` and so on.
    A hypothesis keeps the last k − 1 inputs of each convolution. The attention is that of
    `MultiStepAttention`.

    Args:
        config: `ConvSeq2SeqConfig`, or its fields as keywords.
        weights_layer: int, −L to L − 1, or None. The layer whose attention `step` and `prefill`
            return; None is the mean over layers.

    Call arguments:
        tokens: int32 (B, T), decoder input; padding only at its end.
        value: float (B, S, E). The encoder's values.
        key: float (B, S, E). The encoder's keys; default: value.
        value_mask, key_mask: bool (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        logits: float32 (B, T, V), with the mask of the real tokens.
        weights: with return_attention_scores, tuple of float32 (B, 1, T, S), by layer.

    Raises:
        ValueError: weights_layer outside −L..L − 1; another number of targets than of values;
            targets longer than learned positions.

    Example:
        >>> sizes = {"encoder_layers": [(7, 3)], "decoder_layers": [(7, 3)], "embedding_dim": 5}
        >>> decoder = ConvSeq2SeqDecoder(vocabulary_size=13, **sizes)
        >>> tuple(decoder(ops.ones((2, 3), "int32"), ops.ones((2, 11, 5))).shape)
        (2, 3, 13)

    Source: Gehring et al. 2017, arXiv:1705.03122, 3.2 to 3.5. Differs: √½ on d = W h + b + g is the
    authors' program's, not the paper's.
    """

    ranks = {"tokens": (2,), "value": (3,), "key": (3,)}

    def __init__(self, config=None, weights_layer=None, **kwargs):
        config = config_of(ConvSeq2SeqConfig, config, kwargs)
        super().__init__(**kwargs)
        layers = len(config.decoder_layers)
        if weights_layer is not None and not -layers <= weights_layer < layers:
            raise ValueError(
                f"Expected weights_layer in -{layers}..{layers - 1}, or None. "
                f"Received: weights_layer={weights_layer}"
            )
        self.config, self.weights_layer = config, weights_layer
        policy = self.dtype_policy
        self.embedding = keras.layers.Embedding(
            config.target_size,
            config.embedding_dim,
            embeddings_initializer=embedding_initializer(),
            name="embedding",
            dtype=policy,
        )
        self.positions, self.dropout = make_start(config, policy)
        self.enter, self.projections, self.convolutions, self.leave = make_stack(
            config.decoder_layers, CAUSAL, config.dropout, config.output_dim, policy
        )
        self.attentions = [
            MultiStepAttention(name=f"attention_{place}", dtype=policy) for place in range(layers)
        ]
        self.logits = self.output_bias = None
        if config.tied == NOTHING:
            self.logits = WeightNormalizedDense(
                config.target_size,
                kernel_initializer=scaled_normal(1 - config.dropout),
                name="logits",
                dtype="float32",
            )

    def build(self, tokens_shape, value_shape, key_shape=None):
        units = self.config.embedding_dim
        for shape in (value_shape, key_shape or value_shape):
            if shape[-1] != units:
                raise ValueError(
                    f"Expected value and key of width embedding_dim={units}. "
                    f"Received: shape={tuple(shape)}"
                )
        shape = (None, None, units)
        if not self.embedding.built:
            self.embedding.build((None, None))
        self.positions.build(shape)
        build_stack(self, units)
        for (channels, _), attention in zip(self.config.decoder_layers, self.attentions):
            attention.build((None, None, channels), shape)
        if self.logits is None:
            self.output_bias = self.add_weight(
                shape=(self.config.target_size,), initializer="zeros", name="output_bias"
            )
        else:
            self.logits.build((None, None, self.config.output_dim))

    def call(
        self,
        tokens,
        value,
        key=None,
        value_mask=None,
        key_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        key = value if key is None else key
        value_mask = sequence_mask(value, value_mask=value_mask)
        embedded = positioned(self, self.embedding(tokens))
        embedded = self.dropout(embedded, training=training)
        hidden, weights = self.enter(embedded), []
        for projection, convolution, attention in self._by_layer():
            residual = hidden if projection is None else projection(hidden)
            hidden, attended = attention(
                convolution(hidden, training=training),
                value,
                key,
                embedded=embedded,
                value_mask=value_mask,
                key_mask=key_mask,
                return_attention_scores=True,
            )
            hidden = scaled_sum(hidden, residual)
            weights.append(attended[:, None])
        hidden = self.dropout(self.leave(hidden), training=training)
        logits = carry_mask(_logits(hidden, self._output()), ops.not_equal(tokens, PAD_ID))
        return (logits, tuple(weights)) if return_attention_scores else logits

    def compute_output_shape(self, tokens_shape, value_shape, key_shape=None):
        return (*tokens_shape, self.config.target_size)

    def start(self, context, length):
        """Memory and initial state of each example.

        Args:
            context: (values float (B, S, E), keys float (B, S, E), key_mask bool (B, S)).
            length: int or int32 scalar. Maximum number of tokens to be consumed.

        Returns:
            memory: `ConvSeq2SeqMemory`.
            state: `ConvSeq2SeqState` of one hypothesis per example.

        Raises:
            ValueError: more tokens than learned positions.
        """
        if self.config.positions == LEARNED:
            self.positions.check_length(length)
        values, keys, key_mask = context
        key_mask = ops.cast(key_mask, "bool")
        kernels = [
            LayerKernels(
                None if projection is None else projection.kernels(),
                convolution.kernels(),
                attention.kernels(),
            )
            for projection, convolution, attention in self._by_layer()
        ]
        memory = ConvSeq2SeqMemory(
            key_mask,
            zero_masked(ops.cast(keys, self.compute_dtype), key_mask),
            zero_masked(ops.cast(values, self.compute_dtype), key_mask),
            self._table(),
            self.enter.kernels(),
            tuple(kernels),
            self.leave.kernels(),
            self._output(),
        )
        rows = ops.shape(keys)[0]
        buffers = tuple(convolution.empty_buffer(rows) for convolution in self.convolutions)
        return memory, ConvSeq2SeqState(ops.zeros((rows,), "int32"), buffers)

    def step(self, tokens, memory, state):
        """One decoding step: int32 tokens (N,) to a `StepResult`; see `contracts.Stepper`."""
        embedded = ops.take(memory.embedding, tokens[:, None], axis=0)
        embedded = positioned(self, embedded, state.time)[:, 0]
        hidden, weights, buffers = self.enter.apply(embedded, memory.enter), [], []
        parts = zip(self._by_layer(), memory.layers, state.buffers)
        for (projection, convolution, attention), kernels, buffer in parts:
            residual = hidden
            if projection is not None:
                residual = projection.apply(hidden, kernels.projection)
            hidden, buffer = convolution.step(hidden, buffer, kernels.convolution)
            hidden, attended = _attend_rows(attention, hidden, embedded, memory, kernels.attention)
            hidden = scaled_sum(hidden, residual)
            buffers.append(buffer)
            weights.append(attended[:, None])
        logits = _logits(self.leave.apply(hidden, memory.leave), memory.logits)
        average = ops.reshape(self.average(weights), (-1, ops.shape(memory.keys)[1]))
        return StepResult(logits, ConvSeq2SeqState(state.time + 1, tuple(buffers)), average)

    def prefill(self, prefix, memory, state):
        """Steps over a forced prefix int32 (N, P); see `contracts.Stepper`."""
        return prefill_by_steps(self.step, prefix, prefix != PAD_ID, memory, state)

    def widen(self, state, width):
        """From one hypothesis per example to `width` equal ones."""
        return repeat_hypotheses(state, width)

    def reorder(self, state, parents):
        """Hypothesis k of example b goes on from hypothesis parents[b, k], int32 (B, K)."""
        return gather_hypotheses(state, parents)

    def average(self, weights):
        """float32 (B, T, S): of weights (B, 1, T, S) by layer, `weights_layer` or their mean."""
        if self.weights_layer is not None:
            return weights[self.weights_layer][:, 0]
        return ops.mean(ops.concatenate(list(weights), axis=1), axis=1)

    def _by_layer(self):
        return zip(self.projections, self.convolutions, self.attentions)

    def _output(self):
        """`NormalizedKernels` of the logits in float32."""
        if self.logits is not None:
            return self.logits.kernels()
        kernel = ops.cast(ops.transpose(self._table()), "float32")
        return NormalizedKernels(kernel, ops.cast(self.output_bias, "float32"))

    def _table(self):
        """Vectors of all tokens, compute dtype (V, E)."""
        if self.embedding.quantization_mode is not None:
            return self.embedding(ops.arange(self.config.target_size, dtype="int32"))
        return ops.cast(self.embedding.embeddings, self.compute_dtype)


def _logits(hidden, kernels):
    """float32 (..., V) from (..., D)."""
    return linear(ops.cast(hidden, "float32"), kernels.kernel, kernels.bias)


def _attend_rows(attention, hidden, embedded, memory, kernels):
    """One step of attention for N = B·K rows: outputs (N, C) and weights (B, K, S)."""
    examples, rows = ops.shape(memory.keys)[0], ops.shape(hidden)[0]
    width = hypotheses_of(rows, examples)
    query, embedded = (
        ops.reshape(array, (examples, width, array.shape[-1])) for array in (hidden, embedded)
    )
    mask = memory.key_mask[:, None, :]
    outputs, weights = attention.attend(query, embedded, memory.keys, memory.values, mask, kernels)
    return ops.reshape(outputs, (rows, outputs.shape[-1])), weights
