"""How familiar a picture is, from its features."""

import keras
import numpy as np
from keras import ops

from keras_attn.layers.traced_spec import traced_spec

LARGEST_RANK = 256
LEAST_VARIANCE = 1e-9
"""Of training pictures that are all alike."""
TOLERATED = 0.03
"""Largest share of known pictures with a familiarity below 0.5."""


@keras.saving.register_keras_serializable(package="keras_attn")
class Familiarity(keras.Layer):
    """How familiar a picture is: a probability, from its distance to the pictures of training.

    A captioner says something about every picture. This says whether it is of the kind that the
    captioner was trained on:

        v = the signed square root of the mean of the features over their S places
        z = Uᵀ (v − m)
        d² = Σ_i z_i² / λ_i + ‖v − m − U z‖² / σ²
        familiarity = 1 / (1 + (d² / d₀²)^slope)

    m, U, λ and σ² are the probabilistic principal components of the training pictures: their mean,
    the leading R directions and variances, and the mean variance of all others. If log d² is
    Gaussian with one variance among known pictures and among others, this is the probability that
    a picture is of the known kind, and the slope the difference of both means in variances. d₀ is
    the distance that at most 3 % of the known pictures exceed, which says how frequent they are
    taken to be (`prior`).

    Args:
        dim: int ≥ 1. D.
        rank: int ≥ 1. R, at most D.

    Call arguments:
        features: float (B, S, D).

    Returns:
        float32 (B,), from 0 to 1.

    Raises:
        ValueError: a rank out of range, or features of another shape.

    Example:
        >>> random = np.random.default_rng(0)
        >>> known, other = random.normal([[[[5]]], [[[9]]]], size=(2, 100, 7, 3))
        >>> familiarity = Familiarity(dim=3, rank=2)
        >>> familiarity.adapt(*(Familiarity.pool(part) for part in (known, known, other)))
        >>> bool(ops.mean(familiarity(known)) > 0.8 > 0.2 > ops.mean(familiarity(other)))
        True

    Source: Lee et al. 2018, arXiv:1807.03888 (distances of features tell unfamiliar input); Tipping
    and Bishop 1999, doi:10.1111/1467-9868.00196 (probabilistic principal components); Perronnin et
    al. 2010, doi:10.1007/978-3-642-15561-1_11 (signed square roots). Differs: one class, and
    probabilities instead of distances.
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
        self.slope = weight("slope", (), 0.0)
        self.prior = weight("prior", (), 0.5)
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
            ValueError: fewer training pictures than the rank needs, none of the others, another
                D, or values that are not finite; other pictures that are no farther from the
                training pictures than known ones.
        """
        rows = {"training": self.rank + 1, "known": 1, "other": 1}
        parts = dict(zip(rows, (np.asarray(part, "float64") for part in (training, known, other))))
        for name, part in parts.items():
            if part.shape[1:] != (self.dim,) or len(part) < rows[name]:
                raise ValueError(
                    f"Expected {name} of at least {rows[name]} rows of {self.dim}. "
                    f"Received: shape={part.shape}"
                )
            if not np.isfinite(part).all():
                raise ValueError(f"Expected finite {name}. Received: values that are not")
        center = parts["training"].mean(0)
        away = parts["training"] - center
        variances, directions = np.linalg.eigh(away.T @ away / (len(away) - 1))
        variances, directions = variances[::-1], directions[:, ::-1]
        floor = max(np.finfo("float32").eps * variances[0], LEAST_VARIANCE)
        self.center.assign(center)
        self.directions.assign(directions[:, : self.rank])
        self.precisions.assign(1 / np.maximum(variances[: self.rank], floor))
        if self.rank < self.dim:
            self.residual_precision.assign(1 / max(variances[self.rank :].mean(), floor))
        self._calibrate(
            *(
                ops.convert_to_numpy(self._log_distances(ops.cast(parts[name], "float32")))
                for name in ("known", "other")
            )
        )

    def _calibrate(self, known, other):
        """Sets distance, slope and prior by values of log d²."""
        log_distance = np.quantile(known, 1 - TOLERATED, method="higher")
        if not np.mean(other) > max(np.mean(known), log_distance):
            raise ValueError(
                "Expected other pictures to be farther from those of training than known ones. "
                f"Received: log d² of {np.mean(other):.3g} in the mean, beside "
                f"{np.mean(known):.3g}, and {log_distance:.3g} for the farthest {TOLERATED:.0%}"
            )
        variance = max((known.var() + other.var()) / 2, LEAST_VARIANCE)
        slope = (other.mean() - known.mean()) / variance
        middle = (other.mean() + known.mean()) / 2
        self.log_distance.assign(log_distance)
        self.slope.assign(slope)
        self.prior.assign(1 / (1 + np.exp(np.clip(slope * (middle - log_distance), -80, 80))))

    @staticmethod
    def pool(features):
        """Features (B, S, D) to float32 (B, D), v."""
        mean = ops.mean(ops.cast(features, "float32"), axis=1)
        return ops.sign(mean) * ops.sqrt(ops.abs(mean))

    def call(self, features):
        shape = tuple(features.shape)
        if len(shape) != 3 or shape[2] != self.dim:
            raise ValueError(
                f"Expected features of shape (B, S, {self.dim}). Received: shape={shape}"
            )
        return self.of_pooled(self.pool(features))

    def of_pooled(self, pooled):
        """The familiarity, float32 (B,), of what `pool` made of features, (B, D)."""
        distances = self._log_distances(ops.cast(pooled, "float32"))
        return ops.sigmoid(self.slope * (self.log_distance - distances))

    def _log_distances(self, pooled):
        """log d² of (B, D)."""
        away = pooled - self.center
        along = ops.matmul(away, self.directions)
        rest = away - ops.matmul(along, ops.transpose(self.directions))
        squares = ops.sum(ops.square(along) * self.precisions, axis=-1)
        if self.rank < self.dim:
            squares += ops.sum(ops.square(rest), axis=-1) * self.residual_precision
        return ops.log(squares + 1e-12)

    def compute_output_shape(self, input_shape):
        return input_shape[:1]

    def compute_output_spec(self, *args, **kwargs):
        """Shape and dtype of what the call returns, float32."""
        return traced_spec(self, *args, **kwargs)

    def get_config(self):
        return {**super().get_config(), "dim": self.dim, "rank": self.rank}
