"""The sequence-to-sequence Transformer."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TOKENIZER
from keras_attn_pipelines.experiment.fields import choice, part
from keras_attn_pipelines.experiment.parts import Built
from keras_attn_pipelines.experiment.transformer_sizes import SIZES, Sizes, TransformerSizes


@part
class Transformer:
    """Transformer encoder and decoder over sequences of tokens."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE, TOKENS)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    sizes: Sizes = choice(
        "sizes and parts by flags, or those of an imported model",
        default=TransformerSizes(),
        kinds=SIZES,
        settled=True,
    )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`: one table of embeddings where both sides share a tokenizer."""
        import keras

        from keras_attn.models.transformer.transformer import Transformer
        from keras_attn.models.transformer.transformer_config import ALL, DECODER, TransformerConfig

        keras.utils.set_random_seed(seed)
        target = vocabulary_sizes[TOKENIZER]
        source = vocabulary_sizes.get(SOURCE_TOKENIZER)
        arguments = {"tied": DECODER if source else ALL, **self.sizes.arguments()}
        config = TransformerConfig(
            vocabulary_size=source or target, target_vocabulary_size=target, **arguments
        )
        model = Transformer(config, name="transformer")
        model.build()
        layers = f"{config.num_layers} + {config.decoder_layers} layers"
        return Built(model, f"a Transformer of {layers}, width {config.hidden_dim}")
