"""A few texts, each word shaded by its weight, drawn after each epoch."""

from keras_attn.training.callbacks import AttentionImages
from keras_attn.viz.shaded_text import ShadedText, shaded_text_figure
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures

PICTURED = 3


def text_pictures(service, pairs, folder) -> AttentionImages:
    """The callback that draws the first few texts."""

    def figure(answer, row):
        return shaded_text_figure(ShadedText.of(answer))

    return answer_pictures(
        service.explain, [[pair.source for pair in pairs[:PICTURED]]], figure, folder
    )
