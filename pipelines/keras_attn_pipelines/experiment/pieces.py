"""Sizes of a tokenizer, a part inside tasks."""

from collections.abc import Iterable
from typing import Any

from keras_attn_pipelines.experiment.fields import option, part


@part
class Pieces:
    """A tokenizer of pieces of words."""

    vocabulary_size: int = option(
        "maximum vocabulary size of the tokenizer", default=8000, settled=True, most=2**24
    )
    lowercase: bool = option("lowercase texts", default=False, settled=True)

    def learn(self, texts: Iterable[str]) -> Any:
        """A `Tokenizer` of texts."""
        from keras_attn.text.tokenizer import Tokenizer

        return Tokenizer.learn(texts, self.vocabulary_size, self.lowercase)

    def notes(self, **tokenizers: Any) -> list[str]:
        """Lines of the report on tokenizers, by name, that the texts could not fill."""
        return [
            f"{name}: {tokenizer.vocabulary_size} {tokenizer.unit} instead of "
            f"{self.vocabulary_size}, the texts have no more"
            for name, tokenizer in tokenizers.items()
            if tokenizer.vocabulary_size < self.vocabulary_size
        ]
