"""The Transformer caption decoder: from grid features to one word piece per step."""

from dataclasses import replace

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.models.base_model import config_of
from keras_attn.models.transformer.transformer_config import LEARNED, TransformerConfig
from keras_attn.models.transformer.transformer_decoder import TransformerDecoder
from keras_attn.models.transformer.transformer_encoder import TransformerEncoder


@keras.saving.register_keras_serializable(package="keras_attn")
class TransformerCaptionDecoder(BaseLayer):
    """A Transformer encoder over the cells of a picture's grid, and a decoder over the caption.

        keys = encoder(dropout(W a_i + b) + p_i),  p_i one learned vector per cell
        logits_t = decoder(y_1 … y_{t−1}, keys)

    Without encoder layers the decoder attends to the features a_i directly, as it should if they
    are a Transformer's output (`VisionTransformer`). It is a `contracts.Stepper` whose context
    is the features.

    Args:
        config: `TransformerConfig`, or its fields as keywords, of one vocabulary, that of the
            captions.
        num_encoder_layers: int ≥ 0. Layers of the encoder; their sizes are those of `config`.
        weights_layer: int, −N to N − 1. The decoder layer whose attention to the picture, averaged
            over its heads, is returned.

    Call arguments:
        features: float (B, S, D).
        tokens: int32 (B, C, T), decoder input of C captions per picture.

    Returns:
        logits: float32 (B, C, T, V).
        weights: float32 (B, C, T, S).

    Raises:
        ValueError: num_encoder_layers < 0; weights_layer outside −N..N − 1.

    Example:
        >>> sizes = TransformerConfig(13, None, 1, 6, 7, 2, 3, 3, tied="decoder")
        >>> decoder = TransformerCaptionDecoder(sizes, num_encoder_layers=1)
        >>> logits, weights = decoder(ops.ones((2, 11, 5)), ops.ones((2, 3, 7), "int32"))
        >>> tuple(logits.shape), tuple(weights.shape)
        ((2, 3, 7, 13), (2, 3, 7, 11))

    Source: Vaswani et al. 2017, arXiv:1706.03762, with the features of Xu et al. 2015,
    arXiv:1502.03044. Differs: cells have learned positions, words those of `config`.
    """

    def __init__(self, config=None, num_encoder_layers=0, weights_layer=-1, **kwargs):
        config = config_of(TransformerConfig, config, kwargs)
        super().__init__(**kwargs)
        if num_encoder_layers:
            check_sizes(num_encoder_layers=num_encoder_layers)
        self.config, self.num_encoder_layers = config, num_encoder_layers
        self.weights_layer = weights_layer
        policy = self.dtype_policy
        self.feature_projection = None
        if num_encoder_layers:
            self.feature_projection = keras.layers.Dense(
                config.hidden_dim, name="feature_projection", dtype=policy
            )
        self.encoder = None
        self.decoder = TransformerDecoder(config, weights_layer, name="decoder", dtype=policy)

    def build(self, features_shape, tokens_shape=None):
        units = features_shape[-1]
        if self.num_encoder_layers:
            self.feature_projection.build(features_shape)
            places = {"positions": LEARNED, "max_sequence_length": features_shape[1]}
            sizes = replace(self.config, num_layers=self.num_encoder_layers, **places)
            self.encoder = TransformerEncoder(sizes, name="encoder", dtype=self.dtype_policy)
            units = self.config.hidden_dim
            self.encoder.build((None, None, units))
        self.decoder.build((None, None), (None, None, units))

    def call(self, features, tokens, training=None):
        grouped = tuple(ops.shape(tokens))
        logits, cross = self._read(features, tokens, training, (self.weights_layer,))
        weights = self.decoder.average(*cross)
        return (
            ops.reshape(logits, (*grouped, logits.shape[-1])),
            ops.reshape(weights, (*grouped, weights.shape[-1])),
        )

    def compute_output_shape(self, features_shape, tokens_shape):
        weights = (*tokens_shape, features_shape[1])
        return (*tokens_shape, self.config.target_size), weights

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns; with weights only if requested."""
        return traced_spec(self, *args, **kwargs)

    def cross_weights(self, features, tokens):
        """Attention to the picture, without dropout, of captions int32 (B, T): tuple by layer of
        float32 (B, H, T, S)."""
        return self._read(features, tokens[:, None], training=False)[1]

    def _read(self, features, tokens, training, scored_layers=None):
        """Logits (B·C, T, V), and attention to the cells, (B·C, H, T, S) each, by layer of
        `scored_layers`."""
        captions, count, length = ops.shape(tokens)
        rows = ops.reshape(tokens, (captions * count, length))
        logits, _, cross = self.decoder(
            rows,
            self.keys(features, training),
            return_attention_scores=True,
            training=training,
            scored_layers=scored_layers,
        )
        return logits, cross

    def keys(self, features, training=None):
        """What the decoder attends to: float (B, S, E), compute dtype, from features (B, S, D)."""
        features = ops.cast(features, self.compute_dtype)
        if self.encoder is None:
            return features
        return self.encoder(self.feature_projection(features), training=training)

    def start(self, context, length):
        """Memory and initial state of each picture, from features (B, S, D); see `Stepper`."""
        keys = self.keys(context, training=False)
        everywhere = ops.ones(ops.shape(keys)[:2], dtype="bool")
        return self.decoder.start((keys, everywhere), length)

    def step(self, tokens, memory, state):
        """Stepper: the decoder's step."""
        return self.decoder.step(tokens, memory, state)

    def prefill(self, prefix, memory, state):
        """Stepper: the decoder's prefill."""
        return self.decoder.prefill(prefix, memory, state)

    def widen(self, state, width):
        """Stepper: the decoder's state, widened."""
        return self.decoder.widen(state, width)

    def reorder(self, state, parents):
        """Stepper: the decoder's state, reordered."""
        return self.decoder.reorder(state, parents)
