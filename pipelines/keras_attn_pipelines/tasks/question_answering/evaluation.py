"""The error of each task, beside the paper's."""

import numpy as np

from keras_attn.contracts import DROPPED, LABEL_SCORES, LABELS
from keras_attn_pipelines.experiment.evaluation import Evaluation

FAILED = 0.05
"""Error above which a task counts as failed."""
PAPER = (
    *(0.0, 11.4, 21.9, 13.4, 14.4, 2.8, 18.3, 9.3, 1.9, 6.5),
    *(0.3, 0.1, 0.2, 6.9, 0.0, 2.7, 40.4, 9.4, 88.0, 0.0),
)
"""Test error in percent of tasks 1 to 20 in Sukhbaatar et al. 2015, table 1: 1,000 training
questions a task, joint training, 3 hops, position encoding, linear start, random noise."""


def evaluate_tasks(records, answers) -> Evaluation:
    """Scores the answers to questions of bAbI tasks: see `Task.evaluation`."""
    answered = [answer[LABELS][0].decode() for answer in answers]
    tasks = np.array([record.task for record in records])
    wrong = np.array([label != record.answer for label, record in zip(answered, records)])
    errors = {int(task): float(wrong[tasks == task].mean()) for task in np.unique(tasks)}
    mean = sum(errors.values()) / len(errors)
    failed = sum(error > FAILED for error in errors.values())
    dropped = [int(answer[DROPPED]) for answer in answers if answer[DROPPED]]
    lost = f"the oldest sentences were dropped, {sum(dropped)} in all"
    long = f"; of {len(dropped)} long stories {lost}" if dropped else ""
    rows = "".join(
        f"\n| {task} | {100 * error:.1f} | {_paper(task)} |" for task, error in errors.items()
    )
    return Evaluation(
        scores={"accuracy": 1 - float(wrong.mean()), "mean_error": mean, "failed_tasks": failed},
        cells={
            "mean error": f"{100 * mean:.1f}%",
            f"failed tasks (error > {FAILED:.0%})": f"{failed} of {len(errors)}",
            "accuracy": f"{100 * (1 - wrong.mean()):.1f}%",
        },
        count=len(records),
        unit="questions",
        note=f"{long}\n\n| task | error, % | paper, % |\n| --- | --- | --- |{rows}",
        facts={
            "dropped": sum(dropped),
            "errors": {str(task): error for task, error in errors.items()},
            "answers": [
                {
                    "task": record.task,
                    "question": record.question,
                    "answer": record.answer,
                    "label": label,
                    "score": float(answer[LABEL_SCORES][0]),
                }
                for record, answer, label in zip(records, answers, answered)
            ],
        },
    )


def _paper(task):
    return f"{PAPER[task - 1]:.1f}" if 1 <= task <= len(PAPER) else ""
