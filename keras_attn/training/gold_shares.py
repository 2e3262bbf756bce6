"""How the share of gold tokens among a decoder's inputs falls; for `ScheduledSampling`.

Each is a function of the batches trained on, int scalar i from 0, to a probability, float32 scalar.
"""

import math
from dataclasses import dataclass

import keras
from keras import ops

from keras_attn.layers.config_fields import ConfigFields


@keras.saving.register_keras_serializable(package="keras_attn")
@dataclass(frozen=True)
class LinearShare(ConfigFields):
    """max(floor, start − slope · i).

    Args:
        start: probability.
        slope: float ≥ 0, by which it falls a batch.
        floor: probability, at most `start`.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> share = LinearShare(start=1.0, slope=0.25, floor=0.5)
        >>> [float(share(step)) for step in (0, 1, 7)]
        [1.0, 0.75, 0.5]

    Source: Bengio et al. 2015, arXiv:1506.03099, 2.4.
    """

    start: float = 1.0
    slope: float = 0.0
    floor: float = 0.0

    def __post_init__(self):
        if not (0 <= self.floor <= self.start <= 1 and self.slope >= 0):
            raise ValueError(
                "Expected 0 <= floor <= start <= 1 and slope >= 0. Received: "
                f"floor={self.floor}, start={self.start}, slope={self.slope}"
            )

    def __call__(self, step):
        return ops.maximum(self.floor, self.start - self.slope * ops.cast(step, "float32"))


@keras.saving.register_keras_serializable(package="keras_attn")
@dataclass(frozen=True)
class ExponentialShare(ConfigFields):
    """k^i.

    Args:
        k: 0 < float < 1.

    Raises:
        ValueError: k out of its range.

    Source: Bengio et al. 2015, arXiv:1506.03099, 2.4.
    """

    k: float

    def __post_init__(self):
        if not 0 < self.k < 1:
            raise ValueError(f"Expected 0 < k < 1. Received: k={self.k}")

    def __call__(self, step):
        return ops.exp(ops.cast(step, "float32") * math.log(self.k))


@keras.saving.register_keras_serializable(package="keras_attn")
@dataclass(frozen=True)
class InverseSigmoidShare(ConfigFields):
    """k / (k + exp(i / k)).

    Args:
        k: float ≥ 1.

    Raises:
        ValueError: k < 1.

    Source: Bengio et al. 2015, arXiv:1506.03099, 2.4.
    """

    k: float

    def __post_init__(self):
        if not self.k >= 1:
            raise ValueError(f"Expected k >= 1. Received: k={self.k}")

    def __call__(self, step):
        return ops.sigmoid(math.log(self.k) - ops.cast(step, "float32") / self.k)
