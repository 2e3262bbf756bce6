"""keras-attn's search for models of keras-hub."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras import ops

from keras_attn.contracts import DEAD, END_ID, PAD_ID, DecodeResult, StepResult
from keras_attn.decoding.constraints import Constraint
from keras_attn.decoding.loop import Strategy, check_strategy, decode
from keras_attn.decoding.maximum_length import MaximumLength
from keras_attn.ops.hypotheses import gather_hypotheses, repeat_hypotheses

RESERVED = END_ID + 1
"""Ids before those of keras-hub's tokens: PAD_ID, UNKNOWN_ID, START_ID and END_ID."""


class HubSampler:
    """A sampler of keras-hub that searches with a strategy of keras-attn.

    Any task of keras-hub that generates text takes it, in `compile(sampler=…)`: a `CausalLM`, a
    `Seq2SeqLM`, a `PaliGemmaCausalLM`. Finished hypotheses are kept, so that a beam ends with the
    best answer, not with the last; `Beam(1)` equals `Greedy()`, which equals keras-hub's "greedy".

    Prompts of a batch may differ in length. A search begins after the shortest of them, and goes
    through the rest of the others without choice or cost, so an answer is the same in any batch,
    but for what `Sampling` draws. Only a length penalty counts these tokens, too; and a model that
    reads its prompt in both directions, such as PaliGemma, wants prompts of one length, by any
    sampler.

    Args:
        strategy: `Greedy()`, `Beam(...)`, `Sampling(...)`.
        constraints: `Constraint`s; they see ids that are 4 greater than keras-hub's, and END_ID for
            each token that stops.

    Raises:
        ValueError: no strategy.

    Example:
        >>> from keras_attn.decoding import Beam
        >>> causal_lm.compile(sampler=HubSampler(Beam(4)))  # doctest: +SKIP
        >>> causal_lm.generate("Keras is a", max_length=64)  # doctest: +SKIP
    """

    variables = ()
    """Of random numbers, as keras-hub's samplers have them on JAX: none."""

    def __init__(self, strategy: Strategy, constraints: Sequence[Constraint] = ()):
        check_strategy(strategy)
        self.strategy, self.constraints = strategy, tuple(constraints)

    def __call__(
        self,
        next: Callable,
        prompt: Any,
        cache: Any = None,
        index: Any = 0,
        mask: Any = None,
        stop_token_ids: Sequence[int] | None = None,
        hidden_states: Any = None,
        model: Any = None,
    ) -> Any:
        """The best answers: int (B, T) like `prompt`, see `keras_hub.samplers.Sampler`."""
        return self.search(next, prompt, cache, index, mask, stop_token_ids).sequences[:, 0]

    def search(self, next, prompt, cache, index, mask, stop_token_ids=None) -> "HubAnswers":
        """All answers of the strategy.

        Args:
            next: function (prompts (N, T), cache, index) to the logits (N, V) of token `index`,
                hidden states and the cache.
            prompt: int (B, T), prompts, any id after them.
            cache: structure of tensors that lead with B, or None.
            index: int32 scalar ≥ 1. Length of the shortest prompt.
            mask: bool (B, T), whether a token is of the prompt.
            stop_token_ids: ids that end an answer; None: nothing does.

        Returns:
            `HubAnswers`.
        """
        stepper: Any = _Stepper(next, stop_token_ids or ())
        index, mask = ops.cast(index, "int32"), ops.cast(mask, "bool")
        total = ops.shape(prompt)[1]
        rows = ops.zeros_like(prompt[:, 0], "int32")
        limit = MaximumLength(rows + total - index + 1, is_free=True)
        context = _State(prompt, mask, rows + index - 1, () if cache is None else cache)
        result = decode(stepper, context, self.strategy, total, False, (*self.constraints, limit))
        place = ops.arange(total, dtype="int32") - index
        tokens = ops.take(result.tokens, ops.maximum(place, 0), axis=2)
        ended = stop_token_ids[0] if stop_token_ids else 0
        produced = ops.where(ops.equal(tokens, END_ID), ended, tokens - RESERVED)
        produced = ops.cast(produced, prompt.dtype)
        given = mask[:, None] | (place < 0) | ops.equal(tokens, PAD_ID)
        sequences = ops.where(given, prompt[:, None], produced)
        written = ops.logical_not(mask[:, None]) & (place < result.lengths[..., None])
        return HubAnswers(sequences, written & (place >= 0), result)


class HubAnswers(NamedTuple):
    """n answers to each of B prompts, best first.

    Attributes:
        sequences: int (B, n, T), prompts with their answers, keras-hub's ids.
        written: bool (B, n, T), whether a token is the answer's, the one that stops it included.
        result: `DecodeResult`, without weights; its tokens begin after the shortest prompt.
    """

    sequences: Any
    written: Any
    result: DecodeResult


class _State(NamedTuple):
    """A hypothesis: tokens (N, T), whether they are given, the place of the last, and the cache."""

    tokens: Any
    given: Any
    place: Any
    cache: Any


class _Stepper:
    """`Stepper` over the function that keras-hub passes to samplers."""

    def __init__(self, next, stops):
        self.next, self.stops = next, tuple(stops)

    def start(self, context, length):
        return (), context

    def step(self, tokens, memory, state):
        """A token that is given stays; the first step reads the last that all prompts have."""
        total, place = ops.shape(state.tokens)[1], state.place[0]
        there = ops.equal(ops.arange(total, dtype="int32"), place)
        chosen = ops.cast(ops.maximum(tokens - RESERVED, 0), state.tokens.dtype)
        if self.stops:
            chosen = ops.where(ops.equal(tokens, END_ID), self.stops[0], chosen)
        read = ops.where(there & ops.logical_not(state.given), chosen[:, None], state.tokens)
        logits, _, cache = self.next(read, state.cache, place + 1)
        logits = self._with_reserved(ops.cast(logits, "float32"))
        after = ops.minimum(place + 1, total - 1)
        is_given = ops.take(state.given, after, axis=1) & (place + 1 < total)
        wanted = ops.cast(ops.take(read, after, axis=1), "int32") + RESERVED
        index = ops.arange(logits.shape[-1], dtype="int32")
        forced = ops.where(ops.equal(index, wanted[:, None]), 0.0, DEAD)
        logits = ops.where(is_given[:, None], forced, logits)
        return StepResult(logits, _State(read, state.given, state.place + 1, cache), None)

    def _with_reserved(self, logits):
        """Logits (N, V) of keras-hub's tokens to (N, 4 + V): those that stop are END_ID."""
        never = ops.full_like(logits[:, :1], DEAD)
        if not self.stops:
            return ops.concatenate([never] * RESERVED + [logits], axis=1)
        stops = ops.take(logits, ops.array(self.stops, "int32"), axis=1)
        end = stops if len(self.stops) == 1 else ops.logsumexp(stops, axis=1, keepdims=True)
        vocabulary = range(logits.shape[-1])
        others = ops.where(ops.array([token in self.stops for token in vocabulary]), DEAD, logits)
        return ops.concatenate([never, never, never, end, others], axis=1)

    def widen(self, state, width):
        return repeat_hypotheses(state, width)

    def reorder(self, state, parents):
        return gather_hypotheses(state, parents)
