"""Convolutional sequence-to-sequence learning."""

import keras

from keras_attn.contracts import LOGITS, SOURCE, TOKENS, WEIGHTS
from keras_attn.models.base_model import config_of
from keras_attn.models.conv_seq2seq.conv_seq2seq_config import ConvSeq2SeqConfig
from keras_attn.models.conv_seq2seq.conv_seq2seq_decoder import ConvSeq2SeqDecoder
from keras_attn.models.conv_seq2seq.conv_seq2seq_encoder import (
    ConvSeq2SeqEncoder,
    embedding_initializer,
)
from keras_attn.models.encoder_decoder import CrossWeights
from keras_attn.models.language_pair import ALL
from keras_attn.models.source_target import SourceTarget, check_pairs


@keras.saving.register_keras_serializable(package="keras_attn")
class ConvSeq2Seq(SourceTarget):
    """Convolutional encoder and decoder with attention in every decoder layer; a `Stepper`.

    Args:
        config: `ConvSeq2SeqConfig`, or its fields as keywords.
        weights_layer: int, −L to L − 1, or None. The decoder layer whose attention to the source
            is WEIGHTS and what `step` returns; None is the mean over layers.

    Call arguments:
        batch: dict with SOURCE int32 (B, S) and TOKENS int32 (B, T), PAD_ID at the end of both.

    Returns:
        dict: LOGITS float32 (B, T, V), with the mask of the real tokens, and WEIGHTS float32
        (B, T, S).

    Raises:
        ValueError: different numbers of sources and targets; a text longer than learned positions;
            weights_layer outside −L..L − 1.

    Example:
        >>> layers = {"encoder_layers": [(7, 3)] * 2, "decoder_layers": [(7, 3), (11, 1)]}
        >>> model = ConvSeq2Seq(vocabulary_size=13, embedding_dim=5, output_dim=3, **layers)
        >>> batch = {"source": ops.ones((2, 11), "int32"), "tokens": ops.ones((2, 3), "int32")}
        >>> tuple(model(batch)["logits"].shape)
        (2, 3, 13)

    Source: Gehring et al. 2017, arXiv:1705.03122; see `ConvSeq2SeqEncoder` and
    `ConvSeq2SeqDecoder`. Not in the paper: sinusoids and tied embeddings.
    """

    def __init__(self, config=None, weights_layer=None, **kwargs):
        config = config_of(ConvSeq2SeqConfig, config, kwargs)
        super().__init__(**kwargs)
        self.config, self.weights_layer = config, weights_layer
        policy = self.dtype_policy
        if config.tied != ALL:
            self.source_embedding = keras.layers.Embedding(
                config.vocabulary_size,
                config.embedding_dim,
                embeddings_initializer=embedding_initializer(),
                name="source_embedding",
                dtype=policy,
            )
        self.encoder = ConvSeq2SeqEncoder(config, name="encoder", dtype=policy)
        self.decoder = ConvSeq2SeqDecoder(config, weights_layer, name="decoder", dtype=policy)

    def call(self, batch, training=None):
        logits, weights = self._run(batch, training)
        return {LOGITS: logits, WEIGHTS: self.decoder.average(weights.cross)}

    @property
    def shown_weights(self):
        """What WEIGHTS are, in words for a model card."""
        layers, layer = len(self.config.decoder_layers), self.decoder.weights_layer
        if layer is None:
            return f"mean over the decoder's {layers} layers"
        return f"layer {layer % layers + 1} of {layers}"

    attends = ("cross",)
    """Kinds of attention that `attention` returns."""

    def attention(self, batch):
        """`CrossWeights` of a batch, without dropout."""
        return self._run(batch, training=False)[1]

    def encode(self, source, training=None):
        """int32 (B, S) to the decoder's values and keys (B, S, E), and their mask (B, S)."""
        embedded, mask = self.embedded(source)
        keys, values = self.encoder(embedded, mask=mask, training=training)
        return values, keys, mask

    def _run(self, batch, training):
        check_pairs(batch)
        values, keys, mask = self.encode(batch[SOURCE], training)
        logits, cross = self.decoder(
            batch[TOKENS],
            values,
            keys,
            value_mask=mask,
            return_attention_scores=True,
            training=training,
        )
        return logits, CrossWeights(cross)
