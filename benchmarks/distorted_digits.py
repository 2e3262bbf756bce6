"""Distorted digits told apart by a CNN alone and by CNNs behind a spatial transformer.

Run as `python -m benchmarks.distorted_digits --data mnist.npz --out FOLDER`. Each network is
trained with each seed, on digits that are distorted anew in each epoch, and asked about the same
distorted test digits; what has been trained before in FOLDER is taken as it is, so that several
processes can share the work and a last one prints. The CNN alone has as many filters as bring its
parameters next to those of the one behind a transformer. Prints one table: parameters, epochs,
test errors in percent with their mean and standard error, and minutes of training.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

from keras_attn.whole_file import whole_file
from keras_attn_pipelines.recipes.digits_stn import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.tasks.classification.names import DISTORTED_SIZES
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
FOUND = "result.json"
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
    path, run = Path(out) / FOUND, Run(out)
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if "minutes" not in record:
        begin = time.monotonic()
        train(recipe, data, out, name="digits_stn", verbose=0)
        record = _kept(path, {"minutes": (time.monotonic() - begin) / 60})
    if (was := run.experiment().values()) != recipe.values():
        changed = {key: own for key, own in was.items() if own != recipe.values()[key]}
        raise ValueError(f"Expected a run of the choices asked for in {out}. Received: {changed}")
    if "error" not in record:
        evaluation = evaluate(run, data, "test", batch=500)
        record = _kept(path, {**record, "error": 100 * (1 - evaluation.scores["accuracy"])})
    return record


def _kept(path, record):
    with whole_file(path) as partial:
        partial.write_text(json.dumps(record), encoding="utf-8")
    return record


def row(distortion: str, recipe, records: list[dict]) -> str:
    """A row of the table."""
    errors = [record["error"] for record in records]
    mean = f"{statistics.mean(errors):.2f}"
    if len(errors) > 1:
        mean += f" ± {statistics.stdev(errors) / len(errors) ** 0.5:.2f}"
    each = ", ".join(f"{error:.2f}" for error in errors)
    minutes = sum(record["minutes"] for record in records)
    transforms = recipe.values()["transforms"]
    network = "CNN" if transforms == (NONE,) else f"ST-CNN, {' '.join(transforms)}"
    return (
        f"| {distortion.replace('_', ', ')} | {network.replace('_', ' ')} | {parameters(recipe):,} "
        f"| {recipe.fit.epochs} | {mean} | {each} | {minutes:.0f} |"
    )


def compare(data, out, plans, seeds) -> str:
    """Trains all there is to train and returns the table.

    Args:
        data: as for the recipe.
        out: folder of the runs.
        plans: dict from distortions to choices of the network behind a transformer.
        seeds: ints.
    """
    rows = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
    for distortion, plan in plans.items():
        behind = RECIPE.replaced({"distortion": distortion, **plan})
        less = {"transforms": (NONE,), **ALONE.get(distortion, {})}
        alone = matched(behind.replaced(less), parameters(behind))
        for recipe in (alone, behind):
            folder = Path(out) / distortion / recipe.values()["transforms"][0]
            runs = [(recipe.replaced({"seed": seed}), folder / str(seed)) for seed in seeds]
            records = [result(seeded, data, path) for seeded, path in runs]
            rows.append(row(distortion, recipe, records))
            print(rows[-1], flush=True)
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="as for the recipe digits_stn")
    parser.add_argument("--out", required=True, help="folder, new or with some of the runs")
    parser.add_argument("--distortions", nargs="+", default=list(PLANS), choices=list(PLANS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    given = parser.parse_args()
    plans = {distortion: PLANS[distortion] for distortion in given.distortions}
    print(compare(given.data, given.out, plans, given.seeds))
