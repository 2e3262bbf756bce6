"""Multi-stage trainings, each by one command.

    python -m benchmarks.stages captioner --data flickr8k --out bench

Trains each stage into a folder of its name, averages the weights of some, and scores every run with
the recipe's search. Writes the table to FOLDER/table.md and prints it. Stopped, it goes on with the
same command; a stage that is to be trained again needs another FOLDER.
"""

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import trainings
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.average import average
from keras_attn_pipelines.runs.evaluate import evaluate_splits
from keras_attn_pipelines.runs.run import DESCRIPTION_FILE, Run
from keras_attn_pipelines.runs.warm_start import WarmStart

MEAN = "mean"
"""Name of the run with the mean of the weights of others."""


class Stage(NamedTuple):
    """A training.

    Attributes:
        values: of the recipe's fields.
        source: name of the stage that it starts from; "" for none.
    """

    values: dict[str, Any]
    source: str = ""


class Model(NamedTuple):
    """A model that is trained in stages.

    Attributes:
        recipe: name of the recipe.
        stages: in their order, by name.
        averaged: names of the stages whose mean is another run.
        splits: that are scored.
        scores: heads of the table, as `keras-attn evaluate` has them.
    """

    recipe: str
    stages: dict[str, Stage]
    averaged: tuple[str, ...]
    splits: tuple[str, ...]
    scores: tuple[str, ...]


AUGMENTED = {"flip": True, "crop": 0.7}
MODELS = {
    "captioner": Model(
        "flickr8k_transformer",
        {
            "tuned": Stage(
                {
                    **AUGMENTED,
                    "color": 0.3,
                    "encoder": "efficientnet_lite2",
                    "image_size": 260,
                    "fine_tune": True,
                    "unfreeze_step": 1895,  # After five epochs.
                    "epochs": 18,
                    "patience": 8,
                }
            ),
            "rewarded": Stage(
                {
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
                "tuned",
            ),
        },
        ("tuned", "rewarded"),
        ("dev",),
        ("BLEU-4", "CIDEr-D", "METEOR"),
    ),
}


def compare(model: Model, data, out, cache=None, precision: str = "auto") -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        model: `Model`.
        data: data folder.
        out: folder of the runs.
        cache: folder of the feature cache.
        precision: as of `keras-attn train`.
    """
    out, recipe, rows = Path(out), load_recipe(model.recipe), []
    usual = {"cache": cache, "precision": precision, "verbose": "auto"}
    runs = dict[str, Run]()
    for name, stage in model.stages.items():
        if stage.source:
            start = WarmStart.read(runs[stage.source].folder)
            experiment = start.adapted(recipe, stage.values)
        else:
            start, experiment = None, recipe.replaced(stage.values)
        runs[name] = trainings.ended_run(
            experiment, data, out / name, model.recipe, source=start, **usual
        )
    folder = out / MEAN
    done = (folder / DESCRIPTION_FILE).is_file()
    runs[MEAN] = Run(folder) if done else average([runs[n] for n in model.averaged], folder)
    for name, run in runs.items():
        for split, measured in evaluate_splits(run, data, model.splits, reuse=True).items():
            cells = (measured.cells.get(head, "") for head in model.scores)
            rows.append([name, split, *cells])
    return trainings.write_table(out, ("stage", "split", *model.scores), rows)


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "data folder")
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--cache", help="folder of the feature cache")
    parser.add_argument("--precision", default="auto", help="as of keras-attn train")
    given = parser.parse_args()
    print(compare(MODELS[given.model], given.data, given.out, given.cache, given.precision))
