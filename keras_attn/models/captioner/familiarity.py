"""How familiar a picture is, from its features."""

import keras
import numpy as np
from keras import ops

LARGEST_RANK = 256
LEAST_VARIANCE = 1e-9
"""Of training pictures that are all alike."""
TOLERATED = 0.03
"""Share of known pictures that are farther than the distance of a familiarity of 0.5."""


@keras.saving.register_keras_serializable(package="keras_attn")
class Familiarity(keras.Layer):
    """How familiar a picture is: a probability, from its distance to the pictures of training.

    A captioner says something about every picture. This says whether it is of the kind that the
    captioner was trained on:

        v = the signed square root of the mean of the features over their S places
        z = Uᵀ (v − m)
        d² = Σ_i z_i² / λ_i + (‖v − m‖² − ‖z‖²) / σ²
        familiarity = 1 / (1 + (d / d₀)^(2·slope))

    m, U, λ and σ² are the probabilistic principal components of the training pictures: their mean,
    the leading R directions and variances, and the mean variance of all others. Beyond d₀ are 3 %
    of the known pictures that it was calibrated on, so that no more of their kind have a
    familiarity below 0.5; the slope is that of the most probable logistic regression between them
    and other pictures, as if both were equally frequent.

    Args:
        dim: int ≥ 1. D.
        rank: int ≥ 1. R, at most D.

    Call arguments:
        features: float (B, S, D).

    Returns:
        float32 (B,), from 0 to 1.

    Raises:
        ValueError: a rank out of range.

    Example:
        >>> random = np.random.default_rng(0)
        >>> known, other = random.normal([[[[5]]], [[[9]]]], size=(2, 100, 7, 3))
        >>> familiarity = Familiarity(dim=3, rank=2)
        >>> familiarity.adapt(*(Familiarity.pool(part) for part in (known, known, other)))
        >>> bool(ops.mean(familiarity(known)) > 0.8 > 0.2 > ops.mean(familiarity(other)))
        True

    Source: Lee et al. 2018, arXiv:1807.03888 (distances of features tell unfamiliar input); Tipping
    and Bishop 1999, doi:10.1111/1467-9868.00196 (probabilistic principal components); Perronnin et
    al. 2010, doi:10.1007/978-3-642-15561-1_11 (signed square roots); Platt 1999, *Probabilistic
    outputs for support vector machines*. Differs: one class; d₀ is a quantile.
    """

    def __init__(self, dim: int, rank: int, **kwargs):
        super().__init__(autocast=False, **kwargs)
        if not 1 <= rank <= dim:
            raise ValueError(f"Expected 1 <= rank <= dim. Received: rank={rank}, dim={dim}")
        self.dim, self.rank = dim, rank

        def weight(name, shape, start):
            start = keras.initializers.Constant(start)
            return self.add_weight(shape, start, "float32", trainable=False, name=name)

        self.center = weight("center", (dim,), 0.0)
        self.directions = weight("directions", (dim, rank), 0.0)
        self.precisions = weight("precisions", (rank,), 1.0)
        self.residual_precision = weight("residual_precision", (), 1.0)
        self.log_distance = weight("log_distance", (), 0.0)
        self.slope = weight("slope", (), 1.0)
        self.built = True

    @classmethod
    def rank_for(cls, count: int, dim: int) -> int:
        """The rank for a number of training pictures: half of it, at most 256 and half of D."""
        return max(1, min(LARGEST_RANK, count // 2, dim // 2))

    def adapt(self, training, known, other) -> None:
        """Sets the weights.

        Args:
            training: float (N, D), what `pool` makes of the features of the training pictures.
            known: float (n, D), the same of others of their kind, as those of dev.
            other: float (m, D), the same of pictures of another kind.

        Raises:
            ValueError: fewer training pictures than the rank needs, none of the others, or another
                D.
        """
        least = {"training": self.rank + 1, "known": 1, "other": 1}
        parts = dict(zip(least, (np.asarray(part, "float64") for part in (training, known, other))))
        for name, part in parts.items():
            if part.shape[1:] != (self.dim,) or len(part) < least[name]:
                raise ValueError(
                    f"Expected {name} of at least {least[name]} rows of {self.dim}. "
                    f"Received: shape={part.shape}"
                )
        center, count = parts["training"].mean(0), len(parts["training"])
        away = parts["training"] - center
        _, values, directions = np.linalg.svd(away, full_matrices=False)
        variances = values**2 / (count - 1)
        left = variances[self.rank :].sum() / max(1, self.dim - self.rank)
        least = max(np.finfo("float32").eps * variances[0], LEAST_VARIANCE)
        self.center.assign(center)
        self.directions.assign(directions[: self.rank].T)
        self.precisions.assign(1 / np.maximum(variances[: self.rank], least))
        self.residual_precision.assign(1 / max(left, least))
        known, other = (
            ops.convert_to_numpy(self._log_distances(ops.cast(parts[name], "float32")))
            for name in ("known", "other")
        )
        middle = np.quantile(known, 1 - TOLERATED)
        self.log_distance.assign(middle)
        self.slope.assign(_slope(known - middle, other - middle))

    @staticmethod
    def pool(features):
        """Features (B, S, D) to float32 (B, D), v."""
        mean = ops.mean(ops.cast(features, "float32"), axis=1)
        return ops.sign(mean) * ops.sqrt(ops.abs(mean))

    def call(self, features):
        return self.of_pooled(self.pool(features))

    def of_pooled(self, pooled):
        """The familiarity, float32 (B,), of what `pool` made of features, (B, D)."""
        distances = self._log_distances(ops.cast(pooled, "float32"))
        return ops.sigmoid(self.slope * (self.log_distance - distances))

    def _log_distances(self, pooled):
        """log d² of (B, D)."""
        away = pooled - self.center
        along = ops.matmul(away, self.directions)
        rest = ops.sum(ops.square(away), axis=-1) - ops.sum(ops.square(along), axis=-1)
        near = ops.sum(ops.square(along) * self.precisions, axis=-1)
        return ops.log(near + ops.maximum(rest, 0.0) * self.residual_precision + 1e-12)

    def compute_output_shape(self, input_shape):
        return input_shape[:1]

    def get_config(self):
        return {**super().get_config(), "dim": self.dim, "rank": self.rank}


def _slope(known, other):
    """The slope s > 0 of a logistic regression through 0, each side with half of the weight.

    The targets are Platt's, (n + 1) / (n + 2) and 1 / (m + 2), for which s is finite.
    """

    def rise(slope):
        """Derivative of the log-likelihood, which falls in s."""
        total = 0.0
        for values, target in (
            (known, (len(known) + 1) / (len(known) + 2)),
            (other, 1 / (len(other) + 2)),
        ):
            probabilities = 1 / (1 + np.exp(np.clip(slope * values, -500, 500)))
            total += np.mean((probabilities - target) * values)
        return total

    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if rise(middle) > 0 else (low, middle)
    return low
