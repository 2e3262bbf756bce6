"""How the learning rate changes with the step."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_attn")
class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to a peak, then decay with the square root of the step.

        rate(n) = peak · min(n / warmup, √(warmup / n))

    Steps n count from 1, as in the paper: Keras calls a schedule with the number of updates done,
    so that the first update takes n = 1 and never a rate of 0.

    Args:
        peak: float > 0. The rate of step n = warmup_steps.
        warmup_steps: int ≥ 1, in optimizer steps.

    Call arguments:
        step: int scalar. Updates done, n − 1.

    Returns:
        float32 scalar.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> schedule = InverseSquareRoot(peak=0.5, warmup_steps=4)
        >>> [float(schedule(step)) for step in (0, 3, 15)]
        [0.125, 0.5, 0.25]

    Source: Vaswani et al. 2017, arXiv:1706.03762, 5.3, with a peak of one's own.
    """

    def __init__(self, peak, warmup_steps):
        super().__init__()
        if not peak > 0 or warmup_steps < 1:
            raise ValueError(
                "Expected peak > 0 and warmup_steps >= 1. "
                f"Received: peak={peak}, warmup_steps={warmup_steps}"
            )
        self.peak, self.warmup_steps = peak, warmup_steps

    def __call__(self, step):
        share = (ops.cast(step, "float32") + 1.0) / self.warmup_steps
        return self.peak * ops.minimum(share, ops.rsqrt(share))

    def get_config(self):
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


def paper_schedule(hidden_dim, warmup_steps=4000):
    """The Transformer's schedule: d_model^−0.5 · min(n^−0.5, n · warmup^−1.5), n from 1.

    Args:
        hidden_dim: int ≥ 1. d_model.
        warmup_steps: int ≥ 1, in optimizer steps.

    Returns:
        `InverseSquareRoot` with the peak (d_model · warmup)^−0.5.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 3.
    """
    if hidden_dim < 1 or warmup_steps < 1:
        raise ValueError(
            "Expected hidden_dim >= 1 and warmup_steps >= 1. "
            f"Received: hidden_dim={hidden_dim}, warmup_steps={warmup_steps}"
        )
    return InverseSquareRoot((hidden_dim * warmup_steps) ** -0.5, warmup_steps)


def warmup_cosine(learning_rate, warmup_steps, total_steps):
    """Schedule: from 0 up to `learning_rate` in `warmup_steps`, then by a cosine to 0.

    Args:
        learning_rate: float. The peak.
        warmup_steps: int ≥ 0, in optimizer steps.
        total_steps: int. Steps of the whole training, warm-up included.

    Returns:
        `keras.optimizers.schedules.CosineDecay`.

    Raises:
        ValueError: warmup_steps ≥ total_steps.
    """
    if not 0 <= warmup_steps < total_steps:
        raise ValueError(
            f"Expected 0 <= warmup_steps < total_steps={total_steps}. "
            f"Received: warmup_steps={warmup_steps}"
        )
    return keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=0.0 if warmup_steps else learning_rate,
        decay_steps=total_steps - warmup_steps,
        warmup_target=learning_rate if warmup_steps else None,
        warmup_steps=warmup_steps,
    )


def staircase(peak, warmup_steps, steps):
    """Half the peak during the warm-up, then the peak, halved after each quarter of the rest.

    Args:
        peak: float > 0.
        warmup_steps: int ≥ 0, in optimizer steps.
        steps: int > warmup_steps. All steps.

    Returns:
        Keras learning rate schedule.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> schedule = staircase(0.8, 2, 6)
        >>> [round(float(schedule(step)), 3) for step in range(6)]
        [0.4, 0.4, 0.8, 0.4, 0.2, 0.1]

    Source: Sukhbaatar et al. 2015, arXiv:1503.08895, 4.2: the warm-up is their linear start.
    """
    if not peak > 0 or not 0 <= warmup_steps < steps:
        raise ValueError(
            "Expected peak > 0 and 0 <= warmup_steps < steps. "
            f"Received: peak={peak}, warmup_steps={warmup_steps}, steps={steps}"
        )
    rest = steps - warmup_steps
    # A boundary is the last step with the rate before it.
    ends = [warmup_steps + -(-rest * quarter // 4) - 1 for quarter in range(4)]
    rates = [peak / 2, peak, peak / 2, peak / 4, peak / 8]
    return keras.optimizers.schedules.PiecewiseConstantDecay(ends, rates)
