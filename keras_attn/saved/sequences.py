"""Exported models that answer algorithmic problems."""

from keras_attn.contracts import (
    END_PIECE,
    LONGER,
    PLANNING_PIECE,
    READ_WEIGHTS,
    SEQUENCE,
    STEPS,
    TEXT,
    WRITE_WEIGHTS,
)
from keras_attn.saved.results import Drawing
from keras_attn.saved.saved_model import Saved, encoded_text, refuse_choices
from keras_attn.viz.explorer import ExplorerPage, TokenView
from keras_attn.viz.head_tracks import head_tracks_figure

LONGER_TEXT = "longer than the problems that the model was trained on"


class SavedSequences(Saved):
    """An exported model that answers algorithmic problems.

    An input is a text, the words of a problem.
    """

    scored = (SEQUENCE, TEXT)

    def fed(self, item):
        """See `Saved`: a text."""
        return {SEQUENCE: encoded_text(item)}

    def drawn(self, asked, heads, word, layer):
        """See `Saved`: a panel for each head, where it wrote or read in each step."""
        refuse_choices("a model of algorithmic problems", heads=heads, word=word, layer=layer)
        answer = self.answer_of("explain", asked)
        _, write, read = self._tracks(answer)
        figure = tracks_figure(answer)
        note = f" ({LONGER_TEXT})" if answer[LONGER] else ""
        return Drawing(f"{answer[TEXT][0].decode()}{note}", figure, {"write": write, "read": read})

    def explore(self, asked):
        """See `Saved`: the slots that each head wrote and read, step by step."""
        answer = self.answer_of("explain", asked)
        steps, *tracks = self._tracks(answer)
        views = []
        for name, weights in zip(("Writing", "Reading"), tracks):
            slots = [f"slot {slot + 1}" for slot in range(weights.shape[-1])]
            by_head = weights.transpose(1, 0, 2)[None]
            views.append(TokenView(name, steps, slots, by_head, ("step", "memory")))
        problem = encoded_text(asked).decode(errors="replace")
        return ExplorerPage(problem, self.best_of(answer), views)

    def _tracks(self, answer):
        """The steps of an answer, and the weights (T, heads, slots) of writing and of reading."""
        if WRITE_WEIGHTS not in answer:
            raise ValueError(
                "Expected a model with a memory, whose heads can be drawn. "
                f"Received: {self.folder}, a model without one"
            )
        return tracks_of(answer)


def tracks_figure(answer):
    """A panel for each head, where it wrote or read in each step.

    Args:
        answer: one answer of a sequence service's `explain`, as NumPy arrays.
    """
    steps, write, read = tracks_of(answer)
    begin = steps.index(END_PIECE) + 1 + steps.count(PLANNING_PIECE)
    return head_tracks_figure(write, read, steps, begin)


def tracks_of(answer):
    """The steps of an answer, and the weights (T, heads, slots) of writing and of reading."""
    steps = [step.decode() for step in answer[STEPS] if step]
    return steps, *(answer[key][: len(steps)] for key in (WRITE_WEIGHTS, READ_WEIGHTS))
