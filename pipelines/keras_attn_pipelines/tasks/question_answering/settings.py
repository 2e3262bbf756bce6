"""Settings of questions about stories, answered with one word."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, QUESTION, STORY
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import TaskSpec, Work


@part
class QuestionAnswering:
    """Question answering over short stories: the bAbI tasks, or others in their format."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="questions about stories", targets=(LOGITS,), accuracy="accuracy"
    )

    lengths: tuple[int, ...] = option(
        "bucket lengths of stories, in sentences; of a story longer than the last, the oldest "
        "sentences are dropped",
        default=(5, 10, 20, 50),
        buckets=True,
        settled=True,
    )
    linear_patience: int = option(
        "with linear_epochs=0, epochs without a lower loss on dev after which the linear start "
        "ends",
        default=3,
        needs={"linear_epochs": 0},
        least=1,
    )
    linear_epochs: int = option(
        "epochs of a linear start, at most a third of all; 0: until the loss on dev stops falling",
        default=30,
        needs={"linear_start": True},
        least=0,
    )

    def features(self):
        """See `Task`."""
        return {STORY: Feature((self.lengths[-1], None)), QUESTION: Feature((None,))}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.question_answering.work import QuestionAnsweringWork

        return QuestionAnsweringWork(self)
