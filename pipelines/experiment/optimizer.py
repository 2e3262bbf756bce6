"""The optimizer part: learning rate, schedule, clipping, slow layers, averaging."""

from collections.abc import Sequence

from keras_attn_pipelines.experiment.fields import INFINITY, option, part

COSINE, INVERSE_SQUARE_ROOT = SCHEDULES = ("cosine", "inverse_square_root")


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
        "learning rate multiplier for slow layers such as a pretrained encoder",
        default=1.0,
        above=0,
        below=INFINITY,
    )
    beta_2: float = option(
        "Adam's decay rate of the second moment", default=0.999, above=0, below=1
    )
    epsilon: float = option("Adam's epsilon", default=1e-7, above=0, below=INFINITY)
    average: int = option(
        "number of last epochs whose averaged weights are tried at the end; 1: none",
        default=1,
        least=1,
    )

    def warmup(self, steps: int) -> int:
        """Warm-up steps of `steps` training steps: `warmup_steps`, at most a third of them."""
        return min(self.warmup_steps, steps // 3)

    def notes(self, steps: int) -> list[str]:
        """See `Optimizer`: a warm-up that is shortened."""
        shortened = self.warmup(steps) < self.warmup_steps
        told = f"warm-up: {self.warmup(steps)} steps, a third of {steps}, not {self.warmup_steps}"
        return [told] if shortened else []

    def rates(self, steps: int):
        """The learning rate schedule for `steps` training steps."""
        from keras_attn.training.schedules import InverseSquareRoot, warmup_cosine

        if self.schedule == INVERSE_SQUARE_ROOT:
            return InverseSquareRoot(self.learning_rate, max(self.warmup(steps), 1))
        return warmup_cosine(self.learning_rate, self.warmup(steps), steps)

    def build(self, steps: int, slow_layers: Sequence[str] = (), slow_from: int = 0):
        """The Keras optimizer for `steps` training steps.

        Args:
            steps: total training steps.
            slow_layers: names of layers that learn at `slow_rate`.
            slow_from: first step at which they train.
        """
        from keras_attn.training.optimizers import ClippedAdam

        return ClippedAdam(
            self.rates(steps),
            self.clip_norm,
            slow_layer=list(slow_layers) or None,
            slow_rate=self.slow_rate,
            slow_from=slow_from,
            beta_2=self.beta_2,
            epsilon=self.epsilon,
        )
