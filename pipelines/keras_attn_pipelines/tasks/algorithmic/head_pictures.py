"""Where the heads of a memory wrote and read, drawn after each epoch."""

from keras_attn.saved.sequences import tracks_figure
from keras_attn.training.callbacks import AttentionImages
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures

PICTURED = 3


def head_pictures(service, pairs, folder) -> list[AttentionImages]:
    """The callback that draws the longest of the held-out problems; none without a memory."""
    if service.memory is None:
        return []
    shown = sorted(pairs, key=lambda pair: pair.length)[-PICTURED:]

    def figure(answer, row):
        return tracks_figure(answer)

    return [answer_pictures(service.explain, [[pair.source for pair in shown]], figure, folder)]
