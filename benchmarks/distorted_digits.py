"""Distorted digits told apart by a CNN alone and by CNNs behind a spatial transformer.

Run as `python -m benchmarks.distorted_digits --data mnist.npz --out FOLDER`. Each network is
trained with each seed, on digits that are distorted anew in each epoch, and asked about the same
distorted test digits; what has been trained before in FOLDER is taken as it is, so that several
processes can share the work and a last one prints. The CNN alone has as many filters as bring its
parameters next to those of the one behind a transformer. Prints one table: parameters, epochs,
test errors in percent with their mean and standard error, and minutes of training.
"""

import json
from pathlib import Path

from benchmarks import trainings
from benchmarks.timing import printed, table
from keras_attn_pipelines.recipes.digits_stn import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.tasks.classification.settings import DISTORTED_SIZES
from keras_attn_pipelines.tasks.classification.spatial_transformer import NONE

CLASSES = 10
SPLINE = {"transforms": ("thin_plate_spline",)}
PLANS = dict.fromkeys(DISTORTED_SIZES, SPLINE) | {
    "rotation": {**SPLINE, "epochs": 24},
    "projective": {**SPLINE, "epochs": 18},
    "cluttered": {
        "transforms": ("affine",),
        "chooses_by": "places",
        "filters": 35,
        "epochs": 16,
    },
}
"""Choices of the network behind a transformer, by distortion."""
ALONE = {"cluttered": {"epochs": 8}}
"""What the CNN alone has otherwise: an epoch on all 60×60 pixels takes longer."""
RECORD = "result.json"
HEADS = "distortion", "network", "parameters", "epochs", "test error, %", "each seed", "minutes"


def parameters(recipe) -> int:
    """Of a recipe's model."""
    features, sizes = recipe.task.features(), {"labels": CLASSES}
    return recipe.model.build(features, sizes, seed=0).model.count_params()


def matched(recipe, wanted: int):
    """The recipe with as many filters as bring its parameters nearest to `wanted`."""
    filters = 1
    while parameters(recipe.replaced({"filters": filters})) < wanted:
        filters += 1
    nearest = [recipe.replaced({"filters": count}) for count in (max(filters - 1, 1), filters)]
    return min(nearest, key=lambda candidate: abs(parameters(candidate) - wanted))


def result(recipe, data, out) -> dict:
    """Trains a recipe where that has not been done, and returns its test error and minutes.

    Raises:
        ValueError: the folder has a run of other choices.
    """
    path, run = Path(out) / RECORD, Run(out)
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if "minutes" not in record:
        _, minutes = trainings.minutes_of(train, recipe, data, out, "digits_stn", verbose=0)
        record = {"minutes": minutes}
        trainings.write(path, json.dumps(record))
    if (was := run.experiment().values()) != recipe.values():
        changed = {key: old for key, old in was.items() if old != recipe.values()[key]}
        raise ValueError(f"Expected a run of the choices asked for in {out}. Received: {changed}")
    if "error" not in record:
        evaluation = evaluate(run, data, "test", batch=500)
        record = {**record, "error": 100 * (1 - evaluation.scores["accuracy"])}
        trainings.write(path, json.dumps(record))
    return record


def row(distortion: str, recipe, records: list[dict]) -> list[str]:
    """A row of the table."""
    errors = [record["error"] for record in records]
    minutes = sum(record["minutes"] for record in records)
    transforms = recipe.values()["transforms"]
    network = "CNN" if transforms == (NONE,) else f"ST-CNN, {' '.join(transforms)}"
    return [
        distortion.replace("_", ", "),
        network.replace("_", " "),
        f"{parameters(recipe):,}",
        str(recipe.fit.epochs),
        trainings.mean_and_error(errors, 2),
        ", ".join(f"{error:.2f}" for error in errors),
        f"{minutes:.0f}",
    ]


def compare(data, out, plans, seeds) -> str:
    """Trains all there is to train and returns the table.

    Args:
        data: as for the recipe.
        out: folder of the runs.
        plans: dict from distortions to choices of the network behind a transformer.
        seeds: ints.
    """
    return table(HEADS, list(printed(_rows(data, Path(out), plans, seeds))))


def _rows(data, out, plans, seeds):
    for distortion, plan in plans.items():
        behind = RECIPE.replaced({"distortion": distortion, **plan})
        less = {"transforms": (NONE,), **ALONE.get(distortion, {})}
        alone = matched(behind.replaced(less), parameters(behind))
        for recipe in (alone, behind):
            folder = out / distortion / recipe.values()["transforms"][0]
            runs = [(recipe.replaced({"seed": seed}), folder / str(seed)) for seed in seeds]
            yield row(distortion, recipe, [result(seeded, data, path) for seeded, path in runs])


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "as for the recipe digits_stn")
    parser.add_argument("--distortions", nargs="+", default=list(PLANS), choices=list(PLANS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    given = parser.parse_args()
    plans = {distortion: PLANS[distortion] for distortion in given.distortions}
    print(compare(given.data, given.out, plans, given.seeds))
