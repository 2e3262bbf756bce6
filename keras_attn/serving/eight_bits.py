"""Products of matrices in 8 bits, for layers where they are faster on the machine at hand."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_attn.layers.projections import Projections
from keras_attn.layers.scaled_embedding import ScaledEmbedding
from keras_attn.lazy_tensorflow import tf
from keras_attn.ops.linear import Factor, linear, loop_kernel
from keras_attn.serving.precision import precision_of

FLOAT32, INT8 = PRODUCTS = ("float32", "int8")
LARGEST_INPUT, LARGEST_WEIGHT = 127, 63
"""Whole numbers that stand for a row's largest input and a column's largest weight. Processors
without VNNI add two products in 16 bits, which 127 times 127 would overflow."""
RANGE = 127.0
"""That whole numbers of 8 bits stand for themselves in."""
ROWS, TURNS, SECONDS = (1, 32), 7, 0.01
"""How products are measured: of so many rows, so often, and so long each time."""
MULTIPLYING = (Projections, ScaledEmbedding)
"""Layers whose products can be in 8 bits."""


def check_products(products: str, model: Any, jit: bool = False) -> None:
    """Raises ValueError for unknown products, or those that a model, or XLA, cannot have."""
    if products not in PRODUCTS:
        raise ValueError(f"Expected products of {PRODUCTS}. Received: {products!r}")
    if products == FLOAT32:
        return
    if jit:
        raise ValueError(
            f"Expected products='float32' with jit=True. Received: products={products!r}"
        )
    if precision_of(model) != FLOAT32:
        raise ValueError(
            f"Expected products='float32' with precision {precision_of(model)!r}. "
            f"Received: products={products!r}"
        )
    if not any(isinstance(layer, MULTIPLYING) for layer in model._flatten_layers()):
        raise ValueError(
            "Expected a model with multi-head attention, feed-forward nets or tied embeddings "
            f"for products={products!r}. Received: {model.name}"
        )
    for layer, matrices in works_of(model):
        if not all(np.isfinite(matrix).all() for matrix in matrices.values()):
            raise ValueError(
                f"Expected finite weights for products='int8'. Received: others in {layer.path}"
            )


class EightBits(Factor):
    """A matrix that multiplies rows in 8 bits, by oneDNN.

    Rows are rounded to whole numbers times a scale of their own, so each row's result is its own.
    Relative errors of a product are about 2 %.

    Args:
        matrix: float (D, E).

    Source: Jacob et al. 2018, arXiv:1712.05877, 2.1, without zero points.
    """

    def __init__(self, matrix: np.ndarray):
        self.matrix, self.shape = matrix, matrix.shape

    @functools.cached_property
    def stored(self) -> "tuple[tf.Variable, tf.Variable]":
        """int8 (D, E), and float32 (E,), the scale of each column times that of 1 / 127."""
        largest = np.abs(self.matrix).max(axis=0)
        scale = np.where(largest > 0, largest, 1) / LARGEST_WEIGHT
        whole = np.rint(self.matrix / scale).astype(INT8)
        with tf.init_scope():
            scales = tf.Variable((scale / LARGEST_INPUT).astype(FLOAT32), name="scale")
            return tf.Variable(whole, name="whole"), scales

    @property
    def is_used(self) -> bool:
        """Whether anything was multiplied."""
        return "stored" in vars(self)

    def multiply(self, rows):
        """float32 (R, D) to float32 (R, E)."""
        whole, scale = self.stored
        largest = tf.reduce_max(tf.abs(rows), axis=1, keepdims=True)
        inputs = tf.round(rows * tf.math.divide_no_nan(float(LARGEST_INPUT), largest))
        # The operation makes a kernel anew for ranges that it has not seen, and knows those of
        # weights by their address alone, so all are always the same, and scale nothing.
        limits = [tf.constant(sign * RANGE) for sign in (-1, 1)]
        bias = tf.zeros(whole.shape[1:])
        product = quantized_matmul(tf.cast(inputs, tf.int8), whole, bias, limits, limits)
        return product * scale * largest


def quantized_matmul(left, right, bias, left_range, right_range):
    """TensorFlow's `_QuantizedMatMul`, which has no function in `tf.raw_ops`.

    Args:
        left: int8 or uint8 (R, D); 127 or 255 stands for the end of its range.
        right: int8 (D, E), which never changes.
        bias: float32 (E,), which never changes.
        left_range, right_range: pairs of float32 scalars, the latter's also (E,).

    Returns:
        float32 (R, E).
    """
    from tensorflow.python.framework.op_def_library import apply_op  # Not public.

    kind = tf.quint8 if left.dtype == tf.uint8 else tf.qint8
    left, right = tf.bitcast(left, kind), tf.bitcast(right, tf.qint8)
    (product,), *_ = apply_op(
        "_QuantizedMatMul",
        name="product",
        device_inputs=[left, right, bias, *left_range, *right_range],
        host_inputs=[],
        Tdevice_outputs=[tf.float32],
        Thost_outputs=[],
        T1=kind,
        T2=tf.qint8,
        Tbias=tf.float32,
        U=tf.float32,
        Tout=tf.float32,
        transpose_a=False,
        transpose_b=False,
        is_weight_const=True,
        is_bias_const=True,
        fused_ops=["BiasAdd", "Dequantize"],
        input_quant_mode="SCALED",
        output_quant_mode="SCALED",
        leakyrelu_alpha=0.2,
    )
    product.set_shape((left.shape[0], right.shape[1]))
    return product


class Work(NamedTuple):
    """A layer with matrices that rows are multiplied with.

    Attributes:
        layer: with `factors`, or `factor`.
        matrices: dict from the name among its kernels to float32 (D, E).
    """

    layer: Any
    matrices: dict[str, np.ndarray]


def works_of(model) -> list[Work]:
    """The layers of a model whose products could be in 8 bits."""
    works = []
    for layer in model._flatten_layers():
        if isinstance(layer, ScaledEmbedding):
            works.append(Work(layer, {"factor": ops.convert_to_numpy(layer.output_kernel())}))
        elif isinstance(layer, Projections):
            kernels = layer.kernels()._asdict().items()
            matrices = {
                name: ops.convert_to_numpy(kernel)
                for name, kernel in kernels
                if kernel is not None and len(kernel.shape) == 2
            }
            works.append(Work(layer, matrices))
    return works


Signatures = Mapping[Any, tuple[Callable, Any]]
"""By name, a function and the `tf.TensorSpec`s of its inputs, as a service's `signatures()`."""


def used_works(model: Any, signatures: Signatures) -> list[Work]:
    """The works of a model with the matrices that functions multiply with."""
    every = [
        (layer, {name: EightBits(matrix) for name, matrix in matrices.items()})
        for layer, matrices in works_of(model)
    ]
    with multiplying(every):
        for function, inputs in signatures.values():
            tf.function(function, inputs, autograph=False).get_concrete_function()
    return [
        Work(layer, {name: each.matrix for name, each in factors.items() if each.is_used})
        for layer, factors in every
        if any(each.is_used for each in factors.values())
    ]


@contextlib.contextmanager
def multiplying(chosen: Sequence[tuple[Any, dict[str, EightBits]]]) -> Iterator[None]:
    """Context in which layers multiply by factors, given by name for each."""
    with contextlib.ExitStack() as stack:
        for layer, factors in chosen:
            given = factors if "factor" in factors else {"factors": factors}
            for name, value in given.items():
                object.__setattr__(layer, name, value)
                stack.callback(object.__delattr__, layer, name)
        yield


class EightBitProducts:
    """The products of a model that are computed in 8 bits while its functions are traced.

    Args:
        model: that computes in float32.
        signatures: the functions, which are traced once before, for the matrices that they use.
        products: "float32", none; or "int8", those of layers where it is faster on this machine.
        jit: whether XLA compiles some.

    Attributes:
        kind: "int8" if any layer computes in 8 bits, else "float32".

    Raises:
        ValueError: unknown products, or "int8" for a model that does not compute in float32, that
            has no such layers, or with weights that are not finite; or where TensorFlow has no
            products in 8 bits.
    """

    def __init__(self, model: Any, signatures: Signatures, products: str, jit: bool = False):
        check_products(products, model, jit)
        works = []
        if products == INT8:
            _check_available()
            works = used_works(model, signatures)
        faster = faster_shapes(works)
        self._chosen = [
            (work.layer, {name: EightBits(matrix) for name, matrix in work.matrices.items()})
            for work in works
            if all(matrix.shape in faster for matrix in work.matrices.values())
        ]
        self.kind = INT8 if self._chosen else FLOAT32

    def apply(self) -> contextlib.AbstractContextManager[None]:
        """Context in which the chosen layers multiply in 8 bits."""
        return multiplying(self._chosen)

    def variables(self) -> "list[tf.Variable]":
        """What the traced products have read."""
        every = [factor for _, factors in self._chosen for factor in factors.values()]
        return [part for factor in every if factor.is_used for part in factor.stored]


def faster_shapes(works: Sequence[Work]) -> set[tuple[int, int]]:
    """Shapes whose products take less time in 8 bits than in float32, for 1 and for 32 rows.

    Measured on as many matrices as a model multiplies with, so that caches hold no more than
    they will; in turns, in processor time.
    """
    by_shape: dict[tuple[int, int], list[np.ndarray]] = {}
    for work in works:
        for matrix in work.matrices.values():
            by_shape.setdefault(matrix.shape, []).append(matrix)
    return {shape for shape, matrices in by_shape.items() if min(_gains(matrices)) > 1}


def _check_available():
    """Raises ValueError for a TensorFlow without products in 8 bits."""
    try:
        products_of([EightBits(np.eye(2, dtype=FLOAT32))])(tf.ones((1, 2)))
    except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError) as error:
        raise ValueError(
            "Expected a TensorFlow with oneDNN's products for products='int8'. "
            f"Received: {error.message}"
        ) from error


def _gains(matrices):
    """Median time in float32 by that in 8 bits, for each of ROWS."""
    functions = [products_of([*map(kind, matrices)]) for kind in (in_float32, EightBits)]
    random = np.random.default_rng(0)
    for rows in ROWS:
        inputs = tf.constant(random.normal(size=(rows, len(matrices[0]))), tf.float32)
        turns = [[processor_seconds(each, inputs) for each in functions] for _ in range(TURNS + 1)]
        yield float(np.median([plain / eight for plain, eight in turns[1:]]))


def in_float32(matrix: np.ndarray) -> "tf.Variable":
    """A matrix as decoding loops multiply with it."""
    return tf.Variable(loop_kernel(matrix))


def products_of(kernels: Sequence[Any]) -> Callable:
    """A graph from rows float32 (R, D) to their products with each of several (D, E)."""
    depth = kernels[0].shape[0]

    @tf.function(input_signature=[tf.TensorSpec((None, depth), tf.float32)], autograph=False)
    def products(rows):
        return [linear(rows, kernel) for kernel in kernels]

    return products


def processor_seconds(function: Callable, inputs: Any) -> float:
    """Processor time of a call, on average over SECONDS."""
    begin, calls = time.process_time(), 0
    while calls == 0 or time.process_time() - begin < SECONDS:
        function(inputs)
        calls += 1
    return (time.process_time() - begin) / calls
