"""Where the heads of a memory wrote and read over time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_attn.contracts import END_PIECE, PLANNING_PIECE
from keras_attn.viz.page_parts import token_part
from keras_attn.viz.quantity import MEMORY
from keras_attn.viz.views.view import View


@dataclass(frozen=True)
class TrackView(View):
    """Where the heads of a memory wrote and read in each step.

    Attributes:
        name: of the view.
        steps: T strings, END_PIECE at the end of what was read, then PLANNING_PIECE for each step
            of planning, then the answer.
        write: float array (T, H, N), how much of each slot each head wrote.
        read: float array (T, R, N), how much of each slot each head read.
    """

    quantity = MEMORY
    name: str
    steps: Sequence[str]
    write: np.ndarray
    read: np.ndarray

    def figure(self, title=""):
        """A panel for each head."""
        from keras_attn.viz.head_tracks import head_tracks_figure

        steps = list(self.steps)
        begin = (
            steps.index(END_PIECE) + 1 + steps.count(PLANNING_PIECE) if END_PIECE in steps else 0
        )
        return head_tracks_figure(self.write, self.read, steps, begin)

    def parts(self):
        """One for writing, one for reading."""
        parts, titles = [], ("step", "memory")
        for name, weights in (("Writing", self.write), ("Reading", self.read)):
            slots = [f"slot {slot + 1}" for slot in range(weights.shape[-1])]
            by_head = weights.transpose(1, 0, 2)[None]
            parts.append(token_part(name, self.steps, slots, by_head, titles, MEMORY))
        return parts
