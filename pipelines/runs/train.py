"""Trains an experiment into a run directory."""

import shutil
from pathlib import Path
from typing import Any

import keras

from keras_attn.training.callbacks import FiniteLoss, TimeLeft
from keras_attn.training.devices import jit_compile_for, precision_policy, strategy_named
from keras_attn.training.resume import Checkpoint
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.stored import stored
from keras_attn_pipelines.runs.kept_model import best_model, mean_model, try_mean
from keras_attn_pipelines.runs.prepared import Prepared, prepare
from keras_attn_pipelines.runs.run import CHECKPOINT_FILE, MODEL_FILE, RECIPE_FILE, Run
from keras_attn_pipelines.runs.stretches import stretches
from keras_attn_pipelines.runs.warm_start import WarmStart

HISTORY_FILE = "history.csv"


def train(
    experiment: Experiment,
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
    """Trains a model into a run directory; called again, resumes where it stopped.

    The checkpoint holds the whole training state, so a resumed run ends with the weights of an
    uninterrupted one (up to rounding).

    Args:
        experiment: `Experiment`.
        data: path of the data folder, or another name that the source accepts.
        out: path of the run directory, new or of the same experiment.
        name: name of the recipe, for the record; if it is the path of a .py file, the file is kept
            in the run directory, since the model may need its layers.
        strategy: "one", "mirrored" or "tpu".
        precision: "auto", "float32" or "bfloat16".
        cache: path of the feature cache; the user's cache folder if None.
        source: `WarmStart` whose weights and vocabularies the training starts from, or None.
        verbose: as in `keras.Model.fit`.
        checkpoint_seconds: float. Minimum time between checkpoints within an epoch.

    Returns:
        `Run`.

    Raises:
        ValueError: bad data, a record that has become unreadable, `out` holds something else, the
            model differs from the one in `source`, or the loss is not finite.
    """
    if experiment.needs_start and source is None:
        raise ValueError(f"Expected initial weights (--from) for {name}. Received: none")
    run = Run(out)
    policy = precision_policy(precision, strategy)
    description: dict[str, Any] = {"recipe": name, "parts": stored(experiment)}
    description["data"] = str(Path(data).resolve())
    description["from"] = str(source.path.resolve()) if source else None
    _check_folder(run, description)
    device = strategy_named(strategy)
    prepared = prepare(
        experiment,
        data,
        vocabularies=source.vocabularies if source else None,
        cache=cache,
        replicas=device.num_replicas_in_sync,
        start=source.model if source else None,
    )
    loaded = prepared.data
    unit = experiment.source.unit
    counts = {split: len(split_records) for split, split_records in loaded.splits.items()}
    _check_data(run, unit, counts, prepared.vocabularies)
    keras.config.set_dtype_policy(policy)
    try:
        with device.scope():
            built = prepared.build()
            if source:
                source.start(experiment, built.model)
            objective = prepared.compile(built, jit_compile_for(strategy))
        facts = {"precision": policy, "strategy": strategy, "unit": unit, "records": counts}
        facts["model"] = built.description
        run.describe({**description, **facts, "vocabularies": prepared.vocabulary_sizes})
        for key, vocabulary in prepared.vocabularies.items():
            vocabulary.save(run.folder / key)
        if name.endswith(".py"):
            shutil.copyfile(name, run.folder / RECIPE_FILE)
        _report(run, unit, prepared)
        fitting = _Fitting(prepared, run, built.model, objective.model)
        with device.scope():
            start = fitting.checkpoint(checkpoint_seconds).restore(objective.model)
        if start:
            epoch, step = divmod(start, loaded.steps)
            print(f"resuming at epoch {epoch + 1}, step {step + 1} of {loaded.steps}")
        with prepared.records.naming_faults():
            fitting.fit(start, verbose, checkpoint_seconds)
        run.describe({**run.description, "ended": True})
        (run.folder / CHECKPOINT_FILE).unlink(missing_ok=True)
    finally:
        keras.config.set_dtype_policy("float32")
    return run


class _Fitting:
    """The calls of `fit` of one training."""

    def __init__(self, prepared: Prepared, run: Run, model, stage):
        self.prepared, self.experiment = prepared, prepared.experiment
        self.run, self.model, self.stage = run, model, stage

    def checkpoint(self, seconds) -> Checkpoint:
        """The callback that writes checkpoints to resume from."""
        return Checkpoint(self.run.folder / CHECKPOINT_FILE, seconds)

    def fit(self, start, verbose, seconds):
        """Trains from step `start` on, then tries the mean of the last epochs."""
        fit, average = self.experiment.fit, self.experiment.optimizer.average
        loaded = self.prepared.data
        plan = stretches(start, loaded.steps, fit.epochs, loaded.unfreeze_step)
        path = self.run.folder / HISTORY_FILE
        _keep_history(path, start // loaded.steps)
        history = keras.callbacks.CSVLogger(str(path), append=True)
        ending = [history, TimeLeft(fit.epochs)]
        if average > 1:
            ending.insert(0, mean_model(self.experiment, self.run))
        checkpoint, callbacks, current = self.checkpoint(seconds), None, loaded
        self.stage.stop_training = False
        try:
            for stretch in plan:
                if loaded.unfrozen and not stretch.frozen and current is loaded:
                    current, callbacks = loaded.unfrozen(), None
                    print(f"training the encoder too, from step {stretch.start + 1} on")
                callbacks = callbacks or self._callbacks(current)
                active = [*callbacks, *ending] if stretch.ends_epoch else [FiniteLoss()]
                self.stage.fit(
                    current.training(stretch.start),
                    validation_data=current.dev if stretch.ends_epoch else None,
                    initial_epoch=stretch.epoch,
                    epochs=stretch.last,
                    steps_per_epoch=stretch.steps,
                    callbacks=[*active, checkpoint],
                    shuffle=False,
                    verbose=verbose,
                )
                if self.stage.stop_training:
                    break
        finally:  # Keras leaves it open where training is interrupted.
            if history.csv_file:
                history.csv_file.close()
        if average > 1:
            data = loaded.unfrozen() if loaded.unfrozen else loaded
            scoring = self._task_callbacks(data).scoring
            try_mean(self.experiment, self.run, self.stage, data.dev, scoring)

    def _callbacks(self, data):
        callbacks = self._task_callbacks(data)
        return [
            *callbacks.scoring,
            FiniteLoss(),
            best_model(self.experiment, self.run),
            *callbacks.pictures,
            keras.callbacks.TensorBoard(self.run.folder / "tensorboard", profile_batch=0),
        ]

    def _task_callbacks(self, data):
        task, setting = self.experiment.task, self.prepared.setting
        return task.callbacks(self.model, data, setting, self.run.folder)


def _keep_history(path, epochs):
    """Drops the history of epochs that will be run again."""
    if not path.is_file():
        return
    head, *rows = path.read_text(encoding="utf-8").splitlines(keepends=True) or [""]
    kept_rows = [row for row in rows if int(row.split(",")[0]) < epochs]
    path.write_text("".join([head, *kept_rows]) if kept_rows else "", encoding="utf-8")


def _check_folder(run, description):
    """Raises ValueError for a folder with other files, or a run of another experiment."""
    if not run.folder.exists() or not any(run.folder.iterdir()):
        return
    recorded = run.description
    if not _has_progress(run):
        return
    for key in ("recipe", "parts", "from"):
        before, after = recorded.get(key), description[key]
        if before != after:
            raise ValueError(
                f"Expected a new run directory, or one of the same {key}. Received: {run.folder} "
                f"with {_difference(before, after)}"
            )
    if recorded.get("ended"):
        raise ValueError(
            f"Expected a new run directory. Received: {run.folder}, whose training has ended"
        )


def _has_progress(run):
    """Whether a checkpoint or a model has been saved."""
    return any((run.folder / name).exists() for name in (CHECKPOINT_FILE, MODEL_FILE))


def _check_data(run, unit, counts, vocabularies):
    """Raises ValueError if a run would resume with other data, before anything is written."""
    if not _has_progress(run):
        return
    before, recorded = run.description.get("records"), run.vocabularies()
    changed = [
        name
        for name, vocabulary in vocabularies.items()
        if not vocabulary.equals(recorded.get(name))
    ]
    if before != counts or changed:
        same = before == counts
        received = f"others, from which another {changed[0]} was learned" if same else counts
        raise ValueError(
            f"Expected the {unit} that training in {run.folder} started with, {before}. "
            f"Received: {received}"
        )


def _difference(before, after):
    """What differs, by field name if there are fields."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return f"{before!r} instead of {after!r}"
    changed = {key: (before.get(key), after.get(key)) for key in {**before, **after}}
    return ", ".join(
        _difference(old, new)
        if isinstance(old, dict) and isinstance(new, dict)
        else f"{key}={old!r} instead of {new!r}"
        for key, (old, new) in changed.items()
        if old != new
    )


def _report(run, unit, prepared: Prepared):
    """Prints what was read, and writes skipped.txt."""
    records, loaded, vocabularies = prepared.records, prepared.data, prepared.vocabularies
    for line in records.lines:
        print(line)
    counts = ", ".join(
        f"{len(split_records)} {split}" for split, split_records in loaded.splits.items()
    )
    sizes = ", ".join(
        f"{name}: {vocabulary.vocabulary_size} {vocabulary.unit}"
        for name, vocabulary in vocabularies.items()
    )
    print(f"{unit}: {counts}; {sizes}")
    for line in loaded.lines:
        print(line)
    skipped = [*records.skipped, *loaded.skipped]
    if skipped:
        path = run.folder / "skipped.txt"
        path.write_text("".join(f"{record}\n" for record in skipped), encoding="utf-8")
        print(f"{len(skipped)} records skipped, listed in {path}")
