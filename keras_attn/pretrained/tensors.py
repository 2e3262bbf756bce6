"""The tensors that a checkpoint must have, and their conversion."""

import math
import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

_MOST_FAULTS = 10
VISION = "a Vision Transformer"


class PlannedTensor(NamedTuple):
    """A tensor that a checkpoint must have.

    Attributes:
        name: in the file.
        shape: in the file.
        parts: function from the array to a dict of name -> array, under the project's names; {}
            drops it.
    """

    name: str
    shape: tuple[int, ...]
    parts: Callable[[np.ndarray], dict[str, np.ndarray]]


def vector(name, part, units):
    """Plans a vector that is kept unchanged."""
    return PlannedTensor(name, (units,), lambda array: {part: array})


def torch_kernel(name, part, inputs, outputs):
    """Plans a matrix of torch's Linear (outputs, inputs), transposed."""
    return PlannedTensor(name, (outputs, inputs), lambda array: {part: array.T})


def torch_linear(name, part, inputs, outputs):
    """Plans weight and bias of torch's Linear, as `part`kernel and `part`bias."""
    yield torch_kernel(f"{name}.weight", f"{part}kernel", inputs, outputs)
    yield vector(f"{name}.bias", f"{part}bias", outputs)


def split(name, parts, shape):
    """Plans an array whose last axis holds equal parts, one for each name."""
    return PlannedTensor(
        name, shape, lambda array: dict(zip(parts, np.split(array, len(parts), axis=-1)))
    )


def scaled(planned, factor):
    """Plans the same tensor with its parts multiplied."""
    return planned._replace(
        parts=lambda array: {part: factor * own for part, own in planned.parts(array).items()}
    )


def torch_norm(name, part, units):
    """Plans weight and bias of torch's LayerNorm."""
    yield vector(f"{name}.weight", f"{part}/scale", units)
    yield vector(f"{name}.bias", f"{part}/offset", units)


def torch_joined_projections(weight, bias, part, units):
    """Plans one matrix (3D, D) and one bias (3D,) of queries, keys and values.

    Args:
        weight: name of the matrix.
        bias: name of the bias; None if there is none.
        part: what stands before the project's names.
        units: D.
    """

    def split(kind, array):
        names = (f"{part}/{name}_{kind}" for name in ("query", "key", "value"))
        return dict(zip(names, np.split(array.T, 3, axis=-1)))

    yield PlannedTensor(weight, (3 * units, units), lambda array: split("kernel", array))
    if bias is not None:
        yield PlannedTensor(bias, (3 * units,), lambda array: split("bias", array))


def torch_patches(name, config):
    """Plans weight and bias of torch's convolution of patches."""
    size, units = config.patch_size, config.hidden_dim
    yield PlannedTensor(
        f"{name}.weight",
        (units, 3, size, size),
        lambda array: {"patches/kernel": array.transpose(2, 3, 1, 0)},
    )
    yield vector(f"{name}.bias", "patches/bias", units)


def positions(name, config, before):
    """Plans the table of positions (1, before + height · width, D), `before` 1 for a token's."""
    height, width = config.grid
    units = config.hidden_dim

    def parts(array):
        weights = {"positions": array[0, before:].reshape(height, width, units)}
        return {**weights, "token_position": array[0, 0]} if before else weights

    return PlannedTensor(name, (1, before + height * width, units), parts)


def token(name, units):
    """Plans the class token (1, 1, D)."""
    return PlannedTensor(name, (1, 1, units), lambda array: {"token": array[0, 0]})


def converted(
    path, tensors: dict[str, np.ndarray], plan: Iterable[PlannedTensor], model: str = VISION
):
    """Checks all tensors of a checkpoint, then converts them.

    Args:
        path: of the file, for the message.
        tensors: name -> array.
        plan: `PlannedTensor` of all required tensors.
        model: what it is, for the message.

    Returns:
        dict of name -> float32 array.

    Raises:
        ValueError: missing or unexpected tensors, wrong shapes or dtypes; the first 10 are listed
            with their shapes.
    """
    plan = list(plan)
    expected = {tensor.name: tensor.shape for tensor in plan}
    faults = [_fault(name, shape, tensors.get(name)) for name, shape in expected.items()]
    faults += [
        f"{name} of shape {array.shape}, expected no such tensor"
        for name, array in tensors.items()
        if name not in expected
    ]
    faults = [fault for fault in faults if fault]
    if faults:
        more = len(faults) - _MOST_FAULTS
        ending = [f"and {more} more"] if more > 0 else []
        raise ValueError(
            f"Expected the tensors of {model} in {os.fspath(path)!r}. "
            f"Received: {'; '.join(faults[:_MOST_FAULTS] + ending)}"
        )
    converted: dict[str, np.ndarray] = {}
    for tensor in plan:
        converted |= tensor.parts(tensors[tensor.name].astype(np.float32))
    return converted


def _fault(name, shape, array):
    """What is wrong with a tensor, or None."""
    if array is None:
        return f"no {name}, expected shape {shape}"
    if array.shape != shape:
        return f"{name} of shape {array.shape}, expected {shape}"
    if array.dtype.kind != "f":
        return f"{name} of {array.dtype}, expected floats"
    return None


def shape_of(path, tensors, name, axes):
    """The shape of a tensor that sizes are read from; ValueError unless it has `axes` axes."""
    array = tensors.get(name)
    if array is None or array.ndim != axes:
        received = "no such tensor" if array is None else f"shape {array.shape}"
        raise ValueError(
            f"Expected {name} of {axes} axes in {os.fspath(path)!r}. Received: {received}"
        )
    return array.shape


def refusal(path, reason, model=VISION):
    """ValueError for a checkpoint of an unsupported model."""
    return ValueError(f"Expected {model} of known kind in {os.fspath(path)!r}. Received: {reason}")


def count_blocks(tensors, start):
    """Number of blocks: 1 + the largest number after `start` in a name."""
    rests = (name.removeprefix(start) for name in tensors if name.startswith(start))
    numbers = (rest.replace("/", ".").split(".")[0] for rest in rests)
    return max((int(number) + 1 for number in numbers if number.isdecimal()), default=0)


def square_size(path, cells, patch_size, choices):
    """(height, width) in pixels: `image_size` in choices, or of a square of cells."""
    if "image_size" in choices:
        return choices["image_size"]
    side = math.isqrt(cells)
    if side * side != cells:
        raise refusal(path, f"{cells} positions, which do not form a square, and no image_size=")
    return (side * patch_size, side * patch_size)
