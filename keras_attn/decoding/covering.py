"""A beam search whose hypotheses are ranked by how much they say of what they should."""

from dataclasses import dataclass, replace
from typing import Any

from keras_attn.decoding.beam import Beam
from keras_attn.decoding.loop import Strategy
from keras_attn.decoding.rank_by_coverage import rank_by_coverage


@dataclass(frozen=True)
class Covering(Strategy):
    """A beam search of whose hypotheses those with the most wanted tokens come first.

    Attributes:
        beam: `Beam`; its n best are those with the most wanted tokens, see `rank_by_coverage`.
        wanted: int32 (B, W), each token once; PAD_ID for none.
    """

    beam: Beam
    wanted: Any

    @property
    def whole(self):
        """The search whose hypotheses are ranked: all of the beam."""
        return replace(self.beam, n_best=self.beam.width)

    def width_for(self, vocabulary, length):
        return self.whole.width_for(vocabulary, length)

    def begin(self, batch, width, length):
        return self.whole.begin(batch, width, length)

    def advance(self, state, candidates, time, length):
        return self.whole.advance(state, candidates, time, length)

    def done(self, state, time, length):
        return self.whole.done(state, time, length)

    def finish(self, state, history):
        result = self.whole.finish(state, history)
        return rank_by_coverage(result, self.wanted, self.beam.n_best)
