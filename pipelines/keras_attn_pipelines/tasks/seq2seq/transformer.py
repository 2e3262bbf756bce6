"""The sequence-to-sequence Transformer."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TOKENIZER
from keras_attn_pipelines.experiment.fields import part
from keras_attn_pipelines.experiment.parts import Built
from keras_attn_pipelines.experiment.transformer_sizes import TransformerSizes


@part
class Transformer:
    """Transformer encoder and decoder over sequences of tokens."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE, TOKENS)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    sizes: TransformerSizes = TransformerSizes()

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`: one table of embeddings where both sides share a tokenizer."""
        import keras

        from keras_attn.models.transformer.transformer import Transformer
        from keras_attn.models.transformer.transformer_config import ALL, DECODER, TransformerConfig

        keras.utils.set_random_seed(seed)
        target = vocabulary_sizes[TOKENIZER]
        source = vocabulary_sizes.get(SOURCE_TOKENIZER)
        config = TransformerConfig(
            vocabulary_size=source or target,
            target_vocabulary_size=target,
            tied=DECODER if source else ALL,
            **self.sizes.arguments(),
        )
        model = Transformer(config, name="transformer")
        model.build()
        layers, width = self.sizes.num_layers, self.sizes.hidden_dim
        return Built(model, f"a Transformer of {layers} + {layers} layers, width {width}")
