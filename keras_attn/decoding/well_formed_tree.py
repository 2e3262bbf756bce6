"""A constraint to well-formed trees over a given number of words."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.contracts import END_ID
from keras_attn.decoding.constraints import forbid

_EMPTY = -1


class TreeState(NamedTuple):
    """State of a partial tree; N hypotheses, depth at most D.

    Attributes:
        labels: int32 (N, D). Label of each open constituent, from the outermost.
        above: int32 (N, D). Length of the chain of open constituents that ends with it and has
            nothing else in it so far.
        below: int32 (N, D). Length of the unary chain that is its only child; 0 if that is a word
            or if it has several children; −1 if it has none.
        depth: int32 (N,). Open constituents.
        words: int32 (N,). Words still to be placed.
        room: int32 (N,). Symbols left, end included.
        breaks: int32 (N,). Words needed, besides the first of a constituent without children, so
            that no open constituent ends a chain that is too long.
    """

    labels: Any
    above: Any
    below: Any
    depth: Any
    words: Any
    room: Any
    breaks: Any


class WellFormedTree:
    """Every answer is one complete tree over the words of its example: a `Constraint`.

    The first symbol opens the tree, a constituent has children, each closing bracket closes the
    innermost open constituent, and the end comes when the tree is closed, which is when no word is
    left; a single word may also be the whole tree. Constituents that lie around the same words and
    nothing else are a chain of at most `max_unary_chain`, and at most `max_depth` lie inside each
    other. Dead ends are avoided: an opening bracket is forbidden if the remaining length or words
    do not suffice for what must follow.

    A forced prefix must be the beginning of such a tree. If `lengths` leave no room for one, the
    answer is the end alone; other constraints may leave a tree unfinished.

    Args:
        openings: ints. Ids of the opening brackets, by label.
        closings: ints. Ids of the closing brackets, in the same order.
        word: int. Id of the symbol of a word.
        words: int32 (B,). Words of each example; for 0 the answer is the end alone.
        lengths: int32 (B,). Maximum symbols of each example's answer, end included; the shortest
            tree of W words in a constituent has W + 3. `decode` may allow less.
        max_unary_chain: int ≥ 1.
        max_depth: int ≥ 1.

    Raises:
        ValueError: different numbers of closing and opening brackets or none, a duplicate or
            special id, or a bound that is not an int ≥ 1.

    Source: the symbols are those of Vinyals et al. 2015, arXiv:1412.7449, section 2.2, where
    trees may be malformed and are repaired afterwards. Differs: none can be.
    """

    def __init__(
        self,
        openings: Sequence[int],
        closings: Sequence[int],
        word: int,
        words: Any,
        lengths: Any,
        max_unary_chain: int,
        max_depth: int,
    ):
        ids = [*openings, *closings, word]
        proper = all(isinstance(token, int) and token > END_ID for token in ids)
        once = len(set(ids)) == len(ids)
        if not (openings and len(openings) == len(closings) and proper and once):
            raise ValueError(
                "Expected as many closings as openings, at least one, and each id once, an int > "
                f"{END_ID}. Received: openings={list(openings)}, closings={list(closings)}, "
                f"word={word}"
            )
        check_sizes(max_unary_chain=max_unary_chain, max_depth=max_depth)
        self.openings, self.closings, self.word = list(openings), list(closings), word
        self.words = ops.convert_to_tensor(words, "int32")
        self.lengths = ops.convert_to_tensor(lengths, "int32")
        self.max_unary_chain, self.max_depth = max_unary_chain, max_depth

    def start(self, batch, vocabulary, length):
        """`TreeState` before the first symbol."""
        if max(*self.openings, *self.closings, self.word) >= vocabulary:
            raise ValueError(
                f"Expected ids < V={vocabulary}. Received: openings={self.openings}, "
                f"closings={self.closings}, word={self.word}"
            )
        levels, none = (batch, self.max_depth), ops.zeros((batch,), "int32")
        return TreeState(
            labels=ops.zeros(levels, "int32"),
            above=ops.zeros(levels, "int32"),
            below=ops.full(levels, _EMPTY, dtype="int32"),
            depth=none,
            words=self.words,
            room=ops.minimum(self.lengths, ops.cast(length, "int32")),
            breaks=none,
        )

    def mask(self, log_probabilities, state):
        """Forbids symbols that cannot lead to a tree."""
        vocabulary = log_probabilities.shape[-1]
        label, above, below = self._top(state)
        inside, has_words = state.depth > 0, state.words > 0
        first_word = ops.equal(below, _EMPTY)
        _, opened = self._opened(state, above, below)
        room = state.room > state.words + state.depth + 2
        may_open = has_words & room & (state.depth < self.max_depth) & (state.words > opened)
        whole = ops.equal(state.words, 1)
        enough = first_word | (state.words > self._filled(state, above, below))
        may_say = ops.where(inside, has_words & enough, whole)
        may_close = inside & ~first_word & (below < self.max_unary_chain)
        may_close = may_close & ((state.depth > 1) | ~has_words)
        may_end = ~inside & ~has_words
        index = ops.arange(vocabulary, dtype="int32")
        closes = ops.equal(self._table(vocabulary, self.closings), label[:, None])
        allowed = may_open[:, None] & (self._table(vocabulary, self.openings) >= 0)
        allowed = allowed | (may_say[:, None] & ops.equal(index, self.word))
        allowed = allowed | (may_close[:, None] & closes)
        allowed = allowed | (may_end[:, None] & ops.equal(index, END_ID))
        return forbid(log_probabilities, ~allowed)

    def update(self, state, tokens):
        """The state after one more symbol."""
        opening, closing = (
            ops.equal(tokens[:, None], ops.array(ids, "int32"))
            for ids in (self.openings, self.closings)
        )
        opens, closes = ops.any(opening, axis=1), ops.any(closing, axis=1)
        places = ops.arange(len(self.openings), dtype="int32")
        label = ops.sum(ops.where(opening, places, 0), axis=1)
        says = ops.equal(tokens, self.word)
        _, above, below = self._top(state)
        new_above, opened = self._opened(state, above, below)
        filled = self._filled(state, above, below)
        top, under, over = (self._level(state.depth + shift) for shift in (-1, -2, 0))
        # What the innermost constituent has, after a word or a second constituent in it; what the
        # one around it has, after the innermost is closed.
        second = (says | (opens & ~ops.equal(below, _EMPTY)))[:, None] & top
        closed = closes[:, None] & under
        chain = ops.where(ops.equal(state.below, _EMPTY), (below + 1)[:, None], 0)
        new = opens[:, None] & over
        new_below = ops.where(second, 0, ops.where(closed, chain, state.below))
        count = ops.cast(opens, "int32") - ops.cast(closes, "int32")
        return TreeState(
            labels=ops.where(new, label[:, None], state.labels),
            above=ops.where(new, new_above[:, None], state.above),
            below=ops.where(new, _EMPTY, new_below),
            depth=state.depth + count,
            words=state.words - ops.cast(says, "int32"),
            room=state.room - 1,
            breaks=ops.where(opens, opened, ops.where(says, filled, state.breaks)),
        )

    def _top(self, state):
        """Label, `above` and `below` of the innermost open constituent, int32 (N,) each."""
        level = self._level(state.depth - 1)
        levels = (state.labels, state.above, state.below)
        return tuple(ops.sum(ops.where(level, count, 0), axis=1) for count in levels)

    def _opened(self, state, above, below):
        """`above` of a constituent that is opened now, and `breaks` then: int32 (N,) each.

        `above` and `below` are those of the innermost open constituent.
        """
        goes_on = ops.equal(below, _EMPTY) & (state.depth > 0)
        longer = state.breaks + self._pieces(above + 1) - self._pieces(above)
        return ops.where(goes_on, above + 1, 1), ops.where(
            goes_on, longer, self._filled(state, above, below)
        )

    def _filled(self, state, above, below):
        """`breaks`, int32 (N,), once the innermost constituent has one more child."""
        below = ops.maximum(below, 0)
        return state.breaks - self._pieces(above + below) + self._pieces(above)

    def _pieces(self, length):
        """How many chains a run of so many constituents has to be broken into."""
        return (length + self.max_unary_chain - 1) // self.max_unary_chain

    def _level(self, place):
        """bool (N, D): the level at a place, int32 (N,)."""
        return ops.equal(ops.arange(self.max_depth, dtype="int32"), place[:, None])

    def _table(self, vocabulary, ids):
        """int32 (V,): the label that each id is a bracket of, −1 for none."""
        label = {token: place for place, token in enumerate(ids)}
        return ops.array([label.get(token, -1) for token in range(vocabulary)], "int32")
