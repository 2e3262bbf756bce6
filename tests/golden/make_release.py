"""Writes releases/VERSION/RECIPE.tar.xz: what this release makes of tiny data, for later ones.

    python -m tests.golden.make_release

Made once for each release, before it is tagged, in two minutes. Archives that are there are never
overwritten, least of all to make a failing test pass: they are what users have. Each holds

- data: what was trained on,
- finished: a run directory whose training has ended,
- stopped: one of the same experiment, stopped within its last epoch,
- saved_model: the export of the finished run, as version 1,
- answers.json: what it answers to the sources of dev, and its scores on that split.
"""

import contextlib
import json
import shutil
import tarfile
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np

from keras_attn.saved.loading import load
from keras_attn.training.resume import Checkpoint
from keras_attn.version import __version__
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.export import export
from keras_attn_pipelines.runs.prepared import prepare
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from tests.pipelines import labeled_texts, toy_language

RELEASES = Path(__file__).with_name("releases")
FIT = {"epochs": 29, "patience": 41, "monitor": "val_loss", "lengths": (23,), "batch_tokens": 112}
FIT |= {"learning_rate": 0.02, "warmup_steps": 3, "dropout": 0.05}
MODELS = {
    "text_classifier": (
        labeled_texts.write_table,
        {**labeled_texts.TINY, **FIT, "bigram_buckets": 31, "average": 2},
    ),
    "translator_transformer": (
        toy_language.write_folder,
        {**toy_language.TINY, **FIT, "hidden_dim": 6, "epochs": 41, "average": 1},
    ),
}
"""What writes the data, and values of fields, by recipe."""
OPTIONS = {"precision": "float32", "verbose": 0}


class Stopped(Exception):
    """Ends a training within an epoch."""


def plain(array) -> list:
    """An output of a signature as JSON values."""
    if array.dtype == object:
        return np.vectorize(bytes.decode, otypes=[object])(array).tolist()
    return array.tolist()


def write(recipe: str, folder: Path) -> None:
    """Trains a recipe and writes the archive's folders."""
    write_data, values = MODELS[recipe]
    data = write_data(folder / "data")
    experiment = load_recipe(recipe).replaced(values)
    run = train(experiment, data, folder / "finished", recipe, **OPTIONS)
    _train_until_the_last_epoch(experiment, data, folder / "stopped", recipe)
    for name in ("finished", "stopped"):
        shutil.rmtree(folder / name / "tensorboard")
        trained = Run(folder / name)
        trained.describe({**trained.description, "data": "data"})  # Not where it was written.
    version = export(run, folder / "saved_model")
    records = experiment.source.split(data, "dev")
    sources = [experiment.work.request(record).inputs["source"] for record in records]
    outputs = load(version).outputs("serving_default", {"source": sources})
    answered = {
        "requests": {"source": [source.decode() for source in sources]},
        "answers": {name: plain(array) for name, array in outputs.items()},
        "scores": evaluate(run, data).scores,
    }
    (folder / "answers.json").write_text(json.dumps(answered, indent=1) + "\n", "utf-8")


def _train_until_the_last_epoch(experiment, data, out, recipe):
    """A run that is stopped one step before the last."""
    last = prepare(experiment, data).data.steps * experiment.fit.epochs - 1
    save = Checkpoint.on_train_batch_end

    def stop(callback, batch, logs=None):
        save(callback, batch, logs)
        if callback.model.optimizer.iterations == last:
            raise Stopped

    with (
        mock.patch.object(Checkpoint, "on_train_batch_end", stop),
        contextlib.suppress(Stopped),
    ):
        train(experiment, data, out, recipe, checkpoint_seconds=0.0, **OPTIONS)


def _anonymous(member):
    """A member of the archive without its owner and time."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def main() -> None:
    for recipe in MODELS:
        path = RELEASES / __version__ / f"{recipe}.tar.xz"
        if path.exists():
            print(f"{path}: kept as it is")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            write(recipe, Path(folder))
            with tarfile.open(path, "w:xz", preset=9) as archive:
                archive.add(folder, arcname=".", filter=_anonymous)
        print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
