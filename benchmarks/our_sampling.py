"""keras-attn in `sampling_speed`, with or without XLA."""

import tensorflow as tf

from benchmarks.sampling_speed import CALLS, Task
from benchmarks.tensorflow_threads import set_threads
from benchmarks.worker import serve
from keras_attn.ops.sample import sample
from keras_attn.ops.sampling_grids import affine_grid, target_points


def works_of(task, size, jit):
    """The two works of one size, by name; gradients are those to images and θ."""
    images, theta, upstream = map(tf.constant, task.arrays(size))
    points = target_points(*images.shape[1:3])
    compiled = tf.function(jit_compile=jit, autograph=False)

    def read(images, theta):
        return sample(images, affine_grid(theta, points))

    @compiled
    def both(images, theta, upstream):
        with tf.GradientTape() as tape:
            tape.watch((images, theta))
            output = read(images, theta)
        gradients = tape.gradient(output, (images, theta), upstream)
        return [output, *map(tf.convert_to_tensor, gradients)]

    forward = compiled(read)
    calls = [lambda: [forward(images, theta)], lambda: both(images, theta, upstream)]
    return dict(zip(task.works(size), map(repeated, calls)))


def repeated(call):
    """A work of several calls, each to its end; the sum of the last's values."""

    def work():
        for _ in range(CALLS):
            arrays = [array.numpy() for array in call()]
        return float(arrays[0].sum())

    return work


if __name__ == "__main__":
    serve(works_of, Task, set_threads)
