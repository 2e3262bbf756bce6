"""The Transformer: attention is all you need."""

from typing import Any, NamedTuple

import keras

from keras_attn.contracts import LOGITS, SOURCE, TOKENS, WEIGHTS
from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.constructor_config import serialized
from keras_attn.layers.scaled_embedding import ScaledEmbedding
from keras_attn.models.base_model import config_of
from keras_attn.models.source_target import SourceTarget, check_pairs
from keras_attn.models.transformer.transformer_config import ALL, TransformerConfig
from keras_attn.models.transformer.transformer_decoder import TransformerDecoder
from keras_attn.models.transformer.transformer_encoder import TransformerEncoder


class TransformerWeights(NamedTuple):
    """Every attention weight of a batch; tuples by layer.

    Attributes:
        encoder: tuple of N float32 (B, H, S, S).
        decoder: tuple of N float32 (B, H, T, T).
        cross: tuple of N float32 (B, H, T, S).
    """

    encoder: Any
    decoder: Any
    cross: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class Transformer(SourceTarget):
    """The encoder-decoder Transformer; a `Stepper`, see `TransformerDecoder`.

    Args:
        config: `TransformerConfig`, or its fields as keywords.
        weights_layer: int, −N to N − 1. The decoder layer whose attention to the source, averaged
            over its heads, is WEIGHTS and what `step` returns.
        added_input: layer whose output is added to the decoder's embedded tokens, see
            `contracts.DecoderInput`; None for none.

    Call arguments:
        batch: dict with SOURCE int32 (B, S) and TOKENS int32 (B, T), PAD_ID at the end of both.

    Returns:
        dict: LOGITS float32 (B, T, V), with the mask of the real tokens, and WEIGHTS float32
        (B, T, S).

    Example:
        >>> sizes = {"num_layers": 1, "num_heads": 2, "key_dim": 3, "value_dim": 3}
        >>> model = Transformer(vocabulary_size=13, hidden_dim=6, intermediate_dim=7, **sizes)
        >>> batch = {"source": ops.ones((2, 11), "int32"), "tokens": ops.ones((2, 3), "int32")}
        >>> tuple(model(batch)["logits"].shape)
        (2, 3, 13)

    Source: Vaswani et al. 2017, arXiv:1706.03762.
    """

    custom_config = ("added_input",)

    def __init__(self, config=None, weights_layer=-1, added_input=None, **kwargs):
        config = config_of(TransformerConfig, config, kwargs)
        super().__init__(**kwargs)
        self.config, self.weights_layer = config, weights_layer
        policy = self.dtype_policy
        if config.tied != ALL:
            self.source_embedding = ScaledEmbedding(
                config.vocabulary_size, config.hidden_dim, name="source_embedding", dtype=policy
            )
        self.encoder = TransformerEncoder(config, name="encoder", dtype=policy)
        self.decoder = TransformerDecoder(
            config, weights_layer, added_input, name="decoder", dtype=policy
        )

    def call(self, batch, training=None):
        logits, weights = self._run(batch, training, (self.weights_layer,))
        return {LOGITS: logits, WEIGHTS: self.decoder.average(*weights.cross)}

    @property
    def shown_weights(self):
        """What WEIGHTS are, in words for a model card."""
        layers = self.config.decoder_layers
        return f"layer {self.decoder.weights_layer % layers + 1} of {layers}, mean over its heads"

    attends = ("encoder", "decoder", "cross")
    """Kinds of attention that `attention` returns."""

    def attention(self, batch):
        """`TransformerWeights` of a batch, without dropout."""
        return self._run(batch, training=False)[1]

    def encode(self, source, training=None):
        """int32 (B, S) to the decoder's memory (B, S, D) and its mask (B, S)."""
        embedded, mask = self.embedded(source)
        return self.encoder(embedded, mask=mask, training=training), mask

    def _run(self, batch, training, scored_layers=None):
        """Logits and `TransformerWeights`; without those of the encoder if `scored_layers`, those
        of the decoder, are given."""
        check_pairs(batch)
        embedded, mask = self.embedded(batch[SOURCE])
        value, *encoder = call_scored(
            self.encoder,
            embedded,
            mask=mask,
            return_attention_scores=scored_layers is None,
            training=training,
        )
        logits, decoder, cross = self.decoder(
            batch[TOKENS],
            value,
            value_mask=mask,
            return_attention_scores=True,
            training=training,
            scored_layers=scored_layers,
        )
        return logits, TransformerWeights(*encoder or (None,), decoder, cross)

    def get_config(self):
        return {**super().get_config(), "added_input": serialized(self.decoder.added_input)}
