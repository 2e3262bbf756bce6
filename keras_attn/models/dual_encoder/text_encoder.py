"""A causal Transformer over a text, and the text's vector."""

import keras
from keras import ops

from keras_attn.contracts import END_ID, PAD_ID
from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.masked_layer import MaskedLayer
from keras_attn.layers.scaled_embedding import ScaledEmbedding
from keras_attn.models.base_model import config_of
from keras_attn.models.transformer.transformer_config import LEARNED, TransformerConfig
from keras_attn.models.transformer.transformer_encoder import TransformerEncoder
from keras_attn.ops.take_by_row import take_by_row


@keras.saving.register_keras_serializable(package="keras_attn")
class TextEncoder(MaskedLayer):
    """Embeddings, and a `TransformerEncoder` whose steps see those before them only.

        h = encoder(√D · E x),  vector = h at the first END_ID

    CLIP's has learned positions, 77 of them, normalize_first, biases and "quick_gelu".

    Args:
        config: `TransformerConfig`, or its fields as keywords; of its vocabularies the source's.

    Call arguments:
        tokens: int32 (B, T), START_ID, pieces, END_ID, then PAD_ID.
        return_attention_scores: bool.
        training: bool.

    Returns:
        outputs: (B, T, D), compute dtype, with the mask of the real tokens.
        weights: with return_attention_scores, tuple of N float32 (B, H, T, T), by layer.

    Raises:
        ValueError: tokens of another shape, or more than learned positions.

    Example:
        >>> encoder = TextEncoder(vocabulary_size=13, num_layers=2, hidden_dim=6, num_heads=2)
        >>> tokens = ops.array([[2, 7, 11, 3], [2, 5, 3, 0]])
        >>> vector, weights = encoder.pool(tokens)
        >>> tuple(vector.shape), [tuple(value.shape) for value in weights]
        ((2, 6), [(2, 2, 4, 4), (2, 2, 4, 4)])

    Source: Radford et al. 2021, arXiv:2103.00020, 2.4.
    """

    ranks = {"tokens": (2,)}

    def __init__(self, config=None, **kwargs):
        config = config_of(TransformerConfig, config, kwargs)
        super().__init__(**kwargs)
        self.config, policy = config, self.dtype_policy
        sizes = (config.vocabulary_size, config.hidden_dim)
        self.embedding = ScaledEmbedding(*sizes, name="embedding", dtype=policy)
        self.encoder = TransformerEncoder(config, name="encoder", dtype=policy)

    def build(self, tokens_shape=None):
        self.embedding.build()
        self.encoder.build()

    def call(self, tokens, return_attention_scores=False, training=None):
        tokens = ops.convert_to_tensor(tokens, dtype="int32")
        if self.config.positions == LEARNED:
            self.encoder.positions.check_length(tokens.shape[1])
        return self.encoder(
            self.embedding(tokens),
            mask=ops.not_equal(tokens, PAD_ID),
            return_attention_scores=return_attention_scores,
            training=training,
            use_causal_mask=True,
        )

    def pool(self, tokens, training=None, *, return_attention_scores=True):
        """One vector per text, and the attention weights of every layer.

        Args:
            tokens: as in the call.
            training: bool.
            return_attention_scores: bool. Whether there are weights, instead of ().

        Returns:
            vector: (B, D), compute dtype: the output at the first END_ID, or at the first token of
                a text without one.
            weights: as of the call.
        """
        options = {"return_attention_scores": return_attention_scores, "training": training}
        hidden, *weights = call_scored(self, tokens, **options)
        ends = ops.argmax(ops.cast(ops.equal(tokens, END_ID), "int32"), axis=-1)
        return take_by_row(hidden, ops.cast(ends, "int32")[:, None])[:, 0], *(weights or [()])

    def compute_output_shape(self, tokens_shape):
        return (*tokens_shape, self.config.hidden_dim)
