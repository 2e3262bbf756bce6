"""Attention rollout of a classifier, drawn after each epoch."""

import numpy as np
import tensorflow as tf

from keras_attn.contracts import ANSWER_WEIGHTS
from keras_attn.training.callbacks import AttentionImages
from keras_attn.viz.attention import figure_pixels
from keras_attn.viz.picture_heads import rollout_figure
from keras_attn_pipelines.experiment.picture_log import picture_log

PICTURED = 3
SIZE = (640, 320)


def rollout_pictures(service, pictures, folder) -> AttentionImages:
    """The callback that draws the first few pictures beside their rollout."""
    explain = tf.function(service.explain, autograph=False)
    shown = pictures[:PICTURED]
    encoded = tf.stack([tf.io.encode_png(picture) for picture in shown])

    def draw():
        shares = explain(encoded)[ANSWER_WEIGHTS].numpy()
        figures = [rollout_figure(picture, own) for picture, own in zip(shown, shares)]
        return np.stack([figure_pixels(figure, size=SIZE) for figure in figures])

    return AttentionImages(draw, picture_log(folder))
