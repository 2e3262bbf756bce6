"""End-to-end memory network on the bAbI tasks.

Data: stories with questions
Minutes: 8
Result: error 11.7% on bAbI, 20 tasks

Command:
    keras-attn train babi_memory_network --data babi/en --out runs/babi

Expected: a mean error of 11.7% to 12.3% on the test questions of the 20 tasks, after about 8
minutes on one CPU core.
"""

from keras_attn_pipelines.experiment import SGD, Experiment, Fit, Staircase
from keras_attn_pipelines.tasks.question_answering import (
    BabiTasks,
    EndToEndMemory,
    QuestionAnswering,
)

RECIPE = Experiment(
    source=BabiTasks(),
    task=QuestionAnswering(),
    model=EndToEndMemory(empty_memories=True),
    optimizer=SGD(learning_rate=0.32, schedule=Staircase(warmup_steps=16_890), clip_norm=1.25),
    fit=Fit(epochs=90, batch_size=32, monitor="val_accuracy", patience=90),
)
