"""Attention rollout of a classifier, drawn after each epoch."""

import tensorflow as tf

from keras_attn.contracts import WEIGHTS
from keras_attn.training.callbacks import AttentionImages
from keras_attn.viz.picture_heads import rollout_figure
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures

PICTURED = 3
SIZE = (640, 320)


def rollout_pictures(service, pictures, folder) -> AttentionImages:
    """The callback that draws the first few pictures beside their rollout."""
    shown = pictures[:PICTURED]
    encoded = [tf.io.encode_png(picture).numpy() for picture in shown]

    def figure(answer, row):
        return rollout_figure(shown[row], answer[WEIGHTS])

    return answer_pictures(service.explain, [encoded], figure, folder, SIZE)
