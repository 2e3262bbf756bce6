"""Exported models that answer questions about stories."""

import re

import numpy as np

from keras_attn.contracts import (
    DROPPED,
    LABEL_SCORES,
    LABELS,
    QUESTION,
    SENTENCES,
    STORY,
    WEIGHTS,
)
from keras_attn.saved.results import Drawing
from keras_attn.saved.saved_model import PROBABILITY, Saved, encoded_text, refuse_choices
from keras_attn.serving.export import read_metadata
from keras_attn.viz.alignment import matrix_figure
from keras_attn.viz.explorer import ExplorerPage, TokenView

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


class SavedQuestions(Saved):
    """An exported model that answers questions about stories.

    An input is a text whose last sentence is the question, and whose other sentences are the story.
    """

    scored = (STORY, QUESTION)
    answered = (LABELS, LABEL_SCORES)

    def fed(self, item):
        """See `Saved`: a text."""
        return dict(zip(self.scored, story_and_question(item)))

    def drawn(self, asked, heads, word, layer):
        """See `Saved`: a row for each sentence of the story and a column for each hop or head."""
        refuse_choices("a model that answers questions", heads=heads, word=word, layer=layer)
        answer = self.answer_of("explain", asked)
        dropped = int(answer[DROPPED])
        note = f" ({dropped_text(dropped)})" if dropped else ""
        text = f"{answer[LABELS][0].decode()}{note}"
        shown = hops_of(answer, self._reader())
        return Drawing(text, matrix_figure(*shown), shown[0])

    def explore(self, asked):
        """See `Saved`: the sentences that each hop or head read."""
        answer, reader = self.answer_of("explain", asked), self._reader()
        weights, sentences, names = hops_of(answer, reader)
        rows = f"{reader}s"
        view = TokenView(
            rows.capitalize(), names, sentences, weights.T[None, None], (rows, "story")
        )
        source = encoded_text(asked).decode(errors="replace")
        return ExplorerPage(source, self.best_of(answer), [view], PROBABILITY)

    def _reader(self):
        return read_metadata(self.folder).get("reader", "hop")


def hops_of(answer, reader):
    """What the hops or heads read, as `matrix_figure` takes it.

    Args:
        answer: one answer of a question service's `explain`, as NumPy arrays.
        reader: "hop" or "head".

    Returns:
        Weights (sentences, hops), the sentences, and the names of the hops.
    """
    sentences = [sentence.decode() for sentence in answer[SENTENCES] if sentence]
    weights = np.transpose(answer[WEIGHTS])[: len(sentences)]
    return weights, sentences, [f"{reader} {hop + 1}" for hop in range(weights.shape[1])]


def dropped_text(count: int) -> str:
    """Says that the oldest sentences of a story were not read."""
    sentences = "sentence was" if count == 1 else f"{count} sentences were"
    return f"the oldest {sentences} not read, the memory has no room for them"


def story_and_question(text: str) -> tuple[bytes, bytes]:
    """A story, a sentence on each line, and the question, which is the last sentence of a text.

    Raises:
        ValueError: no text.

    Example:
        >>> story_and_question("Mary went home. John left. Where is Mary?")
        (b'Mary went home.\\nJohn left.', b'Where is Mary?')
    """
    text = encoded_text(text).decode(errors="surrogateescape")
    sentences = [part.strip() for part in SENTENCE_END.split(text) if part.strip()]
    return encoded_text("\n".join(sentences[:-1])), encoded_text("".join(sentences[-1:]))
