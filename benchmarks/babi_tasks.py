"""The bAbI tasks: test error of memory networks, best of several seeds and their mean.

Run as `python -m benchmarks.babi_tasks --data FOLDER --out FOLDER [--seeds N]`. FOLDER has the
files of the tasks, such as those of babi/en. One network a seed is trained on all tasks by the
recipe `babi_memory_network`. As in the paper, the best of the seeds is the one with the lowest loss
in training; the mean is over all seeds. What has been trained before in the folder is taken as it
is. Writes the table to FOLDER/table.md and prints it: test error of each task in percent, beside
Sukhbaatar et al. 2015 (joint training, 1,000 questions a task, 3 hops, best of 10).
"""

import json
import statistics
from pathlib import Path

from benchmarks import trainings
from keras_attn_pipelines.recipes.babi_memory_network import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.tasks.question_answering.work import FAILED, PAPER

NAME = "babi_memory_network"
HEADS = "task", "best", "mean", "paper"


def measured(data, out: Path, values) -> dict:
    """Trains a seed's network, and returns its errors and its loss in training."""
    experiment = RECIPE.replaced(values)
    run, minutes = trainings.minutes_of(train, experiment, data, out, NAME, verbose=0)
    loss = min(trainings.history(run, "loss"))
    errors = json.loads(evaluate(run, data, "test", batch=500).json())["errors"]
    return {"loss": loss, "errors": errors, "minutes": minutes}


def rows(records: list[dict]) -> list[list[object]]:
    """The errors of the best of some networks and their mean, in percent, beside the paper's."""
    best = min(records, key=lambda record: record["loss"])
    lines = []
    for task, error in best["errors"].items():
        mean = statistics.mean(record["errors"][task] for record in records)
        paper = f"{PAPER[int(task) - 1]:.1f}" if int(task) <= len(PAPER) else ""
        lines.append([task, f"{100 * error:.1f}", f"{100 * mean:.1f}", paper])
    errors = [record["errors"].values() for record in (best, *records)]
    means = [100 * statistics.mean(each) for each in errors]
    failed = [sum(error > FAILED for error in each) for each in errors]
    paper = sum(error > 100 * FAILED for error in PAPER)
    mean = trainings.mean_and_error(means[1:])
    return [
        *lines,
        ["mean", f"{means[0]:.1f}", mean, f"{statistics.mean(PAPER):.1f}"],
        ["failed", failed[0], f"{statistics.mean(failed[1:]):.1f}", paper],
    ]


def compare(data, out, seeds: int = 5, values=None) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        data: folder of the tasks.
        out: folder of the runs.
        seeds: number of networks; their seeds are 0, 1, …
        values: values of fields in all trainings.
    """
    out, records = Path(out), []
    for seed in range(seeds):
        folder = out / f"seed_{seed}"
        work = measured, data, folder, {**(values or {}), "seed": seed}
        records.append(trainings.recorded(folder.with_suffix(".json"), *work))
        error = statistics.mean(records[-1]["errors"].values())
        print(f"seed {seed}: mean error {100 * error:.1f}%", flush=True)
    minutes = statistics.mean(record["minutes"] for record in records)
    note = f"{seeds} seeds, {minutes:.1f} minutes each; the best has the lowest training loss"
    return trainings.write_table(out, HEADS, rows(records), note)


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "folder of the tasks")
    parser.add_argument("--seeds", type=int, default=5, help="number of networks")
    given = parser.parse_args()
    print(compare(given.data, given.out, given.seeds))
