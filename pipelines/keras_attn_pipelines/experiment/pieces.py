"""Sizes of a tokenizer, a part inside tasks."""

from collections.abc import Iterable, Sequence
from typing import Any

from keras_attn_pipelines.experiment.fields import option, part


@part
class Pieces:
    """A tokenizer of pieces of words."""

    vocabulary_size: int | None = option(
        "maximum vocabulary size of the tokenizer (default: what the texts support, up to 8000)",
        default=None,
        settled=True,
        most=2**24,
    )
    lowercase: bool = option("lowercase texts", default=False, settled=True)

    def learn(self, texts: Iterable[str], counted: Sequence[str] | None = None) -> Any:
        """A `Tokenizer` of texts.

        Args:
            texts: to learn from.
            counted: texts that decide the default size; `texts` if None.
        """
        from keras_attn.text.tokenizer import Tokenizer, supported_size

        size = self.vocabulary_size
        if size is None and counted:
            size = supported_size(counted)
        return Tokenizer.learn(texts, size, self.lowercase)

    def notes(self, **tokenizers: Any) -> list[str]:
        """Lines of the report on tokenizers, by name, that the texts could not fill."""
        from keras_attn.text.tokenizer import MOST_PIECES

        return [
            f"{name}: {tokenizer.vocabulary_size} {tokenizer.unit} instead of {most}, "
            f"the texts {'have' if self.vocabulary_size else 'support'} no more"
            for name, tokenizer in tokenizers.items()
            if tokenizer.vocabulary_size < (most := self.vocabulary_size or MOST_PIECES)
        ]
