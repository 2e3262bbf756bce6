"""Training: a recipe and a data folder to a run directory."""

import shutil
from pathlib import Path
from typing import Any

import keras

from keras_attn.training.callbacks import FiniteLoss, TimeLeft
from keras_attn.training.devices import jit_compile_for, precision_policy, strategy_named
from keras_attn.training.resume import Checkpoint
from keras_attn.training.training_stage import trained_model
from pipelines.kept_model import best_model, mean_model, try_mean
from pipelines.recipe import Recipe
from pipelines.run import CHECKPOINT_FILE, MODEL_FILE, RECIPE_FILE, Run
from pipelines.stretches import stretches
from pipelines.warm_start import WarmStart

HISTORY_FILE = "history.csv"


def train(
    recipe: Recipe,
    data,
    out,
    name: str = "",
    strategy: str = "one",
    precision: str = "auto",
    cache=None,
    source: WarmStart | None = None,
    verbose: int | str = "auto",
    checkpoint_seconds: float = 60.0,
) -> Run:
    """Trains a model and leaves a run directory; started again, goes on where it was.

    The last checkpoint holds everything that training depends on, so that a run that was stopped
    anywhere ends with the weights of one that was not (to rounding).

    Args:
        recipe: `Recipe`.
        data: path of the data folder.
        out: path of the run directory, new or of the same recipe and choices.
        name: name of the recipe, for the record; if it is the path of a .py file, the file is kept
            in the run directory, since the model may need its layers.
        strategy: "one", "mirrored" or "tpu".
        precision: "auto", "float32" or "bfloat16".
        cache: path of the feature cache; the user's cache folder if None.
        source: `WarmStart` whose weights and tokenizer the training begins with, or None.
        verbose: as in `keras.Model.fit`.
        checkpoint_seconds: float. Least time between two checkpoints within an epoch.

    Returns:
        `Run`.

    Raises:
        ValueError: bad data (see `Recipe.load`), a record that has become unreadable,
            `out` holds something else, the recipe makes another model than `source` holds, or the
            loss is no longer finite.
    """
    if recipe.goes_on and source is None:
        raise ValueError(f"Expected weights to begin with (--from) for {name}. Received: none")
    run = Run(out)
    policy = precision_policy(precision, strategy)
    description: dict[str, Any] = {"recipe": name, "kind": recipe.kind, "values": recipe.values()}
    description["data"] = str(Path(data).resolve())
    description["from"] = str(source.path.resolve()) if source else None
    _check_folder(run, description)
    device = strategy_named(strategy)
    loaded = recipe.load(data, cache, source, device.num_replicas_in_sync)
    counts = {split: len(records) for split, records in loaded.splits.items()}
    _check_data(run, recipe.unit, counts, loaded.tokenizers)
    keras.config.set_dtype_policy(policy)
    try:
        with device.scope():
            model = recipe.model(*(one.vocabulary_size for one in loaded.tokenizers.values()))
            if source:
                source.start(recipe, model)
            steps = loaded.steps * recipe.epochs
            stage = recipe.stage(model, loaded, steps)
            recipe.compile(stage, steps, jit_compile=jit_compile_for(strategy))
        facts = {"precision": policy, "strategy": strategy, recipe.unit: counts}
        run.describe({**description, **facts})
        for key, tokenizer in loaded.tokenizers.items():
            tokenizer.save(run.folder / key)
        if name.endswith(".py"):
            shutil.copyfile(name, run.folder / RECIPE_FILE)
        _report(recipe, run, loaded)
        checkpoint = Checkpoint(run.folder / CHECKPOINT_FILE, checkpoint_seconds)
        with device.scope():
            start = checkpoint.restore(stage)
        if start:
            epoch, step = divmod(start, loaded.steps)
            print(f"going on at epoch {epoch + 1}, step {step + 1} of {loaded.steps}")
        with loaded.naming_faults():
            _fit(recipe, run, stage, loaded, checkpoint, start, verbose)
            if recipe.average > 1:
                resting = recipe.thaw_step() and loaded.frozen()
                try_mean(recipe, run, stage, loaded.thawed() if resting else loaded)
        run.describe({**run.description, "ended": True})
        checkpoint.path.unlink(missing_ok=True)
    finally:
        keras.config.set_dtype_policy("float32")
    return run


def _fit(recipe, run, stage, loaded, checkpoint, start, verbose):
    """Trains from step `start` on; `stage` is what `Recipe.stage` made."""
    model = trained_model(stage)
    thaw = recipe.thaw_step()
    plan = stretches(start, loaded.steps, recipe.epochs, thaw)
    _keep_history(run.folder / HISTORY_FILE, start // loaded.steps)
    history = keras.callbacks.CSVLogger(str(run.folder / HISTORY_FILE), append=True)
    ending = [history, TimeLeft(recipe.epochs)]
    if recipe.average > 1:
        ending.insert(0, mean_model(recipe, run))
    callbacks, stage.stop_training = None, False
    try:
        for stretch in plan:
            if thaw and not stretch.frozen and loaded.frozen():
                loaded, callbacks = loaded.thawed(), None
                print(f"the encoder trains from here, step {stretch.start + 1}, on")
            callbacks = callbacks or _callbacks(recipe, run, model, loaded)
            whole = [*callbacks, *ending] if stretch.ends_epoch else [FiniteLoss()]
            stage.fit(
                loaded.training(stretch.start),
                validation_data=loaded.dev if stretch.ends_epoch else None,
                initial_epoch=stretch.epoch,
                epochs=stretch.last,
                steps_per_epoch=stretch.steps,
                callbacks=[*whole, checkpoint],
                shuffle=False,
                verbose=verbose,
            )
            if stage.stop_training:
                break
    finally:  # Keras leaves it open where training is interrupted.
        if history.csv_file:
            history.csv_file.close()


def _keep_history(path, epochs):
    """Drops what a stopped run wrote of an epoch that will be finished again."""
    if not path.is_file():
        return
    head, *rows = path.read_text(encoding="utf-8").splitlines(keepends=True) or [""]
    kept = [row for row in rows if int(row.split(",")[0]) < epochs]
    path.write_text("".join([head, *kept]) if kept else "", encoding="utf-8")


def _check_folder(run, description):
    """Refuses a folder that holds other things, or a run with other choices."""
    if not run.folder.exists() or not any(run.folder.iterdir()):
        return
    found = run.description
    if not _begun(run):
        return
    now = {**description, "values": {**description["values"]}}
    for key in ("recipe", "values", "from"):
        before, after = found.get(key), _as_json(now[key])
        if before != after:
            raise ValueError(
                f"Expected a new run directory, or one of the same {key}. Received: {run.folder} "
                f"with {_difference(before, after)}"
            )
    if found.get("ended"):
        raise ValueError(
            f"Expected a new run directory. Received: {run.folder}, whose training has ended"
        )


def _begun(run):
    """Whether some step of a training was kept."""
    return any((run.folder / name).exists() for name in (CHECKPOINT_FILE, MODEL_FILE))


def _check_data(run, unit, counts, tokenizers):
    """Refuses to go on with other data, before anything is written."""
    if not _begun(run):
        return
    before, known = run.description.get(unit), run.tokenizers()
    other = [name for name, one in tokenizers.items() if not one.equals(known.get(name))]
    if before != counts or other:
        same = before == counts
        received = f"others, of which another {other[0]} was learned" if same else counts
        raise ValueError(
            f"Expected the {unit} with which the training in {run.folder} began, {before}. "
            f"Received: {received}"
        )


def _as_json(value):
    if isinstance(value, dict):
        return {key: list(one) if isinstance(one, tuple) else one for key, one in value.items()}
    return value


def _difference(before, after):
    if not isinstance(before, dict):
        return f"{before!r} instead of {after!r}"
    changed = [key for key in after if before.get(key) != after[key]]
    return ", ".join(f"{key}={before.get(key)!r} instead of {after[key]!r}" for key in changed)


def _report(recipe, run, loaded):
    """Says what was read, and lists what was left out."""
    counts = ", ".join(f"{len(records)} {split}" for split, records in loaded.splits.items())
    sizes = ", ".join(
        f"{name}: {one.vocabulary_size} {one.unit}" for name, one in loaded.tokenizers.items()
    )
    print(f"{recipe.unit}: {counts}; {sizes}")
    for line in loaded.report():
        print(line)
    if loaded.skipped:
        path = run.folder / "skipped.txt"
        path.write_text("".join(f"{one}\n" for one in loaded.skipped), encoding="utf-8")
        print(f"{len(loaded.skipped)} records skipped, listed in {path}")


def _callbacks(recipe, run, model, loaded):
    return [
        *recipe.scoring(model, loaded),
        FiniteLoss(),
        best_model(recipe, run),
        *recipe.pictures(model, loaded, run.folder),
        keras.callbacks.TensorBoard(run.folder / "tensorboard", profile_batch=0),
    ]
