"""Exported models that say facts in sentences."""

import numpy as np

from keras_attn.contracts import FACTS, TARGET
from keras_attn.saved.results import Drawing
from keras_attn.saved.saved_model import Saved, encoded_text, refuse_choices
from keras_attn.text.fact_json import facts_of, parsed_facts
from keras_attn.viz.alignment import Alignment
from keras_attn.viz.explorer import ExplorerPage, TokenView
from keras_attn.viz.fact_matrix import FIRST, FactMatrix, facts_figure, links_figure

LINKED = "links"


class SavedFacts(Saved):
    """An exported model that says facts in sentences.

    An input is a list of triples, or JSON: a list of triples, or an object with "triples" or with a
    "table" of fields and values.
    """

    scored = (FACTS, TARGET)

    def reason(self, item):
        """See `Saved`: malformed JSON, or no facts in it."""
        try:
            _facts(item)
        except ValueError as error:
            return str(error)
        return ""

    def fed(self, item):
        """See `Saved`: triples, or JSON."""
        facts = _facts(item)
        strings = np.full((len(facts), 3), b"", object)
        for row, fact in enumerate(facts):
            strings[row] = [encoded_text(part) for part in fact]
        return {FACTS: strings}

    def drawn(self, asked, heads, word, layer):
        """See `Saved`: a row for each word and a column for each fact; with heads="links", what the
        link matrix expects after each fact."""
        refuse_choices("a model that says facts", word=word, layer=layer)
        if heads not in (None, LINKED):
            raise ValueError(f"Expected heads={LINKED!r} or none. Received: heads={heads!r}")
        matrix = FactMatrix.of(self.answer_of("explain", asked), _facts(asked))
        figure = facts_figure(matrix) if heads is None else links_figure(matrix)
        return Drawing(matrix.text, figure, matrix)

    def explore(self, asked):
        """See `Saved`: which facts and which of their words each word came from, and the links."""
        answer = self.answer_of("explain", asked)
        matrix, words = FactMatrix.of(answer, _facts(asked)), Alignment.of(answer).in_words()
        titles, followed = ("answer", "facts"), ("after", "the next fact")
        rows = (FIRST, *matrix.facts)
        views = [
            TokenView("Facts", matrix.words, matrix.facts, matrix.weights[None, None], titles),
            TokenView("Words", words.target, words.source, words.weights[None, None], titles),
            TokenView("Links", rows, matrix.facts, matrix.links[None, None], followed),
        ]
        return ExplorerPage("; ".join(matrix.facts), self.best_of(answer), views)


def _facts(item):
    """The facts of an input: triples, or JSON.

    Raises:
        ValueError: no facts.
    """
    if isinstance(item, bytes):
        item = item.decode(errors="surrogateescape")
    return parsed_facts(item) if isinstance(item, str) else facts_of(item)
