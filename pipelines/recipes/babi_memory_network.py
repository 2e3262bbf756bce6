"""End-to-end memory network on the bAbI tasks.

Command:
    keras-attn train babi_memory_network --data babi/en --out runs/babi
"""

from keras_attn_pipelines.experiment import Adam, Experiment, Fit
from keras_attn_pipelines.tasks.question_answering import (
    BabiTasks,
    EndToEndMemory,
    QuestionAnswering,
)

RECIPE = Experiment(
    source=BabiTasks(),
    task=QuestionAnswering(),
    model=EndToEndMemory(),
    optimizer=Adam(learning_rate=2e-3, clip_norm=1.0),
    fit=Fit(epochs=60, batch_size=32, monitor="val_accuracy", patience=60),
)
