"""A classifier of texts."""

import keras
from keras import ops

from keras_attn.checks import check_flag, check_probability, check_sizes
from keras_attn.contracts import PAD_ID
from keras_attn.layers.attention_pooling import AttentionPooling
from keras_attn.layers.masked_layer import sequence_mask
from keras_attn.layers.ngram_embedding import NGramEmbedding
from keras_attn.layers.scaled_embedding import ScaledEmbedding
from keras_attn.models.base_model import BaseModel
from keras_attn.ops.attend import attend
from keras_attn.ops.masks import zero_masked


@keras.saving.register_keras_serializable(package="keras_attn")
class TextClassifier(BaseModel):
    """Embeddings, an encoder, pooling by attention and logits.

        h = encoder(E x + E₂ bigrams(x)),  α = pooling weights,  logits = W Σ_s α_s h_s + b

    Args:
        vocabulary_size: int > 0. V.
        num_classes: int > 0. C.
        encoder: Keras layer from (B, S, E) to (B, S, F) under a mask, such as a
            `RecurrentEncoder`, a `TransformerEncoder`, a `MaskedConvolution`; None pools the
            embeddings themselves.
        pooling: `AttentionPooling`; None is the mean over the real tokens.
        embedding_dim: int > 0. E.
        dropout: probability. On the embeddings and the pooled vector.
        scale_embeddings: bool. Whether embeddings start with variance 1, see `ScaledEmbedding`. An
            encoder that adds positions to its inputs needs that; the others learn more from small
            data with Keras' small embeddings, which leave rare words little say.
        bigram_buckets: int ≥ 0. Buckets of an `NGramEmbedding` of pairs of neighbors, which is
            added to the embeddings; 0 for none.

    Call arguments:
        tokens: int32 (B, S), PAD_ID at the end.

    Returns:
        logits: float32 (B, C).

    Raises:
        ValueError: a size < 1, bigram_buckets < 0, or a pooling that is no AttentionPooling.

    Example:
        >>> model = TextClassifier(13, 3, embedding_dim=5)
        >>> tuple(model(ops.ones((2, 7), "int32")).shape)
        (2, 3)
    """

    custom_config = ("dropout",)

    def __init__(
        self,
        vocabulary_size,
        num_classes,
        encoder=None,
        pooling=None,
        embedding_dim=128,
        dropout=0.3,
        scale_embeddings=False,
        bigram_buckets=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(vocabulary_size=vocabulary_size, num_classes=num_classes)
        check_sizes(embedding_dim=embedding_dim)
        check_probability("dropout", dropout)
        if bigram_buckets:
            check_sizes(bigram_buckets=bigram_buckets)
        if pooling is not None and not isinstance(pooling, AttentionPooling):
            raise ValueError(
                f"Expected an AttentionPooling, or None. Received: pooling={pooling!r}"
            )
        self.num_classes, self.encoder, self.pooling = num_classes, encoder, pooling
        self.vocabulary_size, self.embedding_dim = vocabulary_size, embedding_dim
        self.bigram_buckets = bigram_buckets
        policy = self.dtype_policy
        self.scale_embeddings = check_flag("scale_embeddings", scale_embeddings)
        kind = ScaledEmbedding if scale_embeddings else keras.layers.Embedding
        self.embedding = kind(vocabulary_size, embedding_dim, name="embedding", dtype=policy)
        self.bigrams = None
        if bigram_buckets:
            self.bigrams = NGramEmbedding(
                bigram_buckets, embedding_dim, name="bigrams", dtype=policy
            )
        self.dropout = keras.layers.Dropout(dropout, name="dropout", dtype=policy)
        self.logits = keras.layers.Dense(num_classes, name="logits", dtype="float32")

    def build(self, input_shape=(None, None)):
        self.embedding.build()
        if self.bigrams is not None:
            self.bigrams.build()
        shape = (None, None, self.embedding.output_dim)
        if self.encoder is not None:
            if not self.encoder.built:
                self.encoder.build(shape)
            encoded = self.encoder.compute_output_spec(keras.KerasTensor(shape))
            shape = keras.tree.flatten(encoded)[0].shape
        if self.pooling is not None and not self.pooling.built:
            self.pooling.build(shape)
        self.logits.build((None, shape[-1]))

    def call(self, tokens, training=None):
        return self._run(tokens, training)[0]

    def pooled_weights(self, tokens):
        """Logits, and how much of each position is in the pooled vector.

        Args:
            tokens: as in the call.

        Returns:
            logits: float32 (B, C).
            weights: float32 (B, S); rows sum to 1, or are all 0 where there is only padding.
        """
        return self._run(tokens, training=False)[:2]

    def contributions(self, tokens):
        """Logits, pooling weights, and what each position adds to the most probable label's logit.

            contribution_s = α_s h_s · (W_y − mean of W over labels)

        Their sum and that of the biases is the label's logit less the mean of all logits.

        Args:
            tokens: as in the call.

        Returns:
            logits: float32 (B, C).
            weights: float32 (B, S), see `pooled_weights`.
            contributions: float32 (B, S), 0 for padding.
        """
        logits, weights, hidden = self._run(tokens, training=False)
        kernel = ops.convert_to_tensor(self.logits.kernel)
        above_mean = ops.transpose(kernel - ops.mean(kernel, axis=1, keepdims=True))
        directions = ops.take(above_mean, ops.argmax(logits, axis=-1), axis=0)
        toward = ops.einsum("bsf,bf->bs", ops.cast(hidden, "float32"), directions)
        return logits, weights, weights * toward

    def _run(self, tokens, training):
        tokens = ops.convert_to_tensor(tokens, dtype="int32")
        mask = ops.not_equal(tokens, PAD_ID)
        hidden = self.embedding(tokens)
        if self.bigrams is not None:
            hidden += self.bigrams(tokens)
        hidden = self.dropout(hidden, training=training)
        if self.encoder is not None:
            hidden = keras.tree.flatten(self.encoder(hidden, mask=mask, training=training))[0]
        mask = sequence_mask(hidden, mask=mask)
        hidden = zero_masked(hidden, mask)
        if self.pooling is None:
            same = ops.zeros_like(tokens, dtype="float32")[:, None, :]
            pooled, weights = (array[:, 0] for array in attend(same, hidden, mask[:, None, :]))
        else:
            pooled, weights = self.pooling(hidden, mask=mask, return_attention_scores=True)
        return self.logits(self.dropout(pooled, training=training)), weights, hidden

    def float32_layers(self):
        """Layers that compute in float32 under any precision: that of the logits."""
        return [self.logits]

    def input_signature(self):
        return keras.InputSpec(dtype="int32", shape=(None, None))

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout.rate}
