"""The Transformer parser."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE, TAG_LOGITS, TOKENS
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TAGS, TOKENIZER
from keras_attn_pipelines.experiment.fields import part
from keras_attn_pipelines.experiment.parts import Built
from keras_attn_pipelines.experiment.transformer_sizes import TransformerSizes


@part
class Parser:
    """A Transformer from words to the symbols of their tree, with a tag for each word."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE, TOKENS)
    answers: ClassVar[tuple[str, ...]] = (LOGITS, TAG_LOGITS)

    sizes: TransformerSizes = TransformerSizes()

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        import keras

        from keras_attn.models.parser.parser import Parser
        from keras_attn.models.transformer.transformer_config import DECODER, TransformerConfig
        from keras_attn.text.symbol_table import SPECIAL_SYMBOLS

        keras.utils.set_random_seed(seed)
        config = TransformerConfig(
            vocabulary_size=vocabulary_sizes[SOURCE_TOKENIZER],
            target_vocabulary_size=vocabulary_sizes[TOKENIZER],
            tied=DECODER,
            **self.sizes.arguments(),
        )
        word = SPECIAL_SYMBOLS  # WORD is the first symbol in its table.
        model = Parser(config, vocabulary_sizes[TAGS], counted_token=word, name="parser")
        model.build()
        layers, width = self.sizes.num_layers, self.sizes.hidden_dim
        return Built(model, f"a Transformer of {layers} + {layers} layers, width {width}")
