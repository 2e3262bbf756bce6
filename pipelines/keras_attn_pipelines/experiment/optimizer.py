"""The optimizer part: learning rate, clipping, slow layers, averaging."""

import math
from collections.abc import Sequence

from keras_attn_pipelines.experiment.fields import COMMON, INFINITY, choice, option, part
from keras_attn_pipelines.experiment.schedules import SCHEDULES, Cosine, Schedule

LEARNING_RATE = (
    "learning rate schedule after the warm-up; staircase: half the peak during the warm-up, then "
    "the peak, halved after each quarter of the remaining steps"
)


@part
class Adam:
    """Adam, or Muon and Adam, with a learning rate schedule and a clip of the gradient's norm."""

    learning_rate: float = option(
        "peak learning rate", default=1e-3, above=0, below=INFINITY, group=COMMON
    )
    schedule: Schedule = choice(LEARNING_RATE, default=Cosine(), kinds=SCHEDULES)
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
        "normalized weight decay (AdamW): a step at the peak learning rate shrinks all weights but "
        "slow layers' by this fraction, divided by the square root of the number of steps",
        default=0.0,
        least=0,
        below=1,
    )
    muon: float = option(
        "learning rate of Muon, by which the matrices inside the model are trained, as a multiple "
        "of Adam's; 0: all weights are trained by Adam",
        default=0.0,
        least=0,
        below=INFINITY,
    )
    average: int = option(
        "number of last epochs whose averaged weights are tried at the end; 1: none",
        default=1,
        least=1,
    )
    lora: int = option(
        "with --from, train updates of this rank of attention and feed-forward layers and nothing "
        "else (LoRA); 0: train all weights",
        default=0,
        least=0,
    )

    def check(self):
        """Raises ValueError for Muon with LoRA, which trains no whole matrix."""
        if self.muon and self.lora:
            raise ValueError(
                f"Expected muon=0 with lora. Received: muon={self.muon:g}, lora={self.lora}"
            )

    def notes(self, steps: int) -> list[str]:
        """See `Optimizer`: those of the schedule."""
        return self.schedule.notes(steps)

    def build(self, steps: int, slow_layers: Sequence[str] = (), slow_from: int = 0):
        """The Keras optimizer for `steps` training steps.

        Weight decay is normalized as in Loshchilov & Hutter 2019, arXiv:1711.05101, appendix B.1.

        Args:
            steps: total training steps.
            slow_layers: names of layers that learn at `slow_rate`.
            slow_from: first step at which they train.
        """
        from keras_attn.training.muon import ClippedMuon
        from keras_attn.training.optimizers import ClippedAdam

        kind, options = (
            (ClippedMuon, {"matrix_rate": self.muon}) if self.muon else (ClippedAdam, {})
        )
        return kind(
            self.schedule.build(self.learning_rate, steps),
            self.clip_norm,
            slow_layer=list(slow_layers) or None,
            slow_rate=self.slow_rate,
            slow_from=slow_from,
            beta_2=self.beta_2,
            epsilon=self.epsilon,
            weight_decay=self.weight_decay / (math.sqrt(steps) * self.learning_rate) or None,
            **options,
        )


@part
class SGD:
    """Stochastic gradient descent with the clip of `Adam`, all layers alike."""

    learning_rate: float = option(
        "peak learning rate", default=0.1, above=0, below=INFINITY, group=COMMON
    )
    schedule: Schedule = choice(LEARNING_RATE, default=Cosine(warmup_steps=0), kinds=SCHEDULES)
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
        """See `Optimizer`: those of the schedule."""
        return self.schedule.notes(steps)

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
        return ClippedSGD(
            self.schedule.build(self.learning_rate, steps), self.clip_norm, momentum=self.momentum
        )
