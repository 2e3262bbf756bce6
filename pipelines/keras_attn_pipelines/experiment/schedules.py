"""Learning rate schedules, each a part of an optimizer."""

from typing import Any, Protocol

from keras_attn_pipelines.experiment.fields import option, part


class Schedule(Protocol):
    """How the learning rate changes with the step."""

    def build(self, peak: float, steps: int) -> Any:
        """The learning rate: a Keras `LearningRateSchedule`, or a float if it is constant.

        Args:
            peak: the highest learning rate.
            steps: total training steps.
        """

    def notes(self, steps: int) -> list[str]:
        """Lines that training prints, such as on a warm-up that is shortened."""


@part
class WarmupSchedule:
    """Abstract: a schedule that begins with a warm-up."""

    warmup_steps: int = option("warm-up steps, at most a third of all steps", default=200, least=0)

    def warmup(self, steps: int) -> int:
        """Warm-up steps of `steps` training steps."""
        return min(self.warmup_steps, steps // 3)

    def notes(self, steps: int) -> list[str]:
        """See `Schedule`: a line on a warm-up that is shortened; none otherwise."""
        if self.warmup(steps) == self.warmup_steps:
            return []
        return [f"warm-up: {self.warmup(steps)} steps, a third of {steps}, not {self.warmup_steps}"]


@part
class Cosine(WarmupSchedule):
    """Linear warm-up to the peak, then cosine decay to 0."""

    def build(self, peak: float, steps: int):
        """See `Schedule`."""
        from keras_attn.training.schedules import warmup_cosine

        return warmup_cosine(peak, self.warmup(steps), steps)


@part
class InverseSquareRoot(WarmupSchedule):
    """Linear warm-up to the peak, then decay with the inverse square root of the step."""

    def build(self, peak: float, steps: int):
        """See `Schedule`."""
        from keras_attn.training import schedules

        return schedules.InverseSquareRoot(peak, max(self.warmup(steps), 1))


@part
class Staircase(WarmupSchedule):
    """Half the peak in the warm-up, then the peak, halved after each quarter of the rest."""

    def build(self, peak: float, steps: int):
        """See `Schedule`."""
        from keras_attn.training.schedules import staircase

        return staircase(peak, self.warmup(steps), steps)


SCHEDULES = {"cosine": Cosine, "inverse_square_root": InverseSquareRoot, "staircase": Staircase}
