"""Rotary positions: pairs of features turned by angles that grow with the position."""

import inspect
import math
import numbers
from collections.abc import Mapping

import keras
import numpy as np
from keras import ops

ROTARY_BASE = 10000.0


def rotary_frequencies(units, base=ROTARY_BASE):
    """Angles per position, in radians: θ_i = base^(−2i / units) for i = 0 … units/2 − 1.

    Args:
        units: int > 0, even. Number of features that are turned.
        base: float > 0.

    Returns:
        NumPy float64 (units / 2,).

    Example:
        >>> rotary_frequencies(4).tolist()
        [1.0, 0.01]

    Source: Su et al. 2021, arXiv:2104.09864, 3.2.2.
    """
    return np.power(float(base), -np.arange(0, units, 2) / units)


def rotate(inputs, positions, frequencies, interleaved=False, factor=1.0):
    """Turns pairs of features (x, y) by the angles p·θ_i.

        (x, y) → factor · (x cos pθ − y sin pθ, x sin pθ + y cos pθ)

    The product of a query at t and a key at s, both turned, depends on t − s only.

    Args:
        inputs: float (..., D). The first 2·|θ| features are turned, the others stay.
        positions: int, broadcastable to the leading axes of `inputs`. p.
        frequencies: float (|θ|,). θ.
        interleaved: bool. Whether neighbors are a pair, as in the paper; False pairs feature i with
            feature i + |θ|, as most checkpoints do.
        factor: float.

    Returns:
        The inputs' shape and dtype; computed in float32, or in float64 for float64.

    Example:
        >>> turned = rotate(ops.array([[1.0, 0.0]]), ops.array([1]), [math.pi / 6])
        >>> ops.convert_to_numpy(turned).astype(float).round(2).tolist()
        [[0.87, 0.5]]

    Source: Su et al. 2021, arXiv:2104.09864, 3.2.2.
    """
    pairs = len(frequencies)
    inputs = ops.convert_to_tensor(inputs)
    wide = "float64" if keras.backend.standardize_dtype(inputs.dtype) == "float64" else "float32"
    positions = ops.cast(ops.convert_to_tensor(positions), wide)[..., None]
    angles = positions * ops.convert_to_tensor(np.asarray(frequencies), dtype=wide)
    cosine, sine = ops.cos(angles) * factor, ops.sin(angles) * factor
    turned, rest = inputs, None
    if 2 * pairs < inputs.shape[-1]:
        turned, rest = inputs[..., : 2 * pairs], inputs[..., 2 * pairs :]
    wide_inputs, shape = ops.cast(turned, wide), tuple(ops.shape(turned))
    # A roll swaps the features of a pair: its gradient is three times as fast as that of slices.
    if interleaved:
        split = ops.reshape(wide_inputs, (*shape[:-1], pairs, 2))
        partners = ops.reshape(ops.roll(split, 1, axis=-1), shape)
        cosine, sine = ops.repeat(cosine, 2, axis=-1), ops.stack([-sine, sine], axis=-1)
        sine = ops.reshape(sine, ops.shape(cosine))
    else:
        partners = ops.roll(wide_inputs, pairs, axis=-1)
        cosine = ops.concatenate([cosine, cosine], axis=-1)
        sine = ops.concatenate([-sine, sine], axis=-1)
    outputs = ops.cast(wide_inputs * cosine + partners * sine, inputs.dtype)
    return outputs if rest is None else ops.concatenate([outputs, rest], axis=-1)


def linear_scaling(frequencies, base, *, factor):
    """Frequencies for contexts `factor` times as long: all positions are divided by it.

    Args:
        frequencies: NumPy float64 (units / 2,), of `rotary_frequencies`.
        base: float.
        factor: float ≥ 1.

    Returns:
        frequencies: NumPy float64 (units / 2,).
        attention_factor: float, of queries and keys: 1.

    Source: position interpolation, Chen et al. 2023, arXiv:2306.15595.
    """
    return frequencies / factor, 1.0


def llama3_scaling(
    frequencies,
    base,
    *,
    factor,
    original_max_position_embeddings,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
):
    """Frequencies of Llama 3: slow ones are divided by `factor`, fast ones stay.

    With L the original length, a wave shorter than L / high_freq_factor stays, one longer than
    L / low_freq_factor is slowed, and between them the frequency is a mean of both.

    Args:
        frequencies: NumPy float64 (units / 2,), of `rotary_frequencies`.
        base: float.
        factor: float ≥ 1.
        original_max_position_embeddings: int. L.
        low_freq_factor, high_freq_factor: float, low < high.

    Returns:
        frequencies: NumPy float64 (units / 2,).
        attention_factor: float, of queries and keys: 1.

    Source: Grattafiori et al. 2024, arXiv:2407.21783; the formula is that of the authors' program.
    """
    waves = original_max_position_embeddings * frequencies / (2 * math.pi)  # In L positions.
    kept = np.clip((waves - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
    return frequencies * (kept + (1 - kept) / factor), 1.0


def yarn_scaling(
    frequencies,
    base,
    *,
    factor,
    original_max_position_embeddings,
    beta_fast=32.0,
    beta_slow=1.0,
    attention_factor=None,
    mscale=None,
    mscale_all_dim=None,
    truncate=True,
):
    """Frequencies of YaRN: a ramp over the features from those that stay to those slowed.

    Features that turn more than `beta_fast` times within the original length L stay, those that
    turn less than `beta_slow` times are slowed by `factor`. Queries and keys are multiplied by the
    attention factor, 0.1 ln(factor) + 1 unless given.

    Args:
        frequencies: NumPy float64 (units / 2,), of `rotary_frequencies`.
        base: float.
        factor: float ≥ 1.
        original_max_position_embeddings: int. L.
        beta_fast, beta_slow: float, slow < fast.
        attention_factor: float or None.
        mscale, mscale_all_dim: float or None. Of DeepSeek's checkpoints: the attention factor is
            (0.1 mscale ln(factor) + 1) / (0.1 mscale_all_dim ln(factor) + 1).
        truncate: bool. Whether the ramp begins and ends at whole features.

    Returns:
        frequencies: NumPy float64 (units / 2,).
        attention_factor: float, of queries and keys.

    Source: Peng et al. 2023, arXiv:2309.00071, 3.2 to 3.4; the ramp over features is that of the
    authors' program.
    """
    units = 2 * len(frequencies)

    def feature(turns):
        """The feature, a float, that turns so many times within L."""
        waves = original_max_position_embeddings / (turns * 2 * math.pi)
        return units * math.log(waves) / (2 * math.log(base))

    first, last = feature(beta_fast), feature(beta_slow)
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, units - 1)
    last = last + 0.001 if first == last else last
    slowed = np.clip((np.arange(len(frequencies)) - first) / (last - first), 0, 1)

    def magnitude(scale):
        return 0.1 * scale * math.log(factor) + 1 if factor > 1 else 1.0

    if attention_factor is None:
        attention_factor = magnitude(mscale if mscale and mscale_all_dim else 1.0)
        if mscale and mscale_all_dim:
            attention_factor /= magnitude(mscale_all_dim)
    return frequencies * (1 - slowed + slowed / factor), float(attention_factor)


SCALINGS = {"linear": linear_scaling, "llama3": llama3_scaling, "yarn": yarn_scaling}
"""Ways to stretch rotary positions, by their `rope_type`."""


def scaled_frequencies(units, base=ROTARY_BASE, scaling=None):
    """`rotary_frequencies` for contexts longer than those of the training.

    Args:
        units: int > 0, even.
        base: float > 1.
        scaling: mapping or None. "rope_type", "linear", "llama3" or "yarn", and the keywords of
            `linear_scaling`, `llama3_scaling` or `yarn_scaling`: the `rope_scaling` of a
            checkpoint's config.json. In older ones "rope_type" is called "type".

    Returns:
        frequencies: NumPy float64 (units / 2,).
        attention_factor: float. What queries and keys are multiplied with.

    Raises:
        ValueError: an unknown rope_type; a keyword that is missing, unknown or out of range.

    Example:
        >>> scaled_frequencies(4, scaling={"rope_type": "linear", "factor": 4.0})[0].tolist()
        [0.25, 0.0025]
    """
    frequencies = rotary_frequencies(units, base)
    if scaling is None:
        return frequencies, 1.0
    if not isinstance(scaling, Mapping):
        raise ValueError(
            f"Expected a scaling as a dict with rope_type, or None. Received: scaling={scaling!r}"
        )
    arguments = dict(scaling)
    older = arguments.pop("type", None)
    kind = arguments.pop("rope_type", older)
    if kind not in SCALINGS:
        raise ValueError(
            f"Expected the rope_type of a scaling in {tuple(SCALINGS)}. Received: {kind!r}"
        )
    _check_scaling(kind, arguments)
    return SCALINGS[kind](frequencies, base, **arguments)


def _check_scaling(kind, arguments):
    """Raises ValueError unless a scaling has the arguments of its kind, in their ranges."""
    known = {
        name: part
        for name, part in inspect.signature(SCALINGS[kind]).parameters.items()
        if part.kind is part.KEYWORD_ONLY
    }
    needed = {name for name, part in known.items() if part.default is part.empty}
    if not needed <= set(arguments) <= set(known):
        raise ValueError(
            f"Expected a scaling of rope_type {kind!r} with {', '.join(sorted(needed))}; it also "
            f"takes {', '.join(sorted(set(known) - needed)) or 'nothing else'}. "
            f"Received: {', '.join(sorted(arguments)) or 'nothing'}"
        )
    values = {name: part.default for name, part in known.items()} | arguments
    for name, value in arguments.items():
        if value is known[name].default:
            continue
        if not isinstance(value, numbers.Real) or not math.isfinite(value):
            raise ValueError(f"Expected a number as {name} of a scaling. Received: {value!r}")
    factor = values.get("attention_factor")
    if factor is not None and not factor > 0:
        raise ValueError(f"Expected attention_factor > 0 in a scaling. Received: {factor!r}")
    if not values["factor"] >= 1:
        raise ValueError(f"Expected factor >= 1 in a scaling. Received: {values['factor']!r}")
    if "original_max_position_embeddings" in values:
        length = values["original_max_position_embeddings"]
        if not length >= 1:
            raise ValueError(
                f"Expected original_max_position_embeddings >= 1 in a scaling. Received: {length!r}"
            )
    for low, high in (("low_freq_factor", "high_freq_factor"), ("beta_slow", "beta_fast")):
        if low in values and not 0 < values[low] < values[high]:
            raise ValueError(
                f"Expected 0 < {low} < {high} in a scaling. "
                f"Received: {values[low]!r} and {values[high]!r}"
            )
