"""Trainings of a benchmark, of which some may have been done before, and the table of them."""

import argparse
import csv
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import printed, table
from keras_attn.whole_file import made_folder, whole_file
from keras_attn_pipelines.runs.description import ENDED
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.run import DESCRIPTION_FILE, HISTORY_FILE, Run
from keras_attn_pipelines.runs.train import train


def ended_run(experiment, data, folder: Path, name: str, **options) -> Run:
    """The run in a folder; trained, or resumed, where it has not ended.

    Args:
        experiment: `Experiment`.
        data: as of `keras-attn train`.
        folder: of the run.
        name: of the recipe.
        options: further arguments of `train`.
    """
    run = Run(folder)
    if (folder / DESCRIPTION_FILE).is_file() and run.description.get(ENDED):
        return run
    return train(experiment, data, folder, name=name, **{"verbose": 0, **options})


def accuracy_of(experiment, data, out, name: str, batch: int = 32) -> tuple[float, int]:
    """Trains a run, and returns its accuracy on the test set in percent and its parameters.

    Args:
        experiment, data, out, name: as of `train`.
        batch: int > 0. Of the evaluation.
    """
    run = train(experiment, data, out, name=name, verbose=0)
    accuracy = evaluate(run, data, "test", batch=batch).scores["accuracy"]
    return 100 * accuracy, int(run.model().count_params())


def history(run: Run, column: str) -> list[float]:
    """What a run's history says of each epoch."""
    with (run.folder / HISTORY_FILE).open(encoding="utf-8") as file:
        return [float(row[column]) for row in csv.DictReader(file)]


def recorded(path: Path, measure: Callable, *arguments) -> Any:
    """What a file of JSON holds; measured by a function and written where there is none."""
    if not path.is_file():
        write(path, json.dumps(measure(*arguments)))
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, text: str) -> None:
    """Writes a whole file, and makes its folder where there is none."""
    made_folder(path.parent)
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_lines(path: Path, values: Iterable[Any]) -> None:
    """Writes a file of JSON lines, see `write`."""
    write(path, "".join(f"{json.dumps(value)}\n" for value in values))


def minutes_of(work: Callable, *arguments, clock=time.monotonic, **options) -> tuple[Any, float]:
    """What a function of arguments and options returns, and the minutes that it took by a clock."""
    begin = clock()
    answer = work(*arguments, **options)
    return answer, (clock() - begin) / 60


def file_stem(name: str) -> str:
    """A name of the table as that of a file."""
    return name.replace(" ", "_")


def mean_and_error(values: Sequence[float], digits: int = 1) -> str:
    """The mean, and behind ± its standard error where there are several values."""
    mean = f"{statistics.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {statistics.stdev(values) / len(values) ** 0.5:.{digits}f}"


def fact_cells(scores: Mapping[str, float]) -> list[str]:
    """BLEU and chrF, and the shares of `fact_metrics`, of sentences that say facts."""
    cells = [f"{scores[key]:.1f}" for key in ("bleu", "chrf")]
    return cells + [f"{100 * scores[key]:.1f}%" for key in ("order", "mentioned", "copied")]


def write_table(out, head: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """The table, with a note below it, which is also written to table.md in a folder.

    Rows are printed as they come.
    """
    text = table(head, list(printed(rows))) + (f"\n\n{note}" if note else "")
    write(Path(out) / "table.md", f"{text}\n")
    return text


def training_parser(description: str, data: str, epochs: str = "") -> argparse.ArgumentParser:
    """A parser with the arguments of every benchmark that trains.

    Args:
        description: what `--help` says.
        data: help of `--data`; empty: there is none.
        epochs: whose epochs `--epochs` says; empty: it says none.
    """
    parser = argparse.ArgumentParser(description=description)
    if data:
        parser.add_argument("--data", required=True, help=data)
    parser.add_argument("--out", required=True, help="folder, new or with some of the trainings")
    if epochs:
        parser.add_argument("--epochs", type=int, help=f"of {epochs}; default: the recipe's")
    return parser


def given_values(**values: Any) -> dict[str, Any]:
    """Values of fields that were asked for."""
    return {key: value for key, value in values.items() if value is not None}
