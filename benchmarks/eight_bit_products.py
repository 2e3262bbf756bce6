"""Products in 8 bits of TensorFlow's own, beside those in float32, on the machine at hand.

Run as `taskset -c 0 python -m benchmarks.eight_bit_products`. A table has microseconds of processor
time of a product by shape and rows, on one thread, medians over the turns, and in brackets how many
times as fast as float32 it is, medians of the ratios within the turns; and the relative error. The
time of 8 bits includes rounding the inputs in each call, and scaling back. Each product is one of
several with weights of their own, so that caches hold no more than in a model. A second table has
all products of a step of a Transformer's decoder of the base size.

Kinds: `8 bits` is what `keras-attn export --products int8` computes; `per channel` leaves the
columns' scales to the operation; `zero point` gives it inputs of 0 to 255.
"""

import argparse
import functools
import re
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks.tensorflow_threads import set_threads
from benchmarks.timing import answers_in_turns, ratio, table
from keras_attn.serving.eight_bits import (
    LARGEST_INPUT,
    LARGEST_WEIGHT,
    EightBits,
    in_float32,
    processor_seconds,
    products_of,
    quantized_matmul,
)

ROWS = (1, 4, 32, 128)
SHAPES = ((512, 512), (512, 2048), (2048, 512), (256, 1024), (512, 8000), (512, 58101))
LAYER = ((512, 1536), *[(512, 512)] * 3, (512, 2048), (2048, 512))
STEP = (*LAYER * 6, (512, 8000))
"""Queries, keys and values joined; two outputs and the queries of the attention to the source."""
CACHE, MOST = 2**24, 8
"""Weights that a processor's caches do not hold; and matrices of a shape at most."""
FLAGS = r"avx2|avx512f|avx512_vnni|avx_vnni|amx\w*|avx512_bf16"


class PerChannel(EightBits):
    """Columns are scaled by the operation."""

    def multiply(self, rows):
        whole, scale = self.stored
        largest = tf.reduce_max(tf.abs(rows), axis=1, keepdims=True)
        inputs = tf.cast(tf.round(rows * (LARGEST_INPUT / largest)), tf.int8)
        limits = [tf.constant(sign) for sign in (-1.0, 1.0)]
        with tf.init_scope():
            ends = scale.numpy() * LARGEST_INPUT**2
        columns = [tf.constant(sign * ends) for sign in (-1, 1)]
        return quantized_matmul(inputs, whole, tf.zeros(len(ends)), limits, columns) * largest


class ZeroPoint(EightBits):
    """Inputs are 0 to 255, 128 of which stands for zero."""

    def multiply(self, rows):
        whole, scale = self.stored
        largest = tf.reduce_max(tf.abs(rows), axis=1, keepdims=True)
        inputs = tf.cast(tf.round(rows * (LARGEST_INPUT / largest) + 128), tf.uint8)
        with tf.init_scope():
            bias = -128.0 * whole.numpy().astype("float32").sum(axis=0)
        left = [tf.constant(0.0), tf.constant(255.0)]
        right = [tf.constant(-127.0), tf.constant(127.0)]
        return quantized_matmul(inputs, whole, tf.constant(bias), left, right) * scale * largest


KINDS = {"float32": in_float32, "8 bits": EightBits, "per channel": PerChannel}
KINDS |= {"zero point": ZeroPoint}


def by_shape(turns: int) -> str:
    """The table of products."""
    rows_of_table = []
    for depth, columns in SHAPES:
        matrices = _matrices([(depth, columns)] * min(MOST, max(1, CACHE // (depth * columns))))
        functions = {name: _functions(kind, matrices) for name, kind in KINDS.items()}
        for rows in ROWS:
            seconds = _measured(functions, rows, turns)
            error = _error(functions["8 bits"], matrices, rows)
            cells = _cells({name: part / len(matrices) for name, part in seconds.items()}, 1e6)
            rows_of_table.append((f"{depth}→{columns}", rows, *cells, f"{error:.1%}"))
    return table(("shape", "rows", *KINDS, "error"), rows_of_table)


def of_a_step(turns: int) -> str:
    """The table of all products of a step, in milliseconds."""
    matrices = _matrices(STEP)
    functions = {name: _functions(kind, matrices) for name, kind in KINDS.items()}
    cells = [(rows, *_cells(_measured(functions, rows, turns), 1e3)) for rows in ROWS]
    return table(("rows", *KINDS), cells)


def _matrices(shapes):
    random = np.random.default_rng(0)
    return [random.normal(0, shape[0] ** -0.5, shape).astype("float32") for shape in shapes]


def _functions(kind, matrices):
    """A graph of all products for each number of columns of the inputs."""
    by_depth = {}
    for matrix in matrices:
        by_depth.setdefault(len(matrix), []).append(kind(matrix))
    return {depth: products_of(kernels) for depth, kernels in by_depth.items()}


def _inputs(rows, depth):
    return tf.constant(np.random.default_rng(rows).normal(size=(rows, depth)), tf.float32)


def _measured(functions, rows, turns):
    """Seconds of all products of each kind, (turns,)."""

    def work(by_depth):
        return sum(processor_seconds(f, _inputs(rows, depth)) for depth, f in by_depth.items())

    works = {name: functools.partial(work, each) for name, each in functions.items()}
    return {name: np.array(parts) for name, parts in answers_in_turns(works, turns).items()}


def _cells(seconds, scale):
    plain = seconds["float32"]
    return [
        f"{np.median(part) * scale:.3g} ({ratio(plain, part):.2f})" for part in seconds.values()
    ]


def _error(functions, matrices, rows):
    """Of the first product, relative to its own size."""
    depth = len(matrices[0])
    inputs = _inputs(rows, depth)
    exact = inputs.numpy() @ matrices[0]
    return np.linalg.norm(functions[depth](inputs)[0] - exact) / np.linalg.norm(exact)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=7)
    turns = parser.parse_args().turns
    set_threads(1)
    flags = sorted(set(re.findall(rf"\b(?:{FLAGS})\b", Path("/proc/cpuinfo").read_text())))
    print(f"weights of {-LARGEST_WEIGHT} to {LARGEST_WEIGHT}; processor with {' '.join(flags)}")
    print(f"\n{by_shape(turns)}\n\n{of_a_step(turns)}")


if __name__ == "__main__":
    main()
