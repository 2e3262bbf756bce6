"""Addressing of a memory with several heads, reading from it and writing to it.

Shapes: B batch, H heads, N slots, W width of a slot. Everything is computed in the dtype of the
memory.
"""

from keras import ops

from keras_attn.ops.greatest import greatest

LEAST_SQUARED_NORM = 1e-6
LEAST_WEIGHT = 1e-30


def cosine_similarity(keys, memory):
    """Cosine of every key and every slot: 0 for a zero vector, with finite gradients.

        K[k, m] = k · m / (√(|k|² + ε) √(|m|² + ε)),  ε = 10⁻⁶

    Args:
        keys: float (B, H, W).
        memory: float (B, N, W).

    Returns:
        float (B, H, N), from −1 to 1.
    """
    keys, memory = _directions(keys), _directions(memory)
    return ops.matmul(keys, ops.swapaxes(memory, 1, 2))


def content_weights(keys, strengths, memory):
    """Weights of the slots by their contents.

        w(i) = softmax_i(β K[k, M(i)])

    Args:
        keys: float (B, H, W). k.
        strengths: float (B, H), > 0. β.
        memory: float (B, N, W). M.

    Returns:
        float (B, H, N); rows sum to 1.

    Example:
        >>> memory = ops.array([[[1.0, 0.0], [0.0, 1.0]]])
        >>> weights = content_weights(ops.array([[[0.0, 3.0]]]), ops.array([[20.0]]), memory)
        >>> [round(float(weight), 3) for weight in weights[0, 0]]
        [0.0, 1.0]

    Source: Graves et al. 2014, arXiv:1410.5401, (5) and (6). Differs: ε.
    """
    scores = strengths[..., None] * cosine_similarity(keys, memory)
    largest = greatest(ops.stop_gradient(scores), float("-inf"), keepdims=True)
    exponentials = ops.exp(scores - largest)
    return exponentials / ops.sum(exponentials, axis=-1, keepdims=True)


def interpolate(content, previous, gates):
    """The gate between the weights by content and those of the last step.

        w_g = g w_c + (1 − g) w_{t−1}

    Args:
        content: float (B, H, N). w_c.
        previous: float (B, H, N). w_{t−1}.
        gates: float (B, H), from 0 to 1. g.

    Source: Graves et al. 2014, arXiv:1410.5401, (7).
    """
    gates = gates[..., None]
    return gates * content + (1 - gates) * previous


def circular_shift(weights, shifts):
    """Circular convolution of weights with a distribution over shifts.

        w̃(i) = Σ_j w(j) s(i − j mod N)

    Args:
        weights: float (B, H, N).
        shifts: float (B, H, 2 S + 1), with 2 S + 1 ≤ N. s(−S) to s(S); s(1) moves to the next slot.

    Example:
        >>> weights = ops.array([[[0.0, 0.0, 1.0]]])
        >>> circular_shift(weights, ops.array([[[0.0, 0.0, 1.0]]])).numpy().tolist()
        [[[1.0, 0.0, 0.0]]]

    Source: Graves et al. 2014, arXiv:1410.5401, (8).
    """
    count = shifts.shape[-1]
    moved = [ops.roll(weights, place - count // 2, axis=-1) for place in range(count)]
    return ops.sum(ops.stack(moved, axis=-1) * shifts[..., None, :], axis=-1)


def sharpen(weights, exponents):
    """Weights to a power, normalized.

        w(i) = w̃(i)^γ / Σ_j w̃(j)^γ

    A weight below 10⁻³⁰ is taken as 10⁻³⁰, so gradients are finite where a weight is 0.

    Args:
        weights: float (B, H, N), ≥ 0. w̃.
        exponents: float (B, H), ≥ 1. γ.

    Source: Graves et al. 2014, arXiv:1410.5401, (9).
    """
    powers = exponents[..., None] * ops.log(ops.maximum(weights, LEAST_WEIGHT))
    largest = greatest(ops.stop_gradient(powers), float("-inf"), keepdims=True)
    powers = ops.exp(powers - largest)
    return powers / ops.sum(powers, axis=-1, keepdims=True)


def read_memory(memory, weights):
    """What heads read.

        r = Σ_i w(i) M(i)

    Args:
        memory: float (B, N, W).
        weights: float (B, H, N).

    Returns:
        float (B, H, W).

    Source: Graves et al. 2014, arXiv:1410.5401, (2).
    """
    return ops.matmul(weights, memory)


def write_memory(memory, weights, erased, added):
    """Erases with every head, then adds with every head.

        M_t(i) = M_{t−1}(i) Π_h (1 − w_h(i) e_h) + Σ_h w_h(i) a_h

    Args:
        memory: float (B, N, W).
        weights: float (B, H, N).
        erased: float (B, H, W), from 0 to 1. e.
        added: float (B, H, W). a.

    Returns:
        float (B, N, W).

    Source: Graves et al. 2014, arXiv:1410.5401, (3) and (4).
    """
    for head in range(weights.shape[1]):
        memory = memory * (1 - weights[:, head, :, None] * erased[:, head, None, :])
    return memory + ops.matmul(ops.swapaxes(weights, 1, 2), added)


def _directions(vectors):
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors * ops.rsqrt(squares + LEAST_SQUARED_NORM)


def steps_read(write_weights, read_weights):
    """How much of what a head reads was written at each step.

        s(r, t) = Σ_i w_r(i) w_t(i) Π_{t' > t} (1 − w_{t'}(i))

    What a slot holds counts as overwritten as far as it is written to again, whatever is erased.

    Args:
        write_weights: float (B, T, H, N). w_t; several heads write together, 1 at most.
        read_weights: float (B, R, N). w_r, after the last step.

    Returns:
        float (B, R, T); rows sum to at most the sum of w_r.

    Example:
        >>> write = ops.array([[[[1.0, 0.0]], [[0.0, 0.5]], [[0.5, 0.0]]]])
        >>> shares = steps_read(write, ops.array([[[0.5, 0.5]]]))
        >>> [round(float(share), 3) for share in shares[0, 0]]
        [0.25, 0.25, 0.25]
    """
    written = ops.minimum(ops.sum(write_weights, axis=2), 1.0)
    unwritten = ops.log(ops.maximum(1.0 - written, LEAST_WEIGHT))
    after = ops.sum(unwritten, axis=1, keepdims=True) - ops.cumsum(unwritten, axis=1)
    return ops.einsum("brn,btn->brt", read_weights, written * ops.exp(after))
