"""Encoder, pooling and logits as a classifier of texts."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE
from keras_attn_pipelines.data.vocabulary import LABELS, TOKENIZER
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Built

EMBEDDINGS, RECURRENT, CONVOLUTIONAL, TRANSFORMER = (
    "embeddings",
    "recurrent",
    "convolutional",
    "transformer",
)
ATTENTION, MEAN = "attention", "mean"
MOST_BUCKETS = 2**24


@part
class TextEncoder:
    """Embeddings, an encoder and pooling, with a head for the labels."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE,)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    encoder: str = option(
        "what the pooling sees: the embeddings themselves, or a bidirectional LSTM, convolutions "
        "or a Transformer over them",
        default=RECURRENT,
        settled=True,
        choices=(EMBEDDINGS, RECURRENT, CONVOLUTIONAL, TRANSFORMER),
    )
    pooling: str = option(
        "how a text becomes a vector", default=ATTENTION, settled=True, choices=(ATTENTION, MEAN)
    )
    embedding_dim: int = option(
        "width of embeddings, and of a Transformer", default=64, settled=True, least=1
    )
    hidden_dim: int = option(
        "units of the LSTM in each direction, filters, width of a Transformer's feed-forward "
        "layers, and of the attention's score",
        default=64,
        settled=True,
        needs={"encoder": (RECURRENT, CONVOLUTIONAL, TRANSFORMER), "pooling": ATTENTION},
        least=1,
    )
    num_layers: int = option(
        "layers of the LSTM or the Transformer",
        default=1,
        settled=True,
        needs={"encoder": (RECURRENT, TRANSFORMER)},
        least=1,
    )
    num_heads: int = option(
        "attention heads of the Transformer",
        default=4,
        settled=True,
        needs={"encoder": TRANSFORMER},
        least=1,
    )
    kernel_size: int = option(
        "width of the convolutions in pieces",
        default=3,
        settled=True,
        needs={"encoder": CONVOLUTIONAL},
        least=1,
    )
    bigram_buckets: int = option(
        "buckets that embeddings of pairs of neighboring pieces are hashed into; 0: no pairs",
        default=131_072,
        settled=True,
        least=0,
        most=MOST_BUCKETS,
    )
    dropout: float = option("dropout probability", default=0.5, least=0, below=1)

    def check(self):
        """Raises ValueError unless the heads divide the width."""
        if self.encoder == TRANSFORMER and self.embedding_dim % self.num_heads:
            raise ValueError(
                "Expected embedding_dim divisible by num_heads. "
                f"Received: embedding_dim={self.embedding_dim}, num_heads={self.num_heads}"
            )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        import keras

        from keras_attn.layers import AdditiveAttention, AttentionPooling
        from keras_attn.models.text_classifier.text_classifier import TextClassifier

        keras.utils.set_random_seed(seed)
        pooling = None
        if self.pooling == ATTENTION:
            score = AdditiveAttention(self.hidden_dim, name="attention")
            pooling = AttentionPooling(score, name="pooling")
        pieces = vocabulary_sizes[TOKENIZER]
        model = TextClassifier(
            vocabulary_size=pieces,
            num_classes=vocabulary_sizes[LABELS],
            encoder=self._encoder(pieces),
            pooling=pooling,
            embedding_dim=self.embedding_dim,
            dropout=self.dropout,
            scale_embeddings=self.encoder == TRANSFORMER,
            bigram_buckets=self.bigram_buckets,
            name="text_classifier",
        )
        model.build()
        slow = () if pooling is None else (pooling.name,)
        return Built(model, f"{self.pooling} pooling over {self._words()}", slow_layers=slow)

    def _encoder(self, pieces):
        """The Keras layer between embeddings and pooling, or None."""
        from keras_attn.layers import MaskedConvolution
        from keras_attn.models.recurrent.recurrent_encoder import RecurrentEncoder
        from keras_attn.models.transformer.transformer_encoder import TransformerEncoder

        if self.encoder == RECURRENT:
            return RecurrentEncoder(
                vocabulary_size=pieces,
                hidden_dim=self.hidden_dim,
                num_encoder_layers=self.num_layers,
                dropout=self.dropout,
                name="encoder",
            )
        if self.encoder == CONVOLUTIONAL:
            return MaskedConvolution(self.hidden_dim, self.kernel_size, name="encoder")
        if self.encoder == TRANSFORMER:
            width = self.embedding_dim // self.num_heads
            return TransformerEncoder(
                vocabulary_size=pieces,
                num_layers=self.num_layers,
                hidden_dim=self.embedding_dim,
                intermediate_dim=self.hidden_dim,
                num_heads=self.num_heads,
                key_dim=width,
                value_dim=width,
                dropout=self.dropout,
                normalize_first=True,
                name="encoder",
            )
        return None

    def _words(self):
        """The encoder in a few words."""
        return {
            EMBEDDINGS: f"embeddings of width {self.embedding_dim}",
            RECURRENT: f"a bidirectional LSTM, layers: {self.num_layers}, units: {self.hidden_dim}",
            CONVOLUTIONAL: f"{self.hidden_dim} convolutions of width {self.kernel_size}",
            TRANSFORMER: f"a Transformer, layers: {self.num_layers}, width {self.embedding_dim}",
        }[self.encoder]
