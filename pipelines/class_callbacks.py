"""What a classifier's training shows after each epoch: which patches its vectors are made of."""

import numpy as np
import tensorflow as tf

from keras_attn.contracts import ANSWER_WEIGHTS
from keras_attn.training.callbacks import AttentionImages
from keras_attn.viz.attention import figure_pixels
from keras_attn.viz.picture_heads import rollout_figure

PICTURED = 3
SIZE = (640, 320)


def rollout_pictures(service, records, log) -> AttentionImages:
    """The callback that draws the rollout of the first few records beside their pictures."""
    explain = tf.function(service.explain, autograph=False)
    data = [record.path.read_bytes() for record in records[:PICTURED]]

    def draw():
        shares = explain(tf.constant(data))[ANSWER_WEIGHTS].numpy()
        figures = [rollout_figure(one, own) for one, own in zip(data, shares)]
        return np.stack([figure_pixels(one, size=SIZE) for one in figures])

    return AttentionImages(draw, log)
