"""The sequence-to-sequence Transformer."""

import json
from typing import Any, ClassVar, Protocol

from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TOKENIZER
from keras_attn_pipelines.experiment.fields import choice, option, part
from keras_attn_pipelines.experiment.parts import Built
from keras_attn_pipelines.experiment.transformer_sizes import TransformerSizes


class Sizes(Protocol):
    """Layers, widths and parts of a Transformer."""

    def arguments(self) -> dict[str, Any]:
        """Arguments of `TransformerConfig`, except vocabularies."""


@part
class PretrainedSizes:
    """Those of a model that was trained elsewhere."""

    architecture: str = option(
        "of --sizes pretrained: arguments of TransformerConfig as JSON, which keras-attn import "
        "writes",
        default="{}",
        settled=True,
    )
    dropout: float = option("dropout probability", default=0.1, least=0, below=1)
    attention_dropout: float = option(
        "dropout probability for attention weights", default=0.0, least=0, below=1
    )

    def check(self):
        """Raises ValueError unless the arguments are an object of JSON."""
        try:
            arguments = json.loads(self.architecture)
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            raise ValueError(
                f"Expected architecture as a JSON object. Received: {self.architecture!r:.80}"
            )

    def arguments(self) -> dict[str, Any]:
        """See `Sizes`."""
        dropout = {"dropout": self.dropout, "attention_dropout": self.attention_dropout}
        return {**json.loads(self.architecture), **dropout}


SIZES = {"own": TransformerSizes, "pretrained": PretrainedSizes}


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
