"""Where the hops or heads looked in a few stories, drawn after each epoch."""

from keras_attn.saved.questions import hops_of
from keras_attn.training.callbacks import AttentionImages
from keras_attn.viz.alignment import matrix_figure
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures

PICTURED = 3


def hop_pictures(service, questions, folder) -> AttentionImages:
    """The callback that draws the hops or heads of the first question of a few tasks or files."""
    shown = list({record.file: record for record in reversed(questions)}.values())[-PICTURED:]
    columns = [
        ["\n".join(record.story) for record in shown],
        [record.question for record in shown],
    ]

    def figure(answer, row):
        return matrix_figure(*hops_of(answer, service.model.reader))

    return answer_pictures(service.explain, columns, figure, folder)
