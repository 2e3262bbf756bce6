"""Equations of recurrent steps, on gates that are summed already."""

from keras import ops

from keras_attn.ops.scan import scan


def lstm_step(gates, cell, forget_bias=0.0):
    """One step of an LSTM; computed in float32.

        i, f, g, o = gates,  c_t = σ(f + b) c_{t−1} + σ(i) tanh(g),  h_t = σ(o) tanh(c_t)

    Args:
        gates: float (N, 4H): input gate, forget gate, candidate and output gate before their
            nonlinearities, side by side as in Keras.
        cell: float32 (N, H). c_{t−1}.
        forget_bias: float. b.

    Returns:
        hidden: float32 (N, H). h_t.
        cell: float32 (N, H). c_t.

    Source: Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000.
    """
    enter, forget, candidate, leave = ops.split(ops.cast(gates, "float32"), 4, axis=-1)
    cell = ops.sigmoid(forget + forget_bias) * cell + ops.sigmoid(enter) * ops.tanh(candidate)
    return ops.sigmoid(leave) * ops.tanh(cell), cell


def gru_step(input_gates, hidden_gates, hidden):
    """One step of a GRU whose reset gate acts after the product; computed in float32.

        z, r, g = x_t,  z', r', g' = U h_{t−1} + b,  z_t = σ(z + z'),  r_t = σ(r + r')
        h_t = z_t h_{t−1} + (1 − z_t) tanh(g + r_t g')

    Args:
        input_gates: float (N, 3H). x_t: update gate, reset gate and candidate, as in Keras.
        hidden_gates: float (N, 3H). The same of the state.
        hidden: float (N, H). h_{t−1}.

    Returns:
        float32 (N, H). h_t.

    Source: Cho et al. 2014, arXiv:1406.1078. Differs: the reset gate acts after the product, as in
    Keras' `reset_after=True`.
    """
    inputs = ops.split(ops.cast(input_gates, "float32"), 3, axis=-1)
    states = ops.split(ops.cast(hidden_gates, "float32"), 3, axis=-1)
    update = ops.sigmoid(inputs[0] + states[0])
    reset = ops.sigmoid(inputs[1] + states[1])
    candidate = ops.tanh(inputs[2] + reset * states[2])
    return update * ops.cast(hidden, "float32") + (1 - update) * candidate


def masked_recurrence(step, projected, state, mask=None, backwards=False):
    """Runs a cell without a context over a sequence; where the mask is False, its state stays.

        s_t = m_t s̃_t + (1 − m_t) s_{t−1}

    Args:
        step: (projected (B, G), context None, state) -> (output (B, H), state).
        projected: float (B, S, G), finite also where masked; see `zero_masked`.
        state: tuple of tensors (B, ...). s₀.
        mask: bool (B, S), or None.
        backwards: bool. Whether to run from the last step to the first.

    Returns:
        outputs: (B, S, H), in the order of the inputs.
        state: the final state.
    """
    inputs = [ops.swapaxes(projected, 0, 1)]
    if mask is not None:
        inputs.append(ops.swapaxes(mask, 0, 1))
    if backwards:
        inputs = [ops.flip(array, axis=0) for array in inputs]

    def chosen(real, new, old):
        return ops.where(ops.reshape(real, (-1, *[1] * (len(new.shape) - 1))), new, old)

    def advance(state, inputs):
        output, after = step(inputs[0], None, state)
        if mask is not None:
            after = tuple(chosen(inputs[1], new, old) for new, old in zip(after, state))
        return after, (output,)

    state, (outputs,) = scan(advance, state, tuple(inputs))
    outputs = ops.flip(outputs, axis=0) if backwards else outputs
    return ops.swapaxes(outputs, 0, 1), state
