"""keras-attn's NTM and DNC in `memory_speed`, in `MemoryRNN` or `keras.layers.RNN`."""

import keras
import tensorflow as tf

from benchmarks.memory_speed import NTM, Task
from benchmarks.tensorflow_threads import set_threads
from benchmarks.worker import serve
from keras_attn.layers import DNCCell, MemoryRNN, NTMCell
from keras_attn.training.bit_losses import BitCrossEntropy
from keras_attn.training.optimizers import ClippedAdam

CLIP_NORM = 10.0


def trainer(task, cell, batch, loop, jit):
    """A function that does one training step.

    Args:
        task: `Task`.
        cell: NTM or DNC.
        batch: int.
        loop: "MemoryRNN" or "RNN".
        jit: bool; None: eagerly.
    """
    keras.utils.set_random_seed(0)
    controller = keras.layers.LSTMCell(task.units)
    made = (NTMCell if cell == NTM else DNCCell)(controller, task.bits, task.slots, task.width)
    layer = MemoryRNN(made) if loop == "MemoryRNN" else keras.layers.RNN(made, True)
    inputs, targets, weights = map(tf.constant, task.arrays(batch))
    source = keras.Input(inputs.shape[1:])
    model = keras.Model(source, layer(source))
    optimizer, loss = ClippedAdam(1e-4, CLIP_NORM), BitCrossEntropy()
    optimizer.build(model.trainable_variables)

    def step():
        with tf.GradientTape() as tape:
            cost = loss(targets, model(inputs, training=True), weights)
        gradients = tape.gradient(cost, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return cost

    compiled = step if jit is None else tf.function(step, jit_compile=jit, autograph=False)
    return lambda: float(compiled())


def works_of(task, work, **choices):
    """The one work of a phase; choices as of `trainer`."""
    return {work: trainer(task, **choices)}


if __name__ == "__main__":
    serve(works_of, Task, set_threads)
