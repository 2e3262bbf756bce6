"""States of hypotheses: plain ways to widen and reorder them, and to consume a prefix.

For steppers (`contracts.Stepper`) without a faster way of their own.
"""

from keras import ops, tree

from keras_attn.ops.scan import scan


def repeat_hypotheses(state, width):
    """From one hypothesis per example to `width` equal ones, which are neighbors.

    Args:
        state: structure of tensors (B, ...).
        width: int. K.

    Returns:
        The structure with tensors (B·K, ...).
    """
    return tree.map_structure(lambda leaf: ops.repeat(leaf, width, axis=0), state)


def gather_hypotheses(state, parents):
    """Hypothesis k of example b goes on from hypothesis parents[b, k].

    Args:
        state: structure of tensors (B·K, ...).
        parents: int32 (B, K).

    Returns:
        The structure, every leaf gathered.

    Example:
        >>> result = gather_hypotheses(ops.array([2, 3, 5, 7]), ops.array([[1, 1], [1, 0]]))
        >>> result.numpy().tolist()
        [3, 3, 7, 5]
    """
    batch, width = ops.shape(parents)[0], parents.shape[1]
    rows = ops.arange(batch, dtype="int32")[:, None] * width + parents
    rows = ops.reshape(rows, (-1,))
    return tree.map_structure(lambda leaf: ops.take(leaf, rows, axis=0), state)


def select_hypotheses(chosen, state, other):
    """`state` where chosen, bool (N,), else `other`: structures of tensors (N, ...)."""

    def select(first, second):
        shape = (-1,) + (1,) * (len(first.shape) - 1)
        return ops.where(ops.reshape(chosen, shape), first, second)

    return tree.map_structure(select, state, other)


def prefill_by_steps(step, prefix, real, memory, state):
    """A stepper's `prefill`, token by token.

    Args:
        step: the stepper's `step`.
        prefix: int32 (N, P), P ≥ 1 static.
        real: bool (N, P). False where a row has ended; the first of each row is True.
        memory: of the stepper, per example.
        state: of the stepper, N hypotheses.

    Returns:
        What `step` answered for each row's last real token.
    """
    result = step(prefix[:, 0], memory, state)
    if prefix.shape[1] == 1:
        return result
    with_weights = result.weights is not None

    def consume(carry, inputs):
        state, *outputs = carry
        tokens, going_on = inputs
        new = step(tokens, memory, state)
        stepped = (new.state, new.logits) + ((new.weights,) if with_weights else ())
        return select_hypotheses(going_on, stepped, (state, *outputs)), (tokens,)

    carry = (result.state, result.logits) + ((result.weights,) if with_weights else ())
    later = (ops.swapaxes(prefix[:, 1:], 0, 1), ops.swapaxes(real[:, 1:], 0, 1))
    carry, _ = scan(consume, carry, later)
    return result._replace(
        state=carry[0], logits=carry[1], weights=carry[2] if with_weights else None
    )
