"""The Transformer as a parser: brackets from its decoder, tags of the words from its encoder."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.contracts import ENCODED, LOGITS, PAD_ID, SOURCE, TAG_LOGITS, TOKENS, WEIGHTS
from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.masked_layer import carry_mask
from keras_attn.layers.next_source import NextSource
from keras_attn.layers.scaled_embedding import ScaledEmbedding
from keras_attn.models.base_model import config_of
from keras_attn.models.encoder_decoder import EncoderDecoder
from keras_attn.models.transformer.transformer import TransformerWeights
from keras_attn.models.transformer.transformer_config import TransformerConfig
from keras_attn.models.transformer.transformer_decoder import TransformerDecoder
from keras_attn.models.transformer.transformer_encoder import TransformerEncoder
from keras_attn.ops.masks import zero_masked


@keras.saving.register_keras_serializable(package="keras_attn")
class Parser(EncoderDecoder):
    """Sentences to the symbols of their trees, with a tag for each word. It is a `Stepper`.

    The encoder reads a vector for each word: Σ E[piece] / √pieces.

    Args:
        config: `TransformerConfig`, or its fields as keywords. Its target vocabulary is that of
            the symbols.
        tags: int ≥ 1. Tags, special ids included.
        counted_token: int or None. Id of the word symbol; if given, the decoder's inputs include
            the next word, see `NextSource`.

    Call arguments:
        batch: dict with SOURCE int32 (B, S, P), the pieces of each word, and TOKENS int32 (B, T);
            PAD_ID after the pieces of a word, after the words, and after the tokens.

    Returns:
        dict: LOGITS float32 (B, T, V), TAG_LOGITS float32 (B, S, tags) and WEIGHTS float32
        (B, T, S).

    Raises:
        ValueError: tags < 1, or a counted_token outside the target vocabulary.

    Example:
        >>> model = Parser(TransformerConfig(13, 7, 1, 6, 7, 2, 3, 5, tied="decoder"), 17)
        >>> batch = {"source": ops.ones((2, 11, 3), "int32"), "tokens": ops.ones((2, 5), "int32")}
        >>> tuple(model(batch)["tag_logits"].shape)
        (2, 11, 17)

    Source: Vaswani et al. 2017, arXiv:1706.03762, 6.3; Vinyals et al. 2015, arXiv:1412.7449.
    Differs: there each word has its own vector, and no tags; here words are sums of pieces,
    tags are a linear function of the encoder's output, trained with the decoder, and the decoder
    may see the next word (`NextSource`).
    """

    def __init__(self, config=None, tags=None, counted_token=None, **kwargs):
        config = config_of(TransformerConfig, config, kwargs)
        super().__init__(**kwargs)
        check_sizes(tags=tags)
        self.config, self.tags, self.counted_token = config, tags, counted_token
        policy = self.dtype_policy
        next_source = None
        if counted_token is not None:
            if not PAD_ID < counted_token < config.target_size:
                raise ValueError(
                    f"Expected {PAD_ID} < counted_token < {config.target_size}. "
                    f"Received: counted_token={counted_token}"
                )
            next_source = NextSource(
                counted_token, config.hidden_dim, name="next_source", dtype=policy
            )
        self.source_embedding = ScaledEmbedding(
            config.vocabulary_size, config.hidden_dim, name="source_embedding", dtype=policy
        )
        self.encoder = TransformerEncoder(config, name="encoder", dtype=policy)
        self.decoder = TransformerDecoder(
            config, added_input=next_source, name="decoder", dtype=policy
        )
        self.tagger = keras.layers.Dense(tags, name="tagger", dtype=policy)

    def build(self, input_shape=None):
        shape = (None, None, self.config.hidden_dim)
        for layer in (self.source_embedding, self.encoder, self.tagger):
            if not layer.built:
                layer.build(shape)
        if not self.decoder.built:
            self.decoder.build((None, None), shape)

    def call(self, batch, training=None):
        keys, mask, logits, weights = self._run(batch, training, (self.decoder.weights_layer,))
        tag_logits = carry_mask(self.tag_logits(keys), mask)
        weights = self.decoder.average(*weights.cross)
        return {LOGITS: logits, TAG_LOGITS: tag_logits, WEIGHTS: weights}

    def input_signature(self):
        source = keras.InputSpec(dtype="int32", shape=(None, None, None))
        return {SOURCE: source, TOKENS: keras.InputSpec(dtype="int32", shape=(None, None))}

    attends = ("encoder", "decoder", "cross")
    """Kinds of attention that `attention` returns."""

    def attention(self, batch):
        """`TransformerWeights` of a batch, without dropout."""
        return self._run(batch, training=False)[3]

    def encode(self, source, training=None, return_attention_scores=False):
        """int32 (B, S, P) to the decoder's memory (B, S, D) and its mask (B, S); then, if
        requested, the encoder's weights."""
        source = ops.convert_to_tensor(source, dtype="int32")
        real = ops.not_equal(source, PAD_ID)
        count = ops.sum(ops.cast(real, self.compute_dtype), axis=-1, keepdims=True)
        words = ops.sum(zero_masked(self.source_embedding(source), real), axis=-2)
        mask = count[..., 0] > 0
        inputs = words / ops.sqrt(ops.maximum(count, 1))
        keys, *weights = call_scored(
            self.encoder,
            inputs,
            mask=mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )
        return keys, mask, *weights

    def tag_logits(self, keys):
        """The encoder's output (B, S, D) to float32 (B, S, tags)."""
        return ops.cast(self.tagger(keys), "float32")

    def encoded(self, features):
        """A batch with SOURCE, and under ENCODED what the encoder made of it: keys and mask."""
        return {**features, ENCODED: self.encode(features[SOURCE], training=False)}

    def start(self, context, length):
        """Stepper: memory and state from a dict with SOURCE int32 (B, S, P), or with ENCODED."""
        context = context if ENCODED in context else self.encoded(context)
        return self.decoder.start(context[ENCODED], length)

    def _run(self, batch, training, scored_layers=None):
        """What `encode` returns, logits and `TransformerWeights`; without those of the encoder if
        `scored_layers`, those of the decoder, are given."""
        keys, mask, *encoder = self.encode(batch[SOURCE], training, scored_layers is None)
        logits, decoder, cross = self.decoder(
            batch[TOKENS],
            keys,
            value_mask=mask,
            return_attention_scores=True,
            training=training,
            scored_layers=scored_layers,
        )
        return keys, mask, logits, TransformerWeights(*encoder or (None,), decoder, cross)
