"""The convolutional sequence-to-sequence model."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TOKENIZER
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Built

LEARNED, SINUSOIDAL = "learned", "sinusoidal"


@part
class Convolutional:
    """Convolutional encoder and decoder over sequences of tokens, attending in every layer."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE, TOKENS)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    num_encoder_layers: int = option(
        "convolutions in the encoder", default=4, settled=True, least=1
    )
    num_decoder_layers: int = option(
        "convolutions in the decoder, each with attention", default=3, settled=True, least=1
    )
    hidden_dim: int = option("channels of the convolutions", default=256, settled=True, least=1)
    kernel_size: int = option(
        "width of the convolutions in tokens, odd", default=3, settled=True, least=1
    )
    embedding_dim: int = option("width of the embeddings", default=256, settled=True, least=1)
    positions: str = option(
        "positions: one learned vector for each, or sinusoids",
        default=LEARNED,
        settled=True,
        choices=(LEARNED, SINUSOIDAL),
    )
    max_sequence_length: int = option(
        "number of learned positions",
        default=1024,
        settled=True,
        needs={"positions": LEARNED},
        least=1,
    )
    tied: bool = option(
        "whether the output shares the embeddings, of both sides where they share a tokenizer",
        default=True,
        settled=True,
    )
    dropout: float = option("dropout probability", default=0.2, least=0, below=1)

    def check(self):
        """Raises ValueError for an even kernel_size, which the encoder cannot center."""
        if self.kernel_size % 2 == 0:
            raise ValueError(
                f"Expected an odd kernel_size. Received: kernel_size={self.kernel_size}"
            )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        import keras

        from keras_attn.models.conv_seq2seq.conv_seq2seq import ConvSeq2Seq
        from keras_attn.models.conv_seq2seq.conv_seq2seq_config import ConvSeq2SeqConfig
        from keras_attn.models.transformer.transformer_config import ALL, DECODER, NOTHING

        keras.utils.set_random_seed(seed)
        target = vocabulary_sizes[TOKENIZER]
        source = vocabulary_sizes.get(SOURCE_TOKENIZER)
        layer = (self.hidden_dim, self.kernel_size)
        config = ConvSeq2SeqConfig(
            vocabulary_size=source or target,
            target_vocabulary_size=target,
            encoder_layers=(layer,) * self.num_encoder_layers,
            decoder_layers=(layer,) * self.num_decoder_layers,
            embedding_dim=self.embedding_dim,
            output_dim=self.embedding_dim,
            dropout=self.dropout,
            positions=self.positions,
            max_sequence_length=self.max_sequence_length,
            tied=(DECODER if source else ALL) if self.tied else NOTHING,
        )
        model = ConvSeq2Seq(config, name="conv_seq2seq")
        model.build()
        layers = f"{self.num_encoder_layers} + {self.num_decoder_layers} layers"
        return Built(model, f"a convolutional model of {layers}, {self.hidden_dim} channels")
