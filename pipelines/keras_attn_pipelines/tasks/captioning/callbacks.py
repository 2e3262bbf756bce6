"""Callbacks of the captioning task: metrics and attention pictures of greedy captions."""

import numpy as np

from keras_attn.decoding import Greedy
from keras_attn.images.formats.reasons import MOST_PIXELS
from keras_attn.images.picture_format import read_picture
from keras_attn.serving.service import CaptionService
from keras_attn.training.callbacks import AttentionImages, GenerationMetrics
from keras_attn.viz.attention import Explanation, explanation_figure
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures
from keras_attn_pipelines.tasks.captioning.features import contexts

PICTURED = 3
SIZE = (900, 900)
BATCH = 16


def caption_scoring(task, model, data) -> GenerationMetrics:
    """The callback that scores greedy captions on dev."""
    dev, encoded = data.splits["dev"], data.extra.encoded
    stepper = model if encoded is None else model.decoder
    pictures = contexts(dev, task.pictures.picture_format(), BATCH, encoded)
    return GenerationMetrics(
        stepper,
        pictures,
        data.extra.tokenizer,
        references=[record.captions for record in dev],
        max_length=task.lengths[-1],
        tokenization=task.scoring.metric_tokenization,
    )


def caption_pictures(task, model, data, folder) -> AttentionImages:
    """The callback that draws the attention of a few dev captions."""
    length, fit = task.lengths[-1], task.pictures.fit
    service = CaptionService(
        model, data.extra.tokenizer, Greedy(), length, fit, max_pixels=MOST_PIXELS
    )
    encoded = [record.path.read_bytes() for record in data.splits["dev"][:PICTURED]]
    pictures = [read_picture(content) for content in encoded]

    def figure(answer, row):
        single = {key: np.asarray(value)[None] for key, value in answer.items()}
        return explanation_figure(pictures[row], Explanation.of(single, 0))

    return answer_pictures(service.explain, [encoded], figure, folder, SIZE)
