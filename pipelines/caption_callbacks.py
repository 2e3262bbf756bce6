"""What a captioner's training shows after each epoch: metrics of its captions, and pictures."""

import numpy as np
import tensorflow as tf

from keras_attn.decoding import Greedy
from keras_attn.serving.service import CaptionService
from keras_attn.training.callbacks import AttentionImages, GenerationMetrics
from keras_attn.viz.attention import Explanation, explanation_figure, figure_pixels
from pipelines.caption_data import CaptionData

PICTURED = 3


def caption_scoring(model, data: CaptionData, length: int) -> GenerationMetrics:
    """The callback that scores greedy captions of dev."""
    dev = data.splits["dev"]
    features = data.features["dev"] if data.features else None
    stepper = model if features is None else model.decoder
    contexts = data.batches.contexts(dev, features)
    references = [record.captions for record in dev]
    return GenerationMetrics(stepper, contexts, data.tokenizer, references, length)


def caption_pictures(model, data: CaptionData, length: int, fit: str, log) -> AttentionImages:
    """The callback that draws where the words of a few dev captions look."""
    service = CaptionService(model, data.tokenizer, Greedy(), length, fit)
    return AttentionImages(_painter(service, data.splits["dev"]), log)


def _painter(service, records):
    """A function that draws where the words of the first few records' captions look."""
    explain = tf.function(service.explain, autograph=False)
    data = [record.path.read_bytes() for record in records[:PICTURED]]

    def draw():
        answer = {key: value.numpy() for key, value in explain(tf.constant(data)).items()}
        figures = [
            figure_pixels(explanation_figure(one, Explanation.of(answer, row)), size=(900, 900))
            for row, one in enumerate(data)
        ]
        return np.stack(figures)

    return draw
