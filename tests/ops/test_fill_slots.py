from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.fill_slots import fill_slots

ROWS, SLOTS, WIDTH = 3, 7, 2


def filled(first):
    """Zeros whose slot t of each row gets first + t, in a loop; and what each step saw."""
    tensor, seen = tf.zeros((ROWS, SLOTS, WIDTH)), tf.zeros(())

    def step(time, tensor, seen):
        places = tf.stack([tf.range(ROWS), tf.fill((ROWS,), time)], axis=1)
        rows = tf.fill((ROWS, WIDTH), first + tf.cast(time, "float32"))
        tensor = fill_slots(tensor, places, rows)
        return time + 1, tensor, seen + tf.reduce_sum(tensor)

    _, tensor, seen = tf.while_loop(lambda time, *_: time < SLOTS, step, (0, tensor, seen))
    return tensor, seen


@pytest.mark.parametrize("jit", [False, True])
def test_nothing_is_left_for_the_next_call(jit):
    """The zeros are a constant of the graph: an addition to them would show in the next answer."""
    function = tf.function(filled, jit_compile=jit, autograph=False)
    for first in (5.0, 11.0, 5.0):
        tensor, seen = function(tf.constant(first))
        slots = first + np.arange(SLOTS, dtype="float32")
        expected = np.broadcast_to(slots[:, None], (ROWS, SLOTS, WIDTH))
        np.testing.assert_array_equal(tensor, expected)
        np.testing.assert_allclose(seen, ROWS * WIDTH * slots.cumsum().sum())


def test_calls_beside_each_other_do_not_meet():
    function = tf.function(filled, autograph=False).get_concrete_function(
        tf.TensorSpec((), "float32")
    )
    firsts = [float(place % 13) for place in range(400)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda first: function(tf.constant(first))[0].numpy(), firsts))
    for first, answer in zip(firsts, answers, strict=True):
        np.testing.assert_array_equal(answer[:, :, 0] - first, [range(SLOTS)] * ROWS)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("jit", [False, True])
def test_a_tensor_that_is_still_read_stays(jit, nested):
    def both(tensor, rows):
        return tensor + 0, fill_slots(tensor, tf.constant([[1, 3]]), rows), tensor * 2

    inner = tf.function(both, autograph=False) if nested else both
    function = tf.function(lambda *given: inner(*given), jit_compile=jit, autograph=False)
    tensor = tf.reshape(tf.range(24.0), (2, 4, 3)) * tf.constant([1.0, 0.0])[:, None, None]
    before, after, doubled = function(tensor, tf.constant([[5.0, 7.0, 11.0]]))
    np.testing.assert_array_equal(before, tensor)
    np.testing.assert_array_equal(doubled, 2 * tensor.numpy())
    expected = tensor.numpy()
    expected[1, 3] = [5, 7, 11]
    np.testing.assert_array_equal(after, expected)


def test_gradient():
    with tf.GradientTape() as tape:
        rows = tf.constant([[5.0, 7.0]])
        tape.watch(rows)
        tensor = fill_slots(tf.zeros((3, 2)), tf.constant([[1]]), rows)
        loss = tf.reduce_sum(tensor * tf.constant([[2.0, 3.0]]))
    np.testing.assert_array_equal(tape.gradient(loss, rows), [[2, 3]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_types(dtype):
    tensor = fill_slots(tf.zeros((3, 2), dtype), tf.constant([[1]]), tf.ones((1, 2), dtype))
    assert tensor.dtype == dtype
    np.testing.assert_array_equal(tf.cast(tensor, "float32"), [[0, 0], [1, 1], [0, 0]])
