"""The bAbI tasks: test error of memory networks, best of several seeds and their mean.

Run as `python -m benchmarks.babi_tasks --data FOLDER --out FOLDER [--seeds N]`. FOLDER has the
files of the tasks, such as those of babi/en. One network a seed is trained on all tasks by the
recipe `babi_memory_network`. As in the paper, the best of the seeds is the one with the lowest loss
in training; the mean is over all seeds. What has been trained before in the folder is taken as it
is. Writes the table to FOLDER/table.md and prints it: test error of each task in percent, beside
Sukhbaatar et al. 2015 (joint training, 1,000 questions a task, 3 hops, best of 10).
"""

import argparse
import csv
import json
import statistics
import time
from pathlib import Path

from keras_attn.whole_file import whole_file
from keras_attn_pipelines.recipes.babi_memory_network import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.tasks.question_answering.evaluation import FAILED, PAPER

NAME = "babi_memory_network"
HEADS = "task", "best", "mean", "paper"


def measured(data, out: Path, values) -> dict:
    """Errors of a seed's network and its loss in training; trained where that is not done."""
    path = out / f"seed_{values['seed']}.json"
    if not path.is_file():
        begin = time.monotonic()
        run = train(RECIPE.replaced(values), data, out / path.stem, name=NAME, verbose=0)
        minutes = (time.monotonic() - begin) / 60
        with (run.folder / "history.csv").open(encoding="utf-8") as file:
            loss = min(float(row["loss"]) for row in csv.DictReader(file))
        errors = json.loads(evaluate(run, data, "test", batch=500).json())["errors"]
        with whole_file(path) as partial:
            record = {"loss": loss, "errors": errors, "minutes": minutes}
            partial.write_text(json.dumps(record), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def table(records: list[dict]) -> str:
    """The errors of the best of some networks and their mean, in percent, beside the paper's."""
    best = min(records, key=lambda record: record["loss"])
    rows = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
    for task, error in best["errors"].items():
        mean = statistics.mean(record["errors"][task] for record in records)
        paper = f"{PAPER[int(task) - 1]:.1f}" if int(task) <= len(PAPER) else ""
        rows.append(f"| {task} | {100 * error:.1f} | {100 * mean:.1f} | {paper} |")
    means = [statistics.mean(record["errors"].values()) for record in records]
    failed = [
        sum(error > FAILED for error in record["errors"].values()) for record in (best, *records)
    ]
    of_best, of_paper = statistics.mean(best["errors"].values()), statistics.mean(PAPER)
    mean = f"{100 * statistics.mean(means):.1f}"
    if len(means) > 1:
        mean += f" ± {100 * statistics.stdev(means) / len(means) ** 0.5:.1f}"
    rows.append(f"| mean | {100 * of_best:.1f} | {mean} | {of_paper:.1f} |")
    paper = sum(error > 100 * FAILED for error in PAPER)
    rows.append(f"| failed | {failed[0]} | {statistics.mean(failed[1:]):.1f} | {paper} |")
    minutes = statistics.mean(record["minutes"] for record in records)
    note = (
        f"{len(records)} seeds, {minutes:.1f} minutes each; the best has the lowest training loss"
    )
    return "\n".join([*rows, "", note])


def compare(data, out, seeds: int = 5, values=None) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        data: folder of the tasks.
        out: folder of the runs.
        seeds: number of networks; their seeds are 0, 1, …
        values: values of fields in all trainings.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    records = []
    for seed in range(seeds):
        records.append(measured(data, out, {**(values or {}), "seed": seed}))
        error = statistics.mean(records[-1]["errors"].values())
        print(f"seed {seed}: mean error {100 * error:.1f}%", flush=True)
    text = table(records)
    with whole_file(out / "table.md") as partial:
        partial.write_text(f"{text}\n", encoding="utf-8")
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of the tasks")
    parser.add_argument("--out", required=True, help="folder, new or with some of the runs")
    parser.add_argument("--seeds", type=int, default=5, help="number of networks")
    given = parser.parse_args()
    print(compare(given.data, given.out, given.seeds))
