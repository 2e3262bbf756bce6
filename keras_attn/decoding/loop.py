"""The decoding loop: any strategy over any stepper."""

from typing import Any, Protocol

from keras import ops, tree

from keras_attn.contracts import PAD_ID, START_ID, DecodeResult, Stepper
from keras_attn.decoding.history import DEAD, History, Selection


class Strategy(Protocol):
    """How hypotheses are chosen; `Greedy` and `Beam` are strategies."""

    @property
    def width(self) -> int:
        """K, hypotheses per example."""

    def begin(self, batch: Any) -> Any:
        """The strategy's state before the first step."""

    def advance(
        self, state: Any, log_probabilities: Any, time: Any, length: int
    ) -> tuple[Any, Selection]:
        """Chooses the next tokens."""

    def done(self, state: Any, time: Any, length: int) -> Any:
        """bool scalar: whether more steps change nothing."""

    def finish(self, state: Any, history: History) -> DecodeResult:
        """Reads the answer out of the history."""


def decode(
    stepper: Stepper, context: Any, strategy: Strategy, max_length: int, with_weights: bool = True
) -> DecodeResult:
    """Decodes until every example is done, or for `max_length` steps.

    PAD_ID and START_ID are never produced. All shapes but the batch are static, so the loop runs
    eagerly, in a graph, under XLA and in an exported signature alike.

    Args:
        stepper: `Stepper`.
        context: what `stepper.start` takes, B examples.
        strategy: `Greedy()` or `Beam(...)`.
        max_length: int ≥ 1. T, tokens with the end token.
        with_weights: bool. Whether attention weights are kept.

    Returns:
        `DecodeResult`.

    Raises:
        ValueError: max_length < 1.
    """
    if max_length < 1:
        raise ValueError(f"Expected max_length >= 1. Received: max_length={max_length}")
    width = strategy.width
    memory, state = stepper.start(context)
    batch = ops.shape(tree.flatten(state)[0])[0]
    state = tree.map_structure(lambda leaf: ops.repeat(leaf, width, axis=0), state)
    tokens = ops.full((batch, width), START_ID, dtype="int32")
    first = stepper.step(ops.reshape(tokens, (-1,)), memory, state)
    locations = first.weights.shape[-1] if with_weights and first.weights is not None else None
    history = History.empty(max_length, batch, width, locations)
    rows = ops.arange(batch, dtype="int32")[:, None] * width

    def choose(time, result, choice, history):
        log_probabilities = _log_probabilities(result.logits, width)
        choice, selection = strategy.advance(choice, log_probabilities, time, max_length)
        weights = None
        if locations is not None:
            weights = ops.reshape(ops.cast(result.weights, "float32"), (-1, width, locations))
        history = history.write(time, selection, weights)
        parents = ops.reshape(rows + selection.parents, (-1,))
        state = tree.map_structure(lambda leaf: ops.take(leaf, parents, axis=0), result.state)
        return time + 1, selection.tokens, state, choice, *history.tensors()

    def body(time, tokens, state, choice, *history):
        result = stepper.step(ops.reshape(tokens, (-1,)), memory, state)
        return choose(time, result, choice, History.of(history))

    def going_on(time, tokens, state, choice, *history):
        return ops.logical_not(strategy.done(choice, time, max_length))

    time = ops.convert_to_tensor(0, dtype="int32")
    carry = choose(time, first, strategy.begin(batch), history)
    if max_length > 1:
        carry = ops.while_loop(going_on, body, carry, maximum_iterations=max_length - 1)
    return strategy.finish(carry[3], History.of(carry[4:]))


def _log_probabilities(logits, width):
    """float32 (B, K, V); PAD_ID and START_ID are DEAD."""
    vocabulary = logits.shape[-1]
    log_probabilities = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
    index = ops.arange(vocabulary)
    forbidden = ops.logical_or(ops.equal(index, PAD_ID), ops.equal(index, START_ID))
    log_probabilities = ops.where(forbidden, DEAD, log_probabilities)
    return ops.reshape(log_probabilities, (-1, width, vocabulary))
