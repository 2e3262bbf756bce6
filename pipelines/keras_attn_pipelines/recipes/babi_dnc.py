"""Differentiable Neural Computer on the bAbI tasks.

Data: stories with questions
Minutes: 20
Result: error 20.6% on bAbI, 20 tasks

Command:
    keras-attn train babi_dnc --data babi/en --out runs/babi-dnc

Expected: a mean error of 20.6% on the test questions of the 20 tasks, after about 20 minutes on one
CPU core. Differs from the paper: a sentence is a step, the question is read with every sentence and
twice more before the answer, and Muon trains the matrices.
"""

from keras_attn_pipelines.experiment import Adam, Cosine, Experiment, Fit
from keras_attn_pipelines.tasks.question_answering import (
    BabiTasks,
    NeuralComputer,
    QuestionAnswering,
)

RECIPE = Experiment(
    source=BabiTasks(),
    task=QuestionAnswering(),
    model=NeuralComputer(match_question=True, planning_steps=2, dropout=0.2),
    optimizer=Adam(learning_rate=1e-3, schedule=Cosine(warmup_steps=500), clip_norm=10.0, muon=3.0),
    fit=Fit(epochs=16, batch_size=32, monitor="val_accuracy", patience=20),
)
