"""The graph-to-text Transformer with order planning and copying."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn_pipelines.data.vocabulary import FIELDS, TOKENIZER
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Built
from keras_attn_pipelines.experiment.transformer_sizes import TransformerSizes


@part
class GraphTransformer:
    """Transformer over the graph of facts, whose decoder plans their order and copies names."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE, TOKENS)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    sizes: TransformerSizes = TransformerSizes()
    content_least: float = option(
        "least weight of content-based attention; the rest is link-based",
        default=0.5,
        settled=True,
        least=0,
        most=1,
    )
    content_most: float = option(
        "greatest weight of content-based attention; 1 for this and for content_least: no links",
        default=0.7,
        settled=True,
        least=0,
        most=1,
    )
    copies: bool = option("whether pieces of the facts can be copied", default=True, settled=True)
    longest_run: int = option(
        "up to how many copied pieces are counted to find the one that follows; 0: none",
        default=0,
        settled=True,
        needs={"copies": True},
        least=0,
    )

    def check(self):
        """Raises ValueError for bounds of the content's weight that are not in order."""
        if self.content_least > self.content_most:
            raise ValueError(
                "Expected content_least <= content_most. Received: "
                f"content_least={self.content_least}, content_most={self.content_most}"
            )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        import keras

        from keras_attn.layers import CopyMixture, HybridAttention, MultiplicativeAttention
        from keras_attn.models.data_to_text.data_to_text import DataToText
        from keras_attn.models.transformer.transformer_config import TransformerConfig

        keras.utils.set_random_seed(seed)
        config = TransformerConfig(
            vocabulary_size=vocabulary_sizes[TOKENIZER], **self.sizes.arguments()
        )
        # Scores begin with a variance of 1.
        initializer = keras.initializers.RandomNormal(stddev=1 / config.hidden_dim)

        def content(name):
            return MultiplicativeAttention(initializer.clone(), name=name)

        attention = HybridAttention(
            content("content"),
            vocabulary_sizes[FIELDS],
            config.key_dim,
            self.content_least,
            self.content_most,
            name="attention",
        )
        copying = None
        if self.copies:
            run = self.longest_run
            copying = CopyMixture(content("pointer"), longest_run=run, name="copying")
        model = DataToText(config, attention, copying, name="data_to_text")
        model.build()
        layers, width = self.sizes.num_layers, self.sizes.hidden_dim
        links = "with" if self.content_least < 1 else "without"
        copying = "with" if self.copies else "without"
        return Built(
            model,
            f"a Transformer over graphs of {layers} + {layers} layers, width {width}, "
            f"{links} link-based attention, {copying} copying",
        )
