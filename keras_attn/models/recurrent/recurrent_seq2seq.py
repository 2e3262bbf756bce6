"""The recurrent encoder–decoder with attention."""

import keras

from keras_attn.contracts import LOCATIONS, LOGITS, SOURCE, TOKENS, WEIGHTS
from keras_attn.layers.constructor_config import serialized
from keras_attn.layers.scaled_embedding import ScaledEmbedding
from keras_attn.models.base_model import config_of
from keras_attn.models.language_pair import ALL
from keras_attn.models.recurrent.recurrent_config import RecurrentConfig
from keras_attn.models.recurrent.recurrent_decoder import RecurrentDecoder
from keras_attn.models.recurrent.recurrent_encoder import RecurrentEncoder
from keras_attn.models.source_target import SourceTarget, check_pairs


@keras.saving.register_keras_serializable(package="keras_attn")
class RecurrentSeq2Seq(SourceTarget):
    """The recurrent encoder–decoder with attention; a `Stepper`, see `RecurrentDecoder`.

    Args:
        config: `RecurrentConfig`, or its fields as keywords.
        attention: `ScoredAttention` layer, such as `MultiplicativeAttention()` or
            `LocalPredictiveAttention(MultiplicativeAttention(), 5, 64)`; `LastStateAttention()` is
            the encoder–decoder without attention, and `SampledAttention(AdditiveAttention(64))` is
            hard attention. None is additive attention of width H.

    Call arguments:
        batch: dict with SOURCE int32 (B, S) and TOKENS int32 (B, T), PAD_ID at the end of both.

    Returns:
        dict: LOGITS float32 (B, T, V), with the mask of the real tokens, and WEIGHTS float32
        (B, T, S); if the attention samples positions in training, LOCATIONS int32 (B, T). With K
        samples in training, all of them lead with B·K; those of an example are neighbors.

    Example:
        >>> model = RecurrentSeq2Seq(vocabulary_size=13, embedding_dim=5, hidden_dim=7)
        >>> batch = {"source": ops.ones((2, 11), "int32"), "tokens": ops.ones((2, 3), "int32")}
        >>> tuple(model(batch)["logits"].shape)
        (2, 3, 13)

    Source: Bahdanau et al. 2015, arXiv:1409.0473; Luong et al. 2015, arXiv:1508.04025.
    """

    custom_config = ("attention",)

    def __init__(self, config=None, attention=None, **kwargs):
        config = config_of(RecurrentConfig, config, kwargs)
        super().__init__(**kwargs)
        self.config, policy = config, self.dtype_policy
        if config.tied != ALL:
            self.source_embedding = ScaledEmbedding(
                config.vocabulary_size, config.embedding_dim, name="source_embedding", dtype=policy
            )
        self.encoder = RecurrentEncoder(config, name="encoder", dtype=policy)
        self.decoder = RecurrentDecoder(config, attention, name="decoder", dtype=policy)
        self.dropout = keras.layers.Dropout(config.dropout, name="dropout", dtype=policy)

    def build(self, input_shape=None):
        if not self.decoder.built:
            self.decoder.build((None, None), (None, None, self.encoder.units))
        super().build(input_shape)

    def call(self, batch, training=None):
        check_pairs(batch)
        value, mask, last = self.encode(batch[SOURCE], training)
        logits, *others = self.decoder(
            batch[TOKENS],
            value,
            last,
            value_mask=mask,
            return_attention_scores=True,
            training=training,
        )
        return dict(zip((LOGITS, WEIGHTS, LOCATIONS), (logits, *others)))

    @property
    def shown_weights(self):
        """What WEIGHTS are, in words for a model card."""
        return "the decoder's attention"

    def encode(self, source, training=None):
        """int32 (B, S) to the outputs (B, S, F), their mask (B, S) and the last state (B, F)."""
        embedded, mask = self.embedded(source)
        embedded = self.dropout(embedded, training=training)
        value, last = self.encoder(embedded, mask=mask, training=training)
        return value, mask, last

    def get_config(self):
        return {**super().get_config(), "attention": serialized(self.decoder.attention)}
