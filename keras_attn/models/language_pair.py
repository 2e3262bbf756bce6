"""What the configs of models from text to text have in common."""

from dataclasses import dataclass

from keras_attn.checks import check_choice, check_sizes

NOTHING, DECODER, ALL = "none", "decoder", "all"
"""Which tables are one: none, the decoder's input and output, or all embeddings."""


@dataclass(frozen=True)
class LanguagePair:
    """Abstract: two vocabularies, and which of their tables are tied, a field of the subclass."""

    vocabulary_size: int
    target_vocabulary_size: int | None = None

    @property
    def target_size(self):
        """V of the target."""
        return self.target_vocabulary_size or self.vocabulary_size

    def check_vocabularies(self):
        """Raises ValueError for a size < 1, an unknown `tied`, or one that does not suit them."""
        check_sizes(vocabulary_size=self.vocabulary_size)
        if self.target_vocabulary_size is not None:
            check_sizes(target_vocabulary_size=self.target_vocabulary_size)
        check_choice("tied", self.tied, (NOTHING, DECODER, ALL))
        if self.tied == ALL and self.target_size != self.vocabulary_size:
            raise ValueError(
                "Expected one vocabulary for tied='all'. Received: target_vocabulary_size="
                f"{self.target_vocabulary_size}, vocabulary_size={self.vocabulary_size}"
            )
