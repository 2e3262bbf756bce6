"""The history of a decoding loop, and hypotheses read back from it."""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.contracts import END_ID, PAD_ID
from keras_attn.ops.scan import scan
from keras_attn.ops.step_buffer import begin_buffer, stack_steps, write_step
from keras_attn.ops.take_by_row import take_by_row


class Selection(NamedTuple):
    """What a strategy chose at one step.

    Attributes:
        tokens: int32 (B, K). The token that now ends hypothesis k.
        token_scores: float32 (B, K). Log-probability of the token, nats.
        parents: int32 (B, K). The hypothesis that it extends; None where hypothesis k always
            extends hypothesis k.
    """

    tokens: Any
    token_scores: Any
    parents: Any = None


class History(NamedTuple):
    """The selections of all steps; nothing is reordered when beams are.

    Attributes:
        tokens: int32 (T, B, K).
        token_scores: float32 (T, B, K).
        parents: int32 (T, B, K), or None as in `Selection`.
        weights: float32 (T, B, K, S), by the hypothesis that was extended; None if not asked for.
    """

    tokens: Any
    token_scores: Any
    parents: Any = None
    weights: Any = None

    @classmethod
    def buffers(cls, length, selection, weights):
        """dict of the buffers that a loop carries, for parts that are not None; see `step_buffer`.

        They have `length` steps, of which the first is filled in.
        """
        values = zip(cls._fields, (*selection, weights))
        return {name: begin_buffer(value, length) for name, value in values if value is not None}

    @classmethod
    def write(cls, buffers, time, selection, weights):
        """The buffers with step `time` filled in."""
        values = dict(zip(cls._fields, (*selection, weights)))
        return {name: write_step(buffer, time, values[name]) for name, buffer in buffers.items()}

    @classmethod
    def read(cls, buffers):
        """The history in the buffers; PAD_ID and zeros in steps that were not reached."""
        return cls(**{name: stack_steps(buffer) for name, buffer in buffers.items()})

    def as_written(self):
        """Hypotheses that are never reordered.

        Returns:
            tokens int32 (B, K, T), token_scores float32 (B, K, T), and weights float32
            (B, K, T, S), 0 on padding, or None.
        """
        tokens = ops.moveaxis(self.tokens, 0, 2)
        weights = self.weights
        if weights is not None:
            real = ops.not_equal(tokens, PAD_ID)[..., None]
            weights = ops.where(real, ops.moveaxis(weights, 0, 2), 0.0)
        return tokens, ops.moveaxis(self.token_scores, 0, 2), weights

    def read_back(self, ends, slots, end_scores):
        """Follows the parents from each hypothesis' end to its first token.

        Args:
            ends: int32 (B, n). Step whose token is END_ID; T for a hypothesis that was cut off.
            slots: int32 (B, n). Hypothesis that step `ends` extended (T: the one that the last
                step left).
            end_scores: float32 (B, n). Log-probability of END_ID.

        Returns:
            tokens int32 (B, n, T), token_scores float32 (B, n, T), and weights float32
            (B, n, T, S) or None.
        """
        length = ops.shape(self.tokens)[0]
        times = ops.arange(length, dtype="int32")[:, None, None]
        before, at_end = times < ends, ops.equal(times, ends)
        path, extended = self._path(before, slots)
        tokens = ops.where(before, _pick(self.tokens, path), ops.where(at_end, END_ID, PAD_ID))
        scores = ops.where(before, _pick(self.token_scores, path), 0.0)
        scores = ops.where(at_end, end_scores, scores)
        rows = [tokens, scores]
        if self.weights is not None:
            reached = ops.logical_or(before, at_end)[..., None]
            rows.append(ops.where(reached, _pick(self.weights, extended), 0.0))
        tokens, scores, *weights = (ops.moveaxis(array, 0, 2) for array in rows)
        return tokens, scores, weights[0] if weights else None

    def _path(self, before, slots):
        """Hypotheses that each step left and that it extended: int32 (T, B, n) each."""
        if self.parents is None:
            slots = ops.broadcast_to(slots, ops.shape(before))
            return slots, slots

        def step(carry, inputs):
            (slot,) = carry
            parents, going_on = inputs
            parent = ops.where(going_on, take_by_row(parents, slot), slot)
            return (parent,), (slot, parent)

        backwards = (ops.flip(self.parents, 0), ops.flip(before, 0))
        _, path = scan(step, (slots,), backwards)
        return tuple(ops.flip(array, 0) for array in path)


def _pick(buffer, slots):
    """buffer[t, b, slots[t, b, n]]: (T, B, K, ...) and int32 (T, B, n) to (T, B, n, ...)."""
    length, batch, width = (ops.shape(buffer)[axis] for axis in range(3))
    rows = ops.arange(length * batch, dtype="int32") * width
    rows = ops.reshape(rows, (length, batch, 1)) + slots
    return ops.take(ops.reshape(buffer, (-1, *ops.shape(buffer)[3:])), rows, axis=0)
