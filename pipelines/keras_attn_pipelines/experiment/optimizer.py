"""The optimizer part: learning rate, schedule, clipping, slow layers, averaging."""

import math
from collections.abc import Sequence

from keras_attn_pipelines.experiment.fields import INFINITY, option, part

COSINE, INVERSE_SQUARE_ROOT = SCHEDULES = ("cosine", "inverse_square_root")
STAIRCASE = "staircase"


@part
class Adam:
    """Adam with warm-up, a learning rate schedule and gradient clipping by global norm."""

    learning_rate: float = option("peak learning rate", default=1e-3, above=0, below=INFINITY)
    warmup_steps: int = option("warm-up steps, at most a third of all steps", default=200, least=0)
    schedule: str = option(
        "learning rate schedule after the warm-up", default=COSINE, choices=SCHEDULES
    )
    clip_norm: float = option(
        "clip gradients to this global norm", default=5.0, above=0, below=INFINITY
    )
    slow_rate: float = option(
        "learning rate multiplier for slow layers, such as a pretrained encoder",
        default=1.0,
        above=0,
        below=INFINITY,
    )
    beta_2: float = option(
        "Adam's decay rate of the second moment", default=0.999, above=0, below=1
    )
    epsilon: float = option("Adam's epsilon", default=1e-7, above=0, below=INFINITY)
    weight_decay: float = option(
        "normalized weight decay (AdamW): of n steps, each at the peak learning rate takes this "
        "share, divided by the square root of n, of all weights but slow layers'",
        default=0.0,
        least=0,
        below=1,
    )
    average: int = option(
        "number of last epochs whose averaged weights are tried at the end; 1: none",
        default=1,
        least=1,
    )

    def notes(self, steps: int) -> list[str]:
        """See `Optimizer`: a warm-up that is shortened."""
        return shortened(self, steps)

    def build(self, steps: int, slow_layers: Sequence[str] = (), slow_from: int = 0):
        """The Keras optimizer for `steps` training steps.

        Weight decay is normalized as in Loshchilov & Hutter 2019, arXiv:1711.05101, appendix B.1.

        Args:
            steps: total training steps.
            slow_layers: names of layers that learn at `slow_rate`.
            slow_from: first step at which they train.
        """
        from keras_attn.training.optimizers import ClippedAdam

        return ClippedAdam(
            rates(self, steps),
            self.clip_norm,
            slow_layer=list(slow_layers) or None,
            slow_rate=self.slow_rate,
            slow_from=slow_from,
            beta_2=self.beta_2,
            epsilon=self.epsilon,
            weight_decay=self.weight_decay / (math.sqrt(steps) * self.learning_rate) or None,
        )


@part
class SGD:
    """Stochastic gradient descent with the clip of `Adam`, all layers alike."""

    learning_rate: float = option("peak learning rate", default=0.1, above=0, below=INFINITY)
    warmup_steps: int = option("warm-up steps, at most a third of all steps", default=0, least=0)
    schedule: str = option(
        "learning rate schedule; staircase: half the peak in the warm-up, then the peak, halved "
        "after each quarter of the rest",
        default=COSINE,
        choices=(*SCHEDULES, STAIRCASE),
    )
    clip_norm: float = option(
        "clip gradients to this global norm", default=5.0, above=0, below=INFINITY
    )
    momentum: float = option("share of the last update in the next", default=0.0, least=0, below=1)
    average: int = option(
        "number of last epochs whose averaged weights are tried at the end; 1: none",
        default=1,
        least=1,
    )

    def notes(self, steps: int) -> list[str]:
        """See `Optimizer`: a warm-up that is shortened."""
        return shortened(self, steps)

    def build(self, steps: int, slow_layers: Sequence[str] = (), slow_from: int = 0):
        """The Keras optimizer for `steps` training steps.

        Raises:
            ValueError: layers that learn more slowly or later, which only `Adam` lets them.
        """
        from keras_attn.training.optimizers import ClippedSGD

        if slow_from or slow_layers:
            raise ValueError(
                "Expected the optimizer Adam for a model with slow layers. Received: SGD and "
                f"{', '.join(slow_layers)}"
            )
        return ClippedSGD(rates(self, steps), self.clip_norm, momentum=self.momentum)


def rates(optimizer: Adam | SGD, steps: int):
    """The learning rate schedule of an optimizer part for `steps` training steps."""
    from keras_attn.training.schedules import InverseSquareRoot, staircase, warmup_cosine

    warmup = _warmup(optimizer, steps)
    if optimizer.schedule == STAIRCASE:
        return staircase(optimizer.learning_rate, warmup, steps)
    if optimizer.schedule == INVERSE_SQUARE_ROOT:
        return InverseSquareRoot(optimizer.learning_rate, max(warmup, 1))
    return warmup_cosine(optimizer.learning_rate, warmup, steps)


def shortened(optimizer: Adam | SGD, steps: int) -> list[str]:
    """A line on a warm-up that is shortened; none otherwise."""
    warmup = _warmup(optimizer, steps)
    if warmup == optimizer.warmup_steps:
        return []
    return [f"warm-up: {warmup} steps, a third of {steps}, not {optimizer.warmup_steps}"]


def _warmup(optimizer, steps):
    """Warm-up steps of `steps` training steps: `warmup_steps`, at most a third of them."""
    return min(optimizer.warmup_steps, steps // 3)
