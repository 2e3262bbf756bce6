"""The encoder of the convolutional sequence-to-sequence model."""

import keras

from keras_attn.layers.gated_convolution import SAME, GatedConvolution
from keras_attn.layers.learned_positions import LearnedPositions
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.layers.sinusoidal_positions import SinusoidalPositions
from keras_attn.layers.weight_normalized_dense import WeightNormalizedDense, scaled_normal
from keras_attn.models.base_model import config_of
from keras_attn.models.conv_seq2seq.conv_seq2seq_config import ConvSeq2SeqConfig
from keras_attn.models.transformer.transformer_config import LEARNED
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.scale_gradient import scale_gradient
from keras_attn.ops.scaled_sum import scaled_sum

DEVIATION = 0.1
"""Standard deviation of embeddings."""


@keras.saving.register_keras_serializable(package="keras_attn")
class ConvSeq2SeqEncoder(MaskedLayer):
    """Positions, dropout, and gated convolutions between two projections, each with a residual.

        e = dropout(w + p),  x⁰ = W e,  xˡ = √½ (GLU(convolution(xˡ⁻¹)) + xˡ⁻¹)
        keys z = U xᵘ,  values √½ (z + e)

    A residual is projected where the number of channels changes. The gradient that reaches the
    convolutions from the attention is scaled by 1/(2·n) for n attending decoder layers; that of e
    is not.

    Args:
        config: `ConvSeq2SeqConfig`, or its fields as keywords.

    Call arguments:
        inputs: float (B, S, E). w, embedded tokens.
        mask: bool (B, S); True = real. Filled in by Keras.

    Returns:
        keys, values: (B, S, E), compute dtype, with the inputs' mask.

    Raises:
        ValueError: inputs of another width; inputs longer than learned positions; a mask of floats
            or of another shape.

    Example:
        >>> sizes = {"encoder_layers": [(7, 3)], "decoder_layers": [(7, 3)], "embedding_dim": 5}
        >>> encoder = ConvSeq2SeqEncoder(vocabulary_size=13, **sizes)
        >>> keys, values = encoder(ops.ones((2, 11, 5)))
        >>> tuple(keys.shape), tuple(values.shape)
        ((2, 11, 5), (2, 11, 5))

    Source: Gehring et al. 2017, arXiv:1705.03122, 3.2 to 3.5. Differs: the values' √½ and the 2 in
    the gradient's scale are the authors' program's, not the paper's.
    """

    def __init__(self, config=None, **kwargs):
        config = config_of(ConvSeq2SeqConfig, config, kwargs)
        super().__init__(**kwargs)
        policy = self.dtype_policy
        self.config = config
        self.positions, self.dropout = make_start(config, policy)
        self.enter, self.projections, self.convolutions, self.leave = make_stack(
            config.encoder_layers, SAME, config.dropout, config.embedding_dim, policy
        )

    def build(self, inputs_shape=None):
        units = self.config.embedding_dim
        if inputs_shape is not None and inputs_shape[-1] != units:
            raise ValueError(
                f"Expected inputs of width embedding_dim={units}. "
                f"Received: shape={tuple(inputs_shape)}"
            )
        self.positions.build((None, None, units))
        build_stack(self, units)

    def call(self, inputs, mask=None, training=None):
        mask = sequence_mask(inputs, mask=mask)
        inputs = zero_masked(inputs, mask)
        embedded = self.dropout(positioned(self, inputs), training=training)
        hidden = self.enter(embedded)
        for projection, convolution in zip(self.projections, self.convolutions):
            residual = hidden if projection is None else projection(hidden)
            hidden = scaled_sum(convolution(hidden, mask=mask, training=training), residual)
        attentions = len(self.config.decoder_layers)
        keys = scale_gradient(self.leave(hidden), 1 / (2 * attentions))
        values = scaled_sum(keys, embedded)
        return carry_mask(keys, mask), carry_mask(values, mask)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape, inputs_shape


def embedding_initializer():
    """N(0, 0.1), of embeddings and learned positions."""
    return keras.initializers.RandomNormal(stddev=DEVIATION)


def make_start(config, policy):
    """Positions and dropout at the bottom of a stack."""
    if config.positions == LEARNED:
        positions = LearnedPositions(
            config.max_sequence_length,
            initializer=embedding_initializer(),
            name="positions",
            dtype=policy,
        )
    else:
        positions = SinusoidalPositions(name="positions", dtype=policy)
    return positions, keras.layers.Dropout(config.dropout, name="dropout", dtype=policy)


def positioned(stack, embedded, start_index=0):
    """Embedded tokens (B, T, E) of an encoder or a decoder, with their positions."""
    if stack.config.positions == LEARNED:
        return stack.positions(embedded, start_index=start_index)
    return DEVIATION * stack.positions(embedded / DEVIATION, start_index=start_index)


def make_stack(layers, padding, dropout, outputs, policy):
    """The layers between two projections.

    Args:
        layers: pairs (channels, kernel width).
        padding: see `GatedConvolution`.
        dropout: probability.
        outputs: int. Width of the last projection.
        policy: dtype policy.

    Returns:
        enter: `WeightNormalizedDense`.
        projections: list by layer, `WeightNormalizedDense` of its residual or None.
        convolutions: list of `GatedConvolution`.
        leave: `WeightNormalizedDense`.
    """
    channels = [channels for channels, _ in layers]
    enter = WeightNormalizedDense(
        channels[0], kernel_initializer=scaled_normal(1 - dropout), name="enter", dtype=policy
    )
    projections = [
        None
        if before == after
        else WeightNormalizedDense(after, name=f"projection_{place}", dtype=policy)
        for place, (before, after) in enumerate(zip([channels[0], *channels], channels))
    ]
    convolutions = [
        GatedConvolution(
            *layer, padding=padding, dropout=dropout, name=f"convolution_{place}", dtype=policy
        )
        for place, layer in enumerate(layers)
    ]
    return (
        enter,
        projections,
        convolutions,
        WeightNormalizedDense(outputs, name="leave", dtype=policy),
    )


def build_stack(stack, units):
    """Builds what `make_stack` made, for inputs of a width."""
    stack.enter.build((None, None, units))
    shape = (None, None, stack.enter.units)
    for projection, convolution in zip(stack.projections, stack.convolutions):
        if projection is not None:
            projection.build(shape)
        convolution.build(shape)
        shape = (None, None, convolution.filters)
    stack.leave.build(shape)
