"""Hard attention by each estimator of its gradient, all begun with the same soft attention.

    python -m benchmarks.hard_attention translation --data multi30k --out bench
    python -m benchmarks.hard_attention captions --data flickr8k --out bench

A model with soft attention is trained for each seed, and goes on for a few epochs: as it is, and
with hard attention by each estimator. Scores are those of dev with the recipe's search, a line for
each model: the median over the seeds, and all of them. Writes the table to FOLDER/table.md and
prints it. Stopped, it goes on with the same command.
"""

import statistics
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import trainings
from keras_attn_pipelines.experiment import Experiment
from keras_attn_pipelines.recipes import flickr8k, translator_rnn
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.warm_start import WarmStart

SAMPLED = {"expectation_share": 0.0, "reward_weight": 1.0, "entropy_weight": 0.0}
ESTIMATORS: dict[str, dict[str, Any]] = {
    "one sample, moving average": {},
    "two samples": {**SAMPLED, "samples": 2},
    "four samples": {**SAMPLED, "samples": 4},
    "straight-through": {**SAMPLED, "gumbel_temperature": 1.0},
}
SOFT, LONGER = "soft", "soft, trained on"


class Task(NamedTuple):
    """What is trained.

    Attributes:
        name: of the recipe.
        recipe: `Experiment`.
        soft: values of the fields of soft attention.
        hard: those that make it hard.
        further: those of the training that goes on.
        scores: heads of the table, by the names of scores.
    """

    name: str
    recipe: Experiment
    soft: dict[str, Any]
    hard: dict[str, Any]
    further: dict[str, Any]
    scores: dict[str, str]


TASKS = {
    "translation": Task(
        "translator_rnn",
        translator_rnn.RECIPE,
        {"source_column": "en", "target_column": "de", "epochs": 14},
        {"hard": True},
        {"epochs": 4, "learning_rate": 3e-4, "warmup_steps": 50},
        {"BLEU": "bleu", "chrF": "chrf"},
    ),
    "captions": Task(
        "flickr8k",
        flickr8k.RECIPE,
        {},
        {"context": "hard"},
        {"epochs": 3, "learning_rate": 2e-4, "warmup_steps": 50},
        {"BLEU-4": "bleu_4", "CIDEr-D": "cider_d"},
    ),
}


def compare(task: Task, data, out, seeds, estimators=None, cache=None) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        task: `Task`.
        data: data folder.
        out: folder of the runs.
        seeds: of the trainings.
        estimators: dict from names to values of fields; `ESTIMATORS` if None.
        cache: folder of the feature cache.
    """
    out, usual = Path(out), {"cache": cache, "verbose": "auto"}
    chosen = ESTIMATORS if estimators is None else estimators
    plans = {LONGER: {}, **{name: {**task.hard, **values} for name, values in chosen.items()}}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in (SOFT, *plans)}

    def score(name, run):
        path = run.folder.with_suffix(".scores.json")
        found[name].append(trainings.recorded(path, lambda: evaluate(run, data, "dev").scores))

    for seed in seeds:
        recipe = task.recipe.replaced({**task.soft, "seed": seed})
        soft = trainings.ended_run(recipe, data, out / f"soft_{seed}", task.name, **usual)
        score(SOFT, soft)
        for name, values in plans.items():
            source = WarmStart.read(soft.folder)
            longer = source.adapted(recipe, {**task.further, **values})
            folder = out / f"{trainings.file_stem(name)}_{seed}"
            run = trainings.ended_run(longer, data, folder, task.name, source=source, **usual)
            score(name, run)
    rows = (
        [name, *(_cell([scores[key] for scores in each]) for key in task.scores.values())]
        for name, each in found.items()
    )
    return trainings.write_table(out, ("attention", *task.scores), rows)


def _cell(values):
    """The median, and all in brackets where there are several."""
    digits = 3 if max(values) < 10 else 1
    median = f"{statistics.median(values):.{digits}f}"
    if len(values) == 1:
        return median
    return f"{median} ({', '.join(f'{value:.{digits}f}' for value in values)})"


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "data folder")
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="+", default=list(ESTIMATORS), choices=ESTIMATORS)
    parser.add_argument("--cache", help="folder of the feature cache")
    given = parser.parse_args()
    some = {name: ESTIMATORS[name] for name in given.only}
    print(compare(TASKS[given.task], given.data, given.out, given.seeds, some, given.cache))
