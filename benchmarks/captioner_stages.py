"""A captioner like the bundled one, in two trainings and their mean, by one command.

    python -m benchmarks.captioner_stages --data flickr8k --out bench

Trains each stage into a folder of its name, averages the weights of both, and scores every run with
the recipe's search. Writes the table to FOLDER/table.md and prints it. Stopped, it goes on with the
same command; a stage that is to be trained again needs another FOLDER.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import trainings
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.combined import average
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.run import DESCRIPTION_FILE, Run
from keras_attn_pipelines.runs.warm_start import WarmStart

RECIPE = "flickr8k_transformer"
AUGMENTED = {"flip": True, "crop": 0.7}
STAGES: dict[str, dict[str, Any]] = {
    "tuned": {
        **AUGMENTED,
        "color": 0.3,
        "encoder": "efficientnet_lite2",
        "image_size": 260,
        "fine_tune": True,
        "unfreeze_step": 1895,  # After five epochs.
        "epochs": 18,
        "patience": 8,
    },
    "rewarded": {
        **AUGMENTED,
        "self_critical": 5,
        "bleu_weight": 0.5,
        "fine_tune": False,
        "unfreeze_step": 0,
        "average": 2,
        "epochs": 14,
        "learning_rate": 7e-5,
        "warmup_steps": 100,
    },
}
"""Values of the recipe by stage, each of which goes on from the one before."""
MEAN = "mean"
"""Name of the run with the mean of all stages' weights."""
SCORES = ("BLEU-4", "CIDEr-D", "METEOR")


def compare(
    data,
    out,
    cache=None,
    precision: str = "auto",
    stages: Mapping[str, Mapping[str, Any]] = STAGES,
) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        data: data folder.
        out: folder of the runs.
        cache: folder of the feature cache.
        precision: as of `keras-attn train`.
        stages: as `STAGES`.
    """
    out, recipe = Path(out), load_recipe(RECIPE)
    usual = {"cache": cache, "precision": precision, "verbose": "auto"}
    runs, rows = dict[str, Run](), []
    start: WarmStart | None = None
    for name, values in stages.items():
        experiment = start.adapted(recipe, values) if start else recipe.replaced(values)
        runs[name] = trainings.ended_run(
            experiment, data, out / name, RECIPE, source=start, **usual
        )
        start = WarmStart.read(runs[name].folder)
    folder = out / MEAN
    done = (folder / DESCRIPTION_FILE).is_file()
    runs[MEAN] = Run(folder) if done else average([*runs.values()], folder)
    for name, run in runs.items():
        cells = evaluate(run, data, reuse=True).cells
        rows.append([name, *(cells.get(head, "") for head in SCORES)])
    return trainings.write_table(out, ("stage", *SCORES), rows)


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "data folder")
    parser.add_argument("--cache", help="folder of the feature cache")
    parser.add_argument("--precision", default="auto", help="as of keras-attn train")
    given = parser.parse_args()
    print(compare(given.data, given.out, given.cache, given.precision))
