"""Which slots of a memory are free, and in which order they were written.

Shapes: B batch, R read heads, N slots. Everything is computed in the dtype of the arguments.
"""

from keras import ops

from keras_attn.ops.take_by_row import take_by_row

LEAST_USAGE = 1e-6


def memory_usage(usage, write_weights, read_weights, free_gates):
    """How much every slot is in use, after the last write and what the read heads set free.

        ψ = Π_r (1 − f_r w_r),  u_t = (u_{t−1} + w − u_{t−1} w) ψ

    Args:
        usage: float (B, N), from 0 to 1. u_{t−1}.
        write_weights: float (B, N). w, of the last step.
        read_weights: float (B, R, N). w_r, of the last step.
        free_gates: float (B, R), from 0 to 1. f.

    Returns:
        float (B, N), from 0 to 1.

    Source: Graves et al. 2016, Methods, "Dynamic memory allocation".
    """
    retention = ops.prod(1 - free_gates[..., None] * read_weights, axis=1)
    return (usage + write_weights - usage * write_weights) * retention


def allocation_weights(usage):
    """Weights that prefer the slots in least use.

        a(φ_j) = (1 − u(φ_j)) Π_{i<j} u(φ_i),  φ: the slots by usage, least first

    Equal usages are ordered by slot, on every backend and under XLA. Those that are equal up to
    rounding may be ordered otherwise in another precision, under XLA or on another backend, and
    then the weights differ by more than rounding: the order jumps. It has no gradient.

    Args:
        usage: float (B, N), from 0 to 1. u.

    Returns:
        float (B, N), ≥ 0; rows sum to at most 1.

    Example:
        >>> weights = allocation_weights(ops.array([[1.0, 0.5, 0.2]]))
        >>> [round(float(weight), 3) for weight in weights[0]]
        [0.0, 0.1, 0.8]

    Source: Graves et al. 2016, (1). Differs: u is taken as ε + (1 − ε) u with ε = 10⁻⁶, so
    gradients are finite at u = 0.
    """
    usage = LEAST_USAGE + (1 - LEAST_USAGE) * usage
    order = ops.argsort(usage, axis=-1)
    least = take_by_row(usage, ops.cast(order, "int32"))
    logarithms = ops.concatenate([ops.zeros_like(least[:, :1]), ops.log(least[:, :-1])], axis=-1)
    weights = (1 - least) * ops.exp(ops.cumsum(logarithms, axis=-1))
    return take_by_row(weights, ops.cast(ops.argsort(order, axis=-1), "int32"))


def temporal_links(links, precedence, write_weights):
    """To which degree slot i was written right after slot j. Takes O(N²) time and memory.

        L_t(i, j) = (1 − w(i) − w(j)) L_{t−1}(i, j) + w(i) p_{t−1}(j),  L_t(i, i) = 0

    Args:
        links: float (B, N, N). L_{t−1}.
        precedence: float (B, N). p_{t−1}.
        write_weights: float (B, N). w.

    Returns:
        float (B, N, N), from 0 to 1; rows and columns sum to at most 1.

    Source: Graves et al. 2016, Methods, "Temporal memory linkage".
    """
    rows, columns = write_weights[:, :, None], write_weights[:, None, :]
    links = (1 - rows - columns) * links + rows * precedence[:, None, :]
    slots = links.shape[-1]
    return links * (1 - ops.eye(slots, dtype=links.dtype))


def write_precedence(precedence, write_weights):
    """To which degree every slot was the last one written.

        p_t = (1 − Σ_i w(i)) p_{t−1} + w

    Args:
        precedence: float (B, N). p_{t−1}.
        write_weights: float (B, N). w.

    Returns:
        float (B, N), ≥ 0; rows sum to at most 1.

    Source: Graves et al. 2016, Methods, "Temporal memory linkage".
    """
    return (1 - ops.sum(write_weights, axis=-1, keepdims=True)) * precedence + write_weights


def follow_links(links, weights):
    """Weights moved along the links, one write on and one write back.

        f = L w,  b = Lᵀ w

    Args:
        links: float (B, N, N). L.
        weights: float (B, R, N). w, of the last step.

    Returns:
        forward: float (B, R, N).
        backward: float (B, R, N).

    Source: Graves et al. 2016, Methods, "Temporal memory linkage".
    """
    # XLA on a CPU takes several times as long for the product with Lᵀ.
    forward = ops.matmul(links, ops.swapaxes(weights, 1, 2))
    return ops.swapaxes(forward, 1, 2), ops.matmul(weights, links)
