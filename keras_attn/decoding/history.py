"""What a decoding loop writes down, and how hypotheses are read back from it."""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.contracts import END_ID, PAD_ID
from keras_attn.ops.scan import scan

DEAD = -1e9
"""Score of a hypothesis that does not exist."""


class Selection(NamedTuple):
    """What a strategy chose at one step.

    Attributes:
        tokens: int32 (B, K). The token that now ends hypothesis k.
        parents: int32 (B, K). The hypothesis that it extends.
        token_scores: float32 (B, K). Log-probability of the token, nats.
    """

    tokens: Any
    parents: Any
    token_scores: Any


class History(NamedTuple):
    """The selections of all steps; nothing is reordered when beams are.

    Attributes:
        tokens: int32 (T, B, K).
        parents: int32 (T, B, K).
        token_scores: float32 (T, B, K).
        weights: float32 (T, B, K, S), by the hypothesis that was extended; None if not asked for.
    """

    tokens: Any
    parents: Any
    token_scores: Any
    weights: Any

    @classmethod
    def empty(cls, length, batch, width, locations):
        """A history of `length` steps, PAD_ID and zeros; no weights where `locations` is None."""
        shape = (length, batch, width)
        return cls(
            ops.full(shape, PAD_ID, dtype="int32"),
            ops.zeros(shape, "int32"),
            ops.zeros(shape, "float32"),
            None if locations is None else ops.zeros((*shape, locations), "float32"),
        )

    @classmethod
    def of(cls, tensors):
        """The history whose `tensors` these are."""
        return cls(*tensors, *[None] * (len(cls._fields) - len(tensors)))

    def tensors(self):
        """The parts that are not None, to be carried through a loop."""
        return tuple(part for part in self if part is not None)

    def write(self, time, selection, weights):
        """This history with step `time` filled in."""
        values = (*selection, weights)
        return History(*(_write(old, time, value) for old, value in zip(self, values)))


def _write(buffer, time, value):
    """Plain scatter: `slice_update` would put an XLA-only op into exported graphs."""
    if buffer is None:
        return None
    return ops.scatter_update(buffer, ops.reshape(time, (1, 1)), value[None])


def read_back(history, ends, slots, end_scores):
    """Follows the parents from each hypothesis' end to its first token.

    Args:
        history: `History`.
        ends: int32 (B, n). Step whose token is END_ID; T for a hypothesis that was cut off.
        slots: int32 (B, n). Hypothesis that step `ends` extended (T: the one that the last step
            left).
        end_scores: float32 (B, n). Log-probability of END_ID.

    Returns:
        tokens int32 (B, n, T), token_scores float32 (B, n, T), and weights float32 (B, n, T, S)
        or None.
    """
    length = history.tokens.shape[0]

    def step(carry, time):
        (slot,) = carry
        before, at_end = time < ends, ops.equal(time, ends)
        chosen = _pick(history.tokens[time], slot)
        parent = ops.where(before, _pick(history.parents[time], slot), slot)
        tokens = ops.where(before, chosen, ops.where(at_end, END_ID, PAD_ID))
        scores = _pick(history.token_scores[time], slot)
        scores = ops.where(before, scores, ops.where(at_end, end_scores, 0.0))
        outputs = (tokens, scores)
        if history.weights is not None:
            rows = ops.take_along_axis(history.weights[time], parent[..., None], axis=1)
            outputs += (ops.where((before | at_end)[..., None], rows, 0.0),)
        return (parent,), outputs

    _, outputs = scan(step, (slots,), ops.arange(length - 1, -1, -1, dtype="int32"))
    tokens, scores, *weights = (ops.moveaxis(ops.flip(one, 0), 0, 2) for one in outputs)
    return tokens, scores, weights[0] if weights else None


def _pick(rows, slots):
    return ops.take_along_axis(rows, slots, axis=1)
