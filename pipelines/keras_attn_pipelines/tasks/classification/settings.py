"""Settings of the classification of pictures, digits and texts."""

from typing import ClassVar

from keras_attn.contracts import IMAGE, LOGITS, SOURCE
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import TaskSpec, Work
from keras_attn_pipelines.experiment.picture_options import PictureOptions
from keras_attn_pipelines.experiment.pieces import Pieces

DISTORTED_SIZES = {
    "rotation": 28,
    "rotation_scale_translation": 42,
    "projective": 42,
    "elastic": 28,
    "cluttered": 60,
}
"""Side of the pictures of each distortion, in pixels."""


@part
class Classification:
    """Image classification."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="labeled pictures", targets=(LOGITS,), accuracy="accuracy", judged=5
    )

    pictures: PictureOptions = PictureOptions()
    label_smoothing: float = option(
        "label smoothing: probability spread over all labels", default=0.1, least=0, below=1
    )

    def features(self):
        """See `Task`."""
        size = self.pictures.image_size
        return {IMAGE: Feature((size, size, 3), "uint8")}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.picture_work import PictureWork

        return PictureWork(self)


@part
class DistortedDigits:
    """Classification of distorted digits."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="digits", targets=(LOGITS,), accuracy="accuracy", judged=5
    )

    distortion: str = option(
        "how digits are distorted", default="rotation", settled=True, choices=tuple(DISTORTED_SIZES)
    )
    label_smoothing: float = option(
        "label smoothing: probability spread over all labels", default=0.0, least=0, below=1
    )

    def features(self):
        """See `Task`."""
        return {IMAGE: Feature((self.size, self.size, 3), "uint8")}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.digit_work import DigitWork

        return DigitWork(self)

    @property
    def size(self) -> int:
        """Side of a picture, in pixels."""
        return DISTORTED_SIZES[self.distortion]


@part
class TextClassification:
    """Text classification: sentiment, topic, intent."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="labeled texts",
        targets=(LOGITS,),
        accuracy="accuracy",
        batches_of_tokens=True,
        judged=5,
    )

    pieces: Pieces = Pieces(lowercase=True)
    lengths: tuple[int, ...] = option(
        "bucket lengths of texts, in pieces",
        default=(16, 32, 64, 128, 256, 512, 1024),
        buckets=True,
    )
    bpe_dropout: float = option(
        "probability that a merge of pieces is skipped in training texts (BPE dropout)",
        default=0.0,
        least=0,
        below=1,
    )
    label_smoothing: float = option(
        "label smoothing: probability spread over all labels", default=0.1, least=0, below=1
    )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None,))}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.text_work import TextWork

        return TextWork(self)
