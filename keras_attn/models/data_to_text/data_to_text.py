"""The model from sets of facts to texts."""

import keras
from keras import ops

from keras_attn.contracts import LOGITS, PAD_ID, SOURCE, TOKENS, WEIGHTS
from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.constructor_config import serialized
from keras_attn.models.base_model import config_of
from keras_attn.models.data_to_text.fact_encoder import FactEncoder, FactTokens
from keras_attn.models.data_to_text.planning_decoder import PlanningDecoder
from keras_attn.models.encoder_decoder import EncoderDecoder
from keras_attn.models.source_target import check_pairs
from keras_attn.models.transformer.transformer import TransformerWeights
from keras_attn.models.transformer.transformer_config import ALL, TransformerConfig


@keras.saving.register_keras_serializable(package="keras_attn")
class DataToText(EncoderDecoder):
    """Sets of triples, or rows of tables, to texts. It is a `Stepper`.

    A graph encoder without an order of facts (`FactEncoder`), and a decoder that plans an order and
    copies names and numbers (`PlanningDecoder`). One vocabulary of pieces for both.

    Args:
        config: `TransformerConfig`, or its fields as keywords.
        attention: `HybridAttention`, which plans the order; its fields are the properties.
        copying: `CopyMixture`, or None for a model that copies nothing.
        num_positions: int > 0. Positions in a name that have vectors of their own.

    Call arguments:
        batch: dict with SOURCE int32 (B, S, 7), see `FactTokens`, PAD_ID where there is no piece,
            and TOKENS int32 (B, T), PAD_ID at the end.

    Returns:
        dict: LOGITS float32 (B, T, V), with the mask of the real tokens, and WEIGHTS float32
        (B, T, S), those of planning and of copying, by the share of copying.

    Raises:
        ValueError: two vocabularies, or a source of another shape.

    Example:
        >>> from keras_attn.layers import CopyMixture, HybridAttention, MultiplicativeAttention
        >>> attention = HybridAttention(MultiplicativeAttention(), num_fields=5, units=3)
        >>> copying = CopyMixture(MultiplicativeAttention())
        >>> sizes = {"num_layers": 1, "num_heads": 2, "key_dim": 3, "value_dim": 3}
        >>> sizes |= {"hidden_dim": 6, "intermediate_dim": 7}
        >>> model = DataToText(None, attention, copying, vocabulary_size=13, **sizes)
        >>> batch = {"source": ops.ones((2, 11, 7), "int32"), "tokens": ops.ones((2, 3), "int32")}
        >>> tuple(model(batch)["logits"].shape)
        (2, 3, 13)

    Source: order planning and copying, Sha et al. 2018, arXiv:1709.00155. Differs: a Transformer
    over a graph in place of an LSTM over a table.
    """

    custom_config = ("attention", "copying")

    def __init__(self, config=None, attention=None, copying=None, num_positions=30, **kwargs):
        config = config_of(TransformerConfig, config, kwargs)
        super().__init__(**kwargs)
        if config.tied != ALL:
            raise ValueError(
                "Expected one vocabulary for facts and texts, tied='all'. "
                f"Received: tied={config.tied!r}"
            )
        self.config, self.num_positions = config, num_positions
        policy = self.dtype_policy
        self.encoder = FactEncoder(config, num_positions, name="encoder", dtype=policy)
        self.decoder = PlanningDecoder(config, attention, copying, name="decoder", dtype=policy)

    def build(self, input_shape=None):
        shape = (None, None, self.config.hidden_dim)
        if not self.encoder.built:
            self.encoder.build(shape)
        if not self.decoder.built:
            self.decoder.build((None, None), shape)

    def call(self, batch, training=None):
        logits, weights, _ = self._run(batch, training, ())
        return {LOGITS: logits, WEIGHTS: weights}

    def input_signature(self):
        source = keras.InputSpec(dtype="int32", shape=(None, None, len(FactTokens._fields)))
        return {SOURCE: source, TOKENS: keras.InputSpec(dtype="int32", shape=(None, None))}

    def followers(self, fields, mask):
        """See `HybridAttention.followers`."""
        return self.decoder.attention.followers(fields, mask)

    def encode(self, source, training=None, return_attention_scores=False):
        """int32 (B, S, 7) to the encoder's output (B, S, D) and the mask (B, S); then, if
        requested, its weights."""
        pieces = source[..., 0]
        mask = ops.not_equal(pieces, PAD_ID)
        keys, *weights = call_scored(
            self.encoder,
            self.decoder.embedding(pieces),
            source,
            mask=mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )
        return keys, mask, *weights

    def start(self, context, length):
        """Stepper: memory and state from facts, int32 (B, S, 7), or a dict with SOURCE."""
        source = fact_tokens(context[SOURCE] if isinstance(context, dict) else context)
        keys, mask = self.encode(source, training=False)
        return self.decoder.start((keys, source, mask), length)

    def _run(self, batch, training, scored_layers=None):
        """Logits, the planner's weights and `TransformerWeights`; without those of the encoder if
        `scored_layers`, those of the decoder, are given."""
        check_pairs(batch)
        source = fact_tokens(batch[SOURCE])
        keys, mask, *encoder = self.encode(source, training, scored_layers is None)
        logits, weights, *both = self.decoder(
            batch[TOKENS],
            keys,
            source,
            value_mask=mask,
            return_attention_scores=True,
            training=training,
            scored_layers=scored_layers,
        )
        return logits, weights, TransformerWeights(*encoder or (None,), *both)

    def get_config(self):
        parts = {name: serialized(getattr(self.decoder, name)) for name in self.custom_config}
        return {**super().get_config(), **parts}


def fact_tokens(source):
    """Sources as tensors int32 (B, S, 7).

    Raises:
        ValueError: another shape.
    """
    source, columns = ops.convert_to_tensor(source, dtype="int32"), len(FactTokens._fields)
    if len(source.shape) != 3 or source.shape[-1] not in (None, columns):
        raise ValueError(
            f"Expected {SOURCE} of shape (B, S, {columns}). Received: shape={tuple(source.shape)}"
        )
    return source
