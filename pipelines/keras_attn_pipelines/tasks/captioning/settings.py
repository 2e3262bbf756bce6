"""Settings of the captioning task."""

from typing import ClassVar

from keras_attn.contracts import IMAGE, LOGITS, TOKENS
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.beam_search import BeamSearch
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import TaskSpec, Work
from keras_attn_pipelines.experiment.picture_options import PictureOptions
from keras_attn_pipelines.experiment.pieces import Pieces
from keras_attn_pipelines.experiment.scoring import CaptionScoring
from keras_attn_pipelines.tasks.captioning.vocabularies import BYTE_PAIRS, LEARNED, WORD_PIECES


@part
class Captioning:
    """Image captioning."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="captioned pictures",
        from_few="the recipe own_pictures_transformer learns from a few hundred: "
        "--from flickr8k_captioner",
        targets=(LOGITS,),
        monitors=(
            "bleu_1",
            "bleu_2",
            "bleu_3",
            "bleu_4",
            "cider_d",
            "rouge_l",
            "exact",
        ),
        best_possible={
            **dict.fromkeys(("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l"), 100),
            "cider_d": 10,
        },
        searches=True,
    )

    pictures: PictureOptions = PictureOptions()
    vocabulary: str = option(
        "vocabulary: learned from the captions, or that of an imported model of its kind",
        default=LEARNED,
        settled=True,
        choices=(LEARNED, BYTE_PAIRS, WORD_PIECES),
    )
    pieces: Pieces = Pieces(lowercase=True)
    lengths: tuple[int, ...] = option(
        "bucket lengths in pieces", default=(16, 24, 40), buckets=True
    )
    captions_per_picture: int = option("captions per picture in each batch", default=5, least=1)
    label_smoothing: float = option(
        "label smoothing: probability spread over the vocabulary", default=0.1, least=0, below=1
    )
    scheduled_sampling_rate: float = option(
        "fraction of decoder inputs sampled from the model by the end of training",
        default=0.0,
        least=0,
        most=1,
    )
    self_critical: int = option(
        "self-critical training: captions sampled per picture and rewarded by CIDEr-D; 0: off",
        default=0,
        least=0,
    )
    bleu_weight: float = option(
        "self-critical training: weight of BLEU-4 (0 to 1) beside CIDEr-D in the reward",
        default=0.0,
        least=0,
    )
    no_repeat_ngram: int = option(
        "forbid repeated n-grams of this many pieces in an answer; 0: allow",
        default=0,
        least=0,
    )
    prompt: str = option(
        "of an imported captioner: what its captions begin with, which keras-attn import writes",
        default="",
    )
    search: BeamSearch = BeamSearch()
    scoring: CaptionScoring = CaptionScoring()

    def check(self):
        """Raises ValueError if self-critical training has no samples to compare, or there is none
        for a `bleu_weight`."""
        if self.self_critical and (self.self_critical < 2 or self.scheduled_sampling_rate):
            raise ValueError(
                "Expected self_critical >= 2 or 0, and scheduled_sampling_rate=0 with it. "
                f"Received: self_critical={self.self_critical}, "
                f"scheduled_sampling_rate={self.scheduled_sampling_rate}"
            )
        if self.bleu_weight and not self.self_critical:
            raise ValueError(
                f"Expected self_critical with bleu_weight. Received: bleu_weight={self.bleu_weight}"
            )

    def features(self):
        """See `Task`."""
        size = self.pictures.image_size
        shape = (self.captions_per_picture, None)
        return {IMAGE: Feature((size, size, 3), "uint8"), TOKENS: Feature(shape)}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.captioning.work import CaptioningWork

        return CaptioningWork(self)
