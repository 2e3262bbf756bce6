"""Exported models that take texts, and among them classifiers."""

from keras_attn.contracts import ERROR, LABEL_SCORES, LABELS, SOURCE, TARGET
from keras_attn.viz.shaded_text import ShadedText, shaded_text_figure
from keras_attn_pipelines.saved.saved_model import BATCH, Saved, check_kind, write_figure


class SavedTexts(Saved):
    """Abstract: an exported model that takes texts."""

    scored = (SOURCE, TARGET)

    def reasons(self, inputs):
        """See `Saved`: texts."""
        return [""] * len(inputs)

    def answers(self, inputs):
        """See `Saved`: texts."""
        for start in range(0, len(inputs), BATCH):
            texts = [encoded(text) for text in inputs[start : start + BATCH]]
            yield from self.ask("serving_default", source=texts, batch=BATCH)


class SavedTextClassifier(SavedTexts):
    """An exported classifier of texts."""

    answered = (LABELS, LABEL_SCORES)

    def score_pair(self, first, second):
        """See `Saved`: not supported."""
        raise ValueError(
            "Expected a SavedModel with a signature 'score'; predict prints the probabilities of "
            f"a classifier. Received: {self.folder}"
        )

    def explained(self, asked, out, heads=None, word=None, layer=None):
        """See `Saved`: a text; neither heads nor words; PNG or SVG.

        Draws the text, each word shaded by its weight in the pooling.
        """
        if (heads, word, layer) != (None, None, None):
            raise ValueError(
                "Expected neither heads nor a word for a classifier of texts. "
                f"Received: heads={heads!r}, word={word!r}, layer={layer}"
            )
        check_kind(out, (".png", ".svg"))
        answer = self.ask("explain", source=[encoded(asked)])[0]
        if error := answer[ERROR].decode():
            raise ValueError(f"{asked!r:.80}: {error}")
        shaded = ShadedText.of(answer)
        write_figure(shaded_text_figure(shaded), out)
        return shaded.label


def encoded(text: str) -> bytes:
    """A text as bytes, surrogates as the bytes they stand for."""
    return text.encode(errors="surrogateescape")
