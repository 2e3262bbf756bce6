"""The matrix products and convolutions of a step, counted while it runs, and done again alone."""

import contextlib
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import op_callbacks


class Product(NamedTuple):
    """One operation of TensorFlow that multiplies.

    Attributes:
        name: str. Such as `MatMul`.
        inputs: of each input its data type and shape, and the numbers of those that are sizes.
        attributes: pairs of name and value, as TensorFlow executes them.
        shape: of the output.
    """

    name: str
    inputs: tuple[tuple[tf.DType, tuple[int, ...], tuple[int, ...] | None], ...]
    attributes: tuple
    shape: tuple[int, ...]

    @property
    def operations(self) -> int:
        """A multiplication and an addition are two."""
        return 2 * _MULTIPLICATIONS[self.name](self)

    def run(self, times: int = 1) -> None:
        """Does it again, of ones."""
        inputs = [
            tf.ones(shape, dtype) if numbers is None else tf.constant(numbers, dtype)
            for dtype, shape, numbers in self.inputs
        ]
        attributes = tuple(chain.from_iterable(self.attributes))
        for _ in range(times):
            execute.execute(self.name.encode(), 1, inputs, attributes, context.context())


def counted(step: Callable[[], object]) -> Counter[Product]:
    """The products of a function, how often each is done.

    Functions of TensorFlow inside it run eagerly, so each round of a loop counts.
    """
    products = Counter[Product]()

    def count(name, inputs, attributes, outputs, op_name=None, graph=None):
        name = name.decode() if isinstance(name, bytes) else name
        if name in _MULTIPLICATIONS:
            [output] = outputs
            described = tuple(map(_described, inputs))
            values = tuple(tuple(each) if isinstance(each, list) else each for each in attributes)
            pairs = [pair for pair in zip(values[::2], values[1::2]) if pair[1] is not None]
            products[Product(name, described, tuple(pairs), tuple(output.shape))] += 1
        return outputs

    with _eager_functions():
        op_callbacks.add_op_callback(count)
        try:
            step()
        finally:
            op_callbacks.remove_op_callback(count)
    return products


def operations(products: Counter[Product]) -> int:
    """Floating-point operations of counted products."""
    return sum(product.operations * times for product, times in products.items())


def square(size: int = 2048) -> Product:
    """The product of two square matrices, which a machine does at the highest rate."""
    matrix = tf.ones((size, size))
    [product] = counted(lambda: tf.matmul(matrix, matrix))
    return product


@contextlib.contextmanager
def _eager_functions():
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


def _described(tensor):
    numbers = None if tensor.dtype.is_floating else tuple(tensor.numpy().tolist())
    return tensor.dtype, tuple(tensor.shape), numbers


def _of_matrices(turned):
    def multiplications(product):
        _, shape, _ = product.inputs[0]
        inner = shape[-2 if dict(product.attributes)[turned] else -1]
        return int(np.prod(product.shape)) * inner

    return multiplications


def _of_convolution(output, kernel, joined):
    """Of a function that says the shape of the forward pass' output, and one for its kernel's.

    `joined` is the number of the kernel's dimensions that a point of the output sums over, which
    are its first.
    """

    def multiplications(product):
        return int(np.prod(output(product))) * int(np.prod(kernel(product)[:joined]))

    return multiplications


def _of_labels(product):
    """Of an `Einsum`, whose labels each take all of their values; one of a single array adds."""
    equation = tf.compat.as_str(dict(product.attributes)["equation"])
    labels = equation.partition("->")[0].split(",")
    sizes = {}
    for names, (_, shape, _) in zip(labels, product.inputs, strict=True):
        sizes |= dict(zip(names, shape, strict=True))
    return int(np.prod([*sizes.values()])) if len(labels) > 1 else 0


def _shape(place):
    return lambda product: product.inputs[place][1]


def _own_shape(product):
    return product.shape


def _convolutions(name, joined):
    return {
        name: _of_convolution(_own_shape, _shape(1), joined),
        f"{name}BackpropInput": _of_convolution(_shape(2), _shape(1), joined),
        f"{name}BackpropFilter": _of_convolution(_shape(2), _own_shape, joined),
    }


_MULTIPLICATIONS: dict[str, Callable[[Product], int]] = {
    "MatMul": _of_matrices("transpose_a"),
    "Einsum": _of_labels,
    **dict.fromkeys(("BatchMatMulV2", "BatchMatMulV3"), _of_matrices("adj_x")),
    **_convolutions("Conv2D", 3),
    **_convolutions("DepthwiseConv2dNative", 2),
}
