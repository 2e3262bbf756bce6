"""Captions judged by CLIP."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from keras_attn.contracts import ERROR, IMAGE
from keras_attn.evaluation.clip_score import CLIP_PROMPT, clip_score, ref_clip_score
from keras_attn.images.picture_format import MAX_PIXELS
from keras_attn.pretrained.dual_encoders import PretrainedDualEncoder, load_dual_encoder
from keras_attn.progress import Progress
from keras_attn_pipelines.experiment.evaluation import Evaluation, best_texts
from keras_attn_pipelines.experiment.experiment import Experiment

CAPTIONED = "captioned pictures"
"""Kind of the records whose captions can be judged."""


class ClipJudge:
    """Scores captions by a CLIP, a batch at a time.

    Args:
        source: folder of a checkpoint, or its name on the Hugging Face hub.
        max_pixels: int, or None for the default; see `PictureFormat`.

    Raises:
        ImportError, OSError, ValueError: see `load_dual_encoder`.
    """

    def __init__(self, source, max_pixels: int | None = None):
        with Progress("reading CLIP"):
            clip = load_dual_encoder(source)
        self.name, self.clip = str(source), clip
        self.pictures = replace(clip.picture_format, max_pixels=max_pixels or MAX_PIXELS)
        self._encode_pixels, self._encode_texts = _encoders(clip)

    @classmethod
    def of(cls, experiment: Experiment, source, max_pixels: int | None = None):
        """The judge of an experiment's answers; None without a source.

        Raises:
            ValueError: answers that are no captions of pictures; or as the constructor.
        """
        if source is None:
            return None
        records = experiment.task.spec.records
        if records != CAPTIONED:
            raise ValueError(
                f"Expected a task of {CAPTIONED} with --clip, which judges captions by their "
                f"pictures. Received: a task of {records}"
            )
        return cls(source, max_pixels)

    def judged(
        self,
        evaluation: Evaluation,
        work,
        records: Sequence[Any],
        answers: Sequence[Mapping[str, Any]],
        batch: int,
    ) -> Evaluation:
        """An evaluation with CLIPScore and RefCLIPScore.

        A picture that cannot be read has scores of 0 and is listed, as one that the captioner could
        not read is.

        Args:
            evaluation: that of the answers.
            work: see `Work`.
            records: captioned pictures.
            answers: their answers, in the same order.
            batch: int. Pictures that are judged at a time.
        """
        captions, scores, others = best_texts(answers), [], []
        errors = [*evaluation.errors]
        pictures = self.pictures.for_batches(batch)
        for start in Progress.over(range(0, len(records), batch), "judging captions", "batch"):
            rows = slice(start, start + batch)
            requests = [work.request(record) for record in records[rows]]
            encoded = [request.inputs[IMAGE] for request in requests]
            pixels, readable, reasons = (part.numpy() for part in pictures.decode_batch(encoded))
            errors += [
                f"{request.name}: {reason.decode()}"
                for request, reason, answer in zip(requests, reasons, answers[rows])
                if reason and not answer[ERROR]
            ]
            images = np.where(readable[:, None], self._encode_pixels(pixels), 0)
            texts = self._vectors(captions[rows])
            own = clip_score(images, texts)
            scores += own.tolist()
            references = self._vectors_of([record.captions for record in records[rows]])
            others += ref_clip_score(own, texts, references).tolist()
        means = {"clip_score": float(np.mean(scores)), "ref_clip_score": float(np.mean(others))}
        cells = {"CLIPScore": means["clip_score"], "RefCLIPScore": means["ref_clip_score"]}
        return replace(
            evaluation,
            scores={**evaluation.scores, **means},
            cells={**evaluation.cells, **{name: f"{value:.3f}" for name, value in cells.items()}},
            note=f"{evaluation.note}; CLIPScore by {self.name}",
            facts={**evaluation.facts, "clip_scores": scores, "ref_clip_scores": others},
            errors=errors,
            clip=self.name,
        )

    def _vectors(self, captions):
        """Vectors of captions (B, P)."""
        prompted = tf.constant([CLIP_PROMPT + caption for caption in captions])
        return self._encode_texts(prompted).numpy()

    def _vectors_of(self, references):
        """Vectors of lists of captions, (n, P) for each."""
        vectors = self._vectors([caption for captions in references for caption in captions])
        return np.split(vectors, np.cumsum([len(captions) for captions in references])[:-1])


def _encoders(clip: PretrainedDualEncoder) -> tuple[Callable, Callable]:
    """Functions from pixels and from strings to vectors, each traced once."""
    pixels = tf.TensorSpec((None, *clip.model.image_size, 3), tf.uint8)
    strings = tf.TensorSpec((None,), tf.string)

    def texts(captions):
        return clip.model.encode_texts(clip.tokens(captions))

    return (
        tf.function(clip.model.encode_images, [pixels], autograph=False),
        tf.function(texts, [strings], autograph=False),
    )
