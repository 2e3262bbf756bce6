"""Settings of algorithmic problems, answered word by word after they have been read."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SEQUENCE
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import TaskSpec, Work

EXACT = "exact"
"""Name of the metric that is the share of answers without an error."""


@part
class Algorithmic:
    """Algorithmic problems: a source is read, then its answer is written, a word each step."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="algorithmic problems", targets=(LOGITS,), accuracy=EXACT
    )

    curriculum: int = option(
        "epochs after which all lengths are drawn; until then the longer buckets join one by one; "
        "0: all from the start",
        default=0,
        least=0,
    )
    planning_steps: int = option(
        "steps without input between a problem and its answer, for looking things up",
        default=0,
        settled=True,
        least=0,
    )

    def features(self):
        """See `Task`."""
        return {SEQUENCE: Feature((None, None), "float32")}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.algorithmic.work import AlgorithmicWork

        return AlgorithmicWork(self)
