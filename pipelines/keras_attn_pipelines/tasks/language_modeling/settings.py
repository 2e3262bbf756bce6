"""Settings of the prediction of the next word."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import TaskSpec, Work


@part
class NextWord:
    """Language modeling: the next of lower-case words without punctuation."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="sentences", targets=(LOGITS,), batches_of_tokens=True
    )

    vocabulary_size: int = option(
        "maximum number of words that the sentences add to the vocabulary", default=5000, least=1
    )
    min_count: int = option("how often such a word must occur", default=2, least=1)
    lengths: tuple[int, ...] = option(
        "bucket lengths of sentences, in words", default=(8, 12, 16, 24, 40, 64), buckets=True
    )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None,))}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.language_modeling.work import NextWordWork

        return NextWordWork(self)
