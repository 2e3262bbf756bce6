"""The decoding loop: any strategy over any stepper."""

import abc
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any, NamedTuple

import keras
from keras import ops, tree

from keras_attn.contracts import START_ID, DecodeResult, Stepper, StepResult
from keras_attn.decoding.candidates import Candidates
from keras_attn.decoding.constraints import AllOf, Constraint
from keras_attn.decoding.history import History, Selection
from keras_attn.decoding.prefix import checked_prefix, with_prefix
from keras_attn.layers.config_fields import ConfigFields
from keras_attn.ops.compiled import CompiledFunctions, is_traced
from keras_attn.ops.hypotheses import gather_hypotheses, repeat_hypotheses


class Strategy(ConfigFields, abc.ABC):
    """Abstract: how hypotheses are chosen, as by `Greedy`, `Beam`, `Sampling` and `Exhaustive`."""

    @property
    def num_answers(self) -> int:
        """Hypotheses of an example that are returned: `n_best` of searches, `n` of `Sampling`."""
        return getattr(self, "n_best", getattr(self, "n", 1))

    def run(
        self,
        stepper: Stepper,
        context: Any,
        max_length: Any,
        functions: CompiledFunctions | None = None,
        prefix: Any = None,
        **options: Any,
    ) -> DecodeResult:
        """`decode` with this strategy, for `model.generate`.

        On JAX a search that never changes is compiled once for each shape of the context, and kept
        in `functions`, those of the stepper, if there are any.
        """
        search = _Search.of(self, max_length, **options)
        if functions is not None and search.compiles(stepper, context, prefix):
            return functions(search, context, prefix)
        return search(stepper, context, prefix)

    @abc.abstractmethod
    def width_for(self, vocabulary: int, length: int) -> int:
        """K, hypotheses of an example."""

    @abc.abstractmethod
    def begin(self, batch: Any, width: int, length: int) -> Any:
        """The strategy's state before the first step, at which all K hypotheses are equal."""

    @abc.abstractmethod
    def advance(
        self, state: Any, candidates: Candidates, time: Any, length: int
    ) -> tuple[Any, Selection]:
        """Chooses the next tokens."""

    @abc.abstractmethod
    def done(self, state: Any, time: Any, length: int) -> Any:
        """bool scalar: whether further steps change nothing."""

    @abc.abstractmethod
    def finish(self, state: Any, history: History) -> DecodeResult:
        """Reads the result from the history."""


def _check(stepper, strategy, prefix):
    """Raises ValueError for what is no stepper, or no strategy."""
    needed = ("start", "step", "widen", "reorder", *(() if prefix is None else ("prefill",)))
    if missing := [name for name in needed if not callable(getattr(stepper, name, None))]:
        raise ValueError(
            f"Expected a stepper with {', '.join(needed)}. "
            f"Received: a {type(stepper).__name__} without {', '.join(missing)}"
        )
    check_strategy(strategy)


def check_strategy(strategy):
    """Raises ValueError for what is no strategy, such as a class in its place."""
    if not isinstance(strategy, Strategy):
        raise ValueError(
            "Expected a strategy of keras_attn.decoding, such as Greedy() or Beam(4). "
            f"Received: {strategy!r}"
        )


def decode(
    stepper: Stepper,
    context: Any,
    strategy: Strategy,
    max_length: Any,
    with_weights: bool = True,
    constraints: Sequence[Constraint] = (),
    prefix: Any = None,
) -> DecodeResult:
    """Decodes until every example is done, or for `max_length` steps.

    PAD_ID and START_ID are never produced. Scores are log-probabilities under the unmodified model:
    constraints do not renormalize. Length penalties and scores exclude a prefix. With an int
    `max_length` all shapes but the batch are static, so the loop runs eagerly, in a graph, under
    XLA and in an exported signature alike. A tensor, for TensorFlow graphs without XLA, saves work
    for batches of short answers: a cache has a slot for each of the T tokens, and every step
    attends over all of them. `keras_attn.ops.compiled` compiles a function that decodes;
    `model.generate` does so by itself on JAX.

    Args:
        stepper: `Stepper`.
        context: what `stepper.start` takes, B examples.
        strategy: `Greedy()`, `Beam(...)`, `Sampling(...)` or `Exhaustive(...)`.
        max_length: int ≥ 1, or int32 scalar ≥ 1. T, tokens with the end token, beyond a prefix.
        with_weights: bool. Whether attention weights are kept.
        constraints: `Constraint`s, such as `MinimumLength(5)`; a hypothesis without allowed tokens
            may end.
        prefix: int32 (B, P), the beginning of each answer, PAD_ID after shorter ones, without
            START_ID and END_ID. The answer then has P + T tokens, the prefix included.

    Returns:
        `DecodeResult`.

    Raises:
        ValueError: a stepper that lacks a method, a class in the place of a strategy, max_length
            < 1, a prefix without static P ≥ 1, or what strategy and constraints reject.
    """
    search = _Search.of(strategy, max_length, with_weights, constraints)
    return search(stepper, context, prefix)


class _Search(NamedTuple):
    """How `decode` searches: a function of a stepper and its context."""

    strategy: Strategy
    max_length: Any
    with_weights: bool
    constraints: tuple[Constraint, ...]

    @classmethod
    def of(cls, strategy, max_length, with_weights=True, constraints=()):
        """The search with these arguments of `decode`."""
        _check_length(max_length)
        if keras.backend.backend() == "jax" and not isinstance(max_length, int):
            max_length = int(max_length)
        return cls(strategy, max_length, with_weights, tuple(constraints))

    def compiles(self, stepper, context, prefix) -> bool:
        """Whether JAX may keep this search compiled: it never changes, and the stepper is a layer.

        What is being traced already is compiled as a part of the function around it.
        """
        return (
            keras.backend.backend() == "jax"
            and isinstance(stepper, keras.layers.Layer)
            and stepper.built
            and all(_is_constant(part) for part in (self.strategy, *self.constraints))
            and not is_traced((context, prefix, stepper.variables))
        )

    def __call__(self, stepper, context, prefix=None) -> DecodeResult:
        _check(stepper, self.strategy, prefix)
        return _decoded(stepper, context, prefix, self)


def _is_constant(part):
    """Whether an object is a frozen dataclass whose fields can be hashed."""
    if not (is_dataclass(part) and part.__dataclass_params__.frozen):
        return False
    try:
        hash(part)
    except TypeError:
        return False
    return True


def _decoded(stepper, context, prefix, search: _Search) -> DecodeResult:
    strategy, max_length, with_weights, constraints = search
    is_static = isinstance(max_length, int)
    limits = AllOf(constraints)
    prefix = None if prefix is None else checked_prefix(prefix)
    memory, first, marks = _begin(stepper, context, limits, max_length, prefix)
    batch, vocabulary = ops.shape(first.logits)[0], first.logits.shape[-1]
    width = strategy.width_for(vocabulary, max_length)
    first, marks = _widened(stepper, first, width), repeat_hypotheses(marks, width)

    def choose(time, result, marks, choice):
        candidates = limits.candidates(result.logits, marks)
        choice, selection = strategy.advance(choice, candidates, time, max_length)
        state = result.state
        if selection.parents is not None:
            state = stepper.reorder(state, selection.parents)
            marks = gather_hypotheses(marks, selection.parents)
        tokens = ops.reshape(selection.tokens, (-1,))
        weights = _grouped(result.weights, width) if with_weights else None
        return selection, weights, (tokens, state, limits.update(marks, tokens), choice)

    def body(time, tokens, state, marks, choice, buffers):
        result = stepper.step(tokens, memory, state)
        selection, weights, carry = choose(time, result, marks, choice)
        return time + 1, *carry, History.write(buffers, time, selection, weights)

    def going_on(time, tokens, state, marks, choice, buffers):
        return ops.logical_not(strategy.done(choice, time, max_length))

    zero = ops.convert_to_tensor(0, dtype="int32")
    beginning = strategy.begin(batch, width, max_length)
    selection, weights, carry = choose(zero, first, marks, beginning)
    carry = (zero + 1, *carry, History.buffers(max_length, selection, weights))
    if not is_static or max_length > 1:
        carry = ops.while_loop(going_on, body, carry, maximum_iterations=max_length - 1)
    result = strategy.finish(carry[-2], History.read(carry[-1]))
    return result if prefix is None else with_prefix(prefix, result)


def _check_length(max_length):
    """Raises ValueError unless it is an int ≥ 1 or an integer scalar."""
    if isinstance(max_length, int) and not isinstance(max_length, bool):
        if max_length >= 1:
            return
    elif tuple(getattr(max_length, "shape", (None,))) == () and "int" in str(max_length.dtype):
        return
    raise ValueError(
        f"Expected an int max_length >= 1, or an integer scalar. Received: max_length={max_length}"
    )


def _begin(stepper, context, limits, max_length, prefix):
    """Memory, `StepResult` and constraints' state of one hypothesis an example, after its start."""
    length = max_length + (0 if prefix is None else prefix.shape[1])
    memory, state = stepper.start(context, length)
    batch = ops.shape(tree.flatten(state)[0])[0]
    starts = ops.full((batch, 1), START_ID, dtype="int32")
    if prefix is None:
        first = stepper.step(starts[:, 0], memory, state)
    else:
        first = stepper.prefill(ops.concatenate([starts, prefix], axis=1), memory, state)
    marks = limits.start(batch, first.logits.shape[-1], length)
    return memory, first, marks if prefix is None else limits.follow(marks, prefix)


def _widened(stepper, result, width):
    """`StepResult` of one hypothesis an example to that of K equal ones."""
    weights = None if result.weights is None else ops.repeat(result.weights, width, axis=0)
    state = stepper.widen(result.state, width)
    return StepResult(ops.repeat(result.logits, width, axis=0), state, weights)


def _grouped(weights, width):
    """float (N, S) to float32 (B, K, S), or None."""
    if weights is None:
        return None
    weights = ops.cast(weights, "float32")
    return ops.reshape(weights, (-1, width, ops.shape(weights)[-1]))
