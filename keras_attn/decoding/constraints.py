"""Constraints on the next tokens, for any strategy."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.contracts import DEAD, END_ID, PAD_ID, START_ID
from keras_attn.decoding.candidates import Candidates
from keras_attn.ops.hypotheses import select_hypotheses


class Constraint(Protocol):
    """Abstract: sees every token and masks the next ones; subclass it for your own.

    Its state belongs to a hypothesis: a structure of tensors that lead with N, which decoding
    widens, reorders and freezes; () where there is none. A forced prefix passes through `update`,
    never through `mask`.

    A method `applies`, if it has one, gets the state and returns a bool scalar: whether `mask` may
    change anything at this step. Where no constraint applies, a step costs what it would without.
    """

    def start(self, batch: Any, vocabulary: int, length: Any) -> Any:
        """State of one hypothesis an example (N = B), before at most `length` tokens: an int, or an
        int32 scalar where `decode` was given one."""

    def mask(self, log_probabilities: Any, state: Any) -> Any:
        """float32 (N, V) with forbidden tokens at DEAD, see `forbid`; others stay as they are."""

    def update(self, state: Any, tokens: Any) -> Any:
        """State after tokens int32 (N,); PAD_ID for a hypothesis that has ended."""


def forbid(log_probabilities, forbidden):
    """Log-probabilities float32 (N, V) with DEAD where `forbidden`, bool broadcastable to (N, V).

    Example:
        >>> forbid(ops.array([[-1.0, -2.0]]), ops.array([[True, False]])).numpy().tolist()
        [[-1000000000.0, -2.0]]
    """
    return ops.where(forbidden, DEAD, log_probabilities)


@dataclass(frozen=True)
class MinimumLength:
    """No end before `length` tokens, counting a forced prefix and the end token.

    Args:
        length: int ≥ 1.

    Raises:
        ValueError: length < 1; when decoding, a length above a `max_length` that is an int.
    """

    length: int

    def __post_init__(self):
        check_sizes(length=self.length)

    def start(self, batch, vocabulary, length):
        """Tokens so far, int32 (B,)."""
        if isinstance(length, int) and self.length > length:
            raise ValueError(f"Expected length <= {length} tokens. Received: length={self.length}")
        return ops.zeros((batch,), "int32")

    def mask(self, log_probabilities, state):
        """Forbids the end while it would come too early."""
        end = ops.equal(ops.arange(log_probabilities.shape[-1]), END_ID)
        return forbid(log_probabilities, (state + 1 < self.length)[:, None] & end)

    def applies(self, state):
        """Whether any hypothesis is too short."""
        return ops.any(state + 1 < self.length)

    def update(self, state, tokens):
        """One token more."""
        return state + 1


@dataclass(frozen=True)
class ForbiddenTokens:
    """Tokens that are never chosen.

    Args:
        tokens: ints ≥ 0, one or more. Ids of the vocabulary.

    Raises:
        ValueError: no tokens, or one < 0; when decoding, one outside the vocabulary.
    """

    tokens: Sequence[int]

    def __post_init__(self):
        object.__setattr__(self, "tokens", tuple(int(token) for token in self.tokens))
        if not self.tokens or min(self.tokens) < 0:
            raise ValueError(f"Expected tokens >= 0, one or more. Received: tokens={self.tokens}")

    def start(self, batch, vocabulary, length):
        """No state."""
        if max(self.tokens) >= vocabulary:
            raise ValueError(f"Expected tokens < V={vocabulary}. Received: tokens={self.tokens}")
        return ()

    def mask(self, log_probabilities, state):
        """Forbids the tokens."""
        vocabulary = log_probabilities.shape[-1]
        return forbid(
            log_probabilities, ops.array([token in self.tokens for token in range(vocabulary)])
        )

    def update(self, state, tokens):
        """No state to update."""
        return state


@dataclass(frozen=True)
class FirstToken:
    """The first token is a given one, at no cost: its log-probability is 0.

    Such is the token of the language of a multilingual model's answer.

    Args:
        token: int ≥ 0. Id of the vocabulary.

    Raises:
        ValueError: token < 0; when decoding, one outside the vocabulary.
    """

    token: int

    def __post_init__(self):
        check_sizes(least=0, token=self.token)

    def start(self, batch, vocabulary, length):
        """Whether a token is still to come, bool (B,)."""
        if self.token >= vocabulary:
            raise ValueError(f"Expected token < V={vocabulary}. Received: token={self.token}")
        return ops.ones((batch,), "bool")

    def mask(self, log_probabilities, state):
        """Forbids all others at the beginning."""
        is_it = ops.equal(ops.arange(log_probabilities.shape[-1]), self.token)
        return ops.where(state[:, None], ops.where(is_it, 0.0, DEAD), log_probabilities)

    def applies(self, state):
        """Whether any hypothesis has no token yet."""
        return ops.any(state)

    def update(self, state, tokens):
        """No first token any more."""
        return ops.zeros_like(state)


@dataclass(frozen=True)
class NoRepeatedNgrams:
    """No repeated n-grams in a hypothesis, a forced prefix included.

    Args:
        size: int ≥ 1. n; 1 forbids every repeated token.

    Raises:
        ValueError: size < 1.
    """

    size: int

    def __post_init__(self):
        check_sizes(size=self.size)

    def start(self, batch, vocabulary, length):
        """Tokens so far, int32 (B, L), the newest last, and PAD_ID before the first; L ≥ n."""
        is_static = isinstance(length, int)
        slots = max(length, self.size) if is_static else ops.maximum(length, self.size)
        return ops.full((batch, slots), PAD_ID, dtype="int32")

    def mask(self, log_probabilities, state):
        """Forbids every token that has already followed the last n − 1 tokens."""
        places = ops.shape(state)[1] - self.size + 1
        following = state[:, self.size - 1 :]
        repeated = ops.not_equal(following, PAD_ID)
        for place in range(self.size - 1):
            newest = state[:, places + place, None]
            repeated = repeated & ops.equal(state[:, place : place + places], newest)
            repeated = repeated & ops.not_equal(newest, PAD_ID)
        rows = ops.broadcast_to(ops.arange(ops.shape(state)[0])[:, None], ops.shape(following))
        index = ops.stack([ops.cast(rows, "int32"), following], axis=-1)
        values = ops.cast(repeated, "float32")
        count = ops.scatter(index, values, (ops.shape(state)[0], log_probabilities.shape[-1]))
        return forbid(log_probabilities, count > 0)

    def update(self, state, tokens):
        """The newest token last."""
        return ops.concatenate([state[:, 1:], tokens[:, None]], axis=1)


@dataclass(frozen=True)
class AllOf:
    """Several constraints as one.

    If they leave a hypothesis no token, it may end.

    Args:
        constraints: `Constraint`s, possibly none.
    """

    constraints: Sequence[Constraint]

    def start(self, batch, vocabulary, length):
        """A tuple of their states."""
        return tuple(constraint.start(batch, vocabulary, length) for constraint in self.constraints)

    def candidates(self, logits, state):
        """`Candidates` of a step, for logits (N, V)."""
        if not self.constraints:
            return Candidates(logits)
        applies = False
        for constraint, mark in zip(self.constraints, state):
            applies = applies | constraint.applies(mark) if hasattr(constraint, "applies") else True
            if applies is True:
                break
        return Candidates(logits, functools.partial(self._mask, state=state), applies)

    def _mask(self, log_probabilities, state):
        """The tokens that all of them allow."""
        index = ops.arange(log_probabilities.shape[-1])
        never = ops.equal(index, PAD_ID) | ops.equal(index, START_ID)
        masked = forbid(log_probabilities, never)
        for constraint, mark in zip(self.constraints, state):
            masked = constraint.mask(masked, mark)
        stuck = ops.max(masked, axis=-1, keepdims=True) < DEAD / 2
        return ops.where(stuck & ops.equal(index, END_ID), log_probabilities, masked)

    def update(self, state, tokens):
        """A tuple of their states."""
        return tuple(
            constraint.update(mark, tokens) for constraint, mark in zip(self.constraints, state)
        )

    def follow(self, state, prefix):
        """The states after a prefix int32 (N, P) whose rows may end with PAD_ID."""
        for place in range(prefix.shape[1]):
            tokens = prefix[:, place]
            after = self.update(state, tokens)
            state = select_hypotheses(ops.not_equal(tokens, PAD_ID), after, state)
        return state
