"""Trains an experiment into a run directory."""

import contextlib
import os
from pathlib import Path
from typing import Any

import keras

from keras_attn.escaping import escape_terminal
from keras_attn.training.averaging import AverageModel
from keras_attn.training.callbacks import BestModel, EpochLog, FiniteLoss, TimeLeft
from keras_attn.training.devices import (
    AUTO,
    jit_compile_for,
    precision_policy,
    strategy_for,
    strategy_named,
)
from keras_attn.training.jax_devices import JaxDevices, check_even
from keras_attn.training.resume import Checkpoint
from keras_attn.training.training_stage import trained_model
from keras_attn.training.worker_callbacks import BroadcastLogs, select_callbacks
from keras_attn.training.workers import Workers
from keras_attn.whole_file import check_folder, is_scratch, whole_file
from keras_attn_pipelines.data.data_service import DataService
from keras_attn_pipelines.data.fingerprint import RECORDED, fingerprint
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures
from keras_attn_pipelines.experiment.evaluation import few_records
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.stored import restored, stored
from keras_attn_pipelines.runs.description import BACKEND, DIGEST, DIGESTS, ENDED, KEPT
from keras_attn_pipelines.runs.prepared import Prepared, prepare
from keras_attn_pipelines.runs.run import (
    CHECKPOINT_FILE,
    DESCRIPTION_FILE,
    HISTORY_FILE,
    LOCK_FILE,
    MEAN_FOLDER,
    MODEL_FILE,
    Run,
)
from keras_attn_pipelines.runs.stretches import stretches
from keras_attn_pipelines.runs.warm_start import WarmStart

PICTURED, MOST_PICTURED = 3, 8
"""Records of dev whose answers are drawn, the smallest of so many."""
EQUAL = ("parts", "precision", "records", "fingerprint", "vocabularies")
"""Keys of the description that all workers must agree on."""


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
    service: DataService | None = None,
) -> Run:
    """Trains a model into a run directory; called again, resumes where it stopped.

    The checkpoint holds the whole training state, so a resumed run ends with the weights of an
    uninterrupted one (up to rounding). With strategy "multiworker" each worker makes the same call;
    the chief reads and writes the run directory, decides and tells the others.

    Args:
        experiment: `Experiment`.
        data: path of the data folder, or another name that the source accepts.
        out: path of the run directory, new or of the same experiment.
        name: name of the recipe, for the record; if it is the path of a .py file, the file is kept
            in the run directory, since the model may need its layers.
        strategy: "one", "mirrored", "multiworker", "tpu" or "auto", see `strategy_for`.
        precision: "auto", "float32", "bfloat16" or "float16".
        cache: path of the feature cache; the user's cache folder if None.
        source: `WarmStart` whose weights and vocabularies the training starts from, or None.
        verbose: as in `keras.Model.fit`.
        checkpoint_seconds: float. Minimum time between checkpoints within an epoch.
        service: `DataService` whose workers make the batches of training; None: they are made here.

    Returns:
        `Run`.

    Raises:
        ValueError: bad data, an unknown strategy or precision, a record that has become unreadable,
            `out` holds something else or another process trains into it, `cache` is a file, the
            model differs from the one in `source`, or the loss is not finite; another worker was
            started with other settings or data.
        LostWorkerError: another worker ended, or cannot be reached.
    """
    if source is None:
        experiment.check_start(name)
    if strategy == AUTO:
        strategy = strategy_for(strategy)
        print(f"strategy: {strategy}")
    run, policy = Run(out), precision_policy(precision, strategy)
    device = strategy_named(strategy)  # Before anything else that TensorFlow runs.
    workers = Workers(device)
    description: dict[str, Any] = {"recipe": name, "parts": stored(experiment)}
    description["data"] = str(Path(data).resolve())
    description["from"] = str(source.path.resolve()) if source else None
    description["origin"] = dict(source.origin) if source else None
    description["precision"] = policy
    description[BACKEND] = keras.backend.backend()
    if cache is not None:
        check_folder(cache)
    whole = device.scope() if isinstance(device, JaxDevices) else contextlib.nullcontext()
    locked = run.locked() if workers.is_chief else contextlib.nullcontext()
    with workers.watched(), locked, whole:
        if workers.is_chief:
            experiment = _begun(run, experiment, description)
        prepared = prepare(
            experiment,
            data,
            vocabularies=source.vocabularies if source else None,
            cache=cache,
            replicas=device.num_replicas_in_sync,
            start=source.model if source else None,
        )
        if isinstance(device, JaxDevices):
            check_even(prepared.data.dev.element_spec, device.num_replicas_in_sync)
        if service is not None:
            later = prepared.data.unfrozen
            service.check(later() if later else prepared.data)
        unit, splits = experiment.source.unit, prepared.data.splits
        description |= {
            "strategy": strategy,
            "unit": unit,
            "records": {split: len(split_records) for split, split_records in splits.items()},
            "fingerprint": fingerprint(splits),
            "vocabularies": prepared.vocabulary_sizes,
        }
        workers.check_equal({key: description[key] for key in EQUAL})
        if workers.is_chief:
            description["parts"] = stored(prepared.experiment)
            _check_data(run, unit, description, prepared)
        keras.config.set_dtype_policy(policy)
        try:
            with device.scope():
                built = prepared.build()
                if source:
                    source.start(experiment, built.model)
                objective = prepared.compile(built, jit_compile_for(strategy, built.small_steps))
            description["model"] = built.description
            if workers.is_chief:
                run.describe(description)
                description[DIGESTS] = run.save_vocabularies(prepared.vocabularies)
                run.describe(description)
                if name.endswith(".py"):
                    run.keep_recipe(name)
                _report(run, unit, prepared)
            fitting = _Fitting(
                prepared, run, built.model, objective.model, checkpoint_seconds, workers, service
            )
            with device.scope():
                fitting.restore()
            with prepared.records.naming_faults(), _error_on_its_own_line():
                fitting.fit(verbose if workers.is_chief else 0)
                fitting.try_mean()
            if workers.is_chief:
                fitting.end(description)
        finally:
            keras.config.set_dtype_policy("float32")
    return run


class _Fitting:
    """The calls of `fit` of one training, and what they decide: on the chief, where there are
    several workers."""

    def __init__(
        self, prepared: Prepared, run: Run, model, stage, seconds, workers: Workers, service
    ):
        self.service = service
        self.prepared, self.experiment, self.workers = prepared, prepared.experiment, workers
        self.run, self.model, self.stage, self.start = run, model, stage, 0
        fit, average = self.experiment.fit, self.experiment.optimizer.average
        best_value = self.experiment.task.spec.best_possible.get(fit.monitor.removeprefix("val_"))
        self.best = BestModel(run.folder / MODEL_FILE, fit.monitor, fit.patience, best_value)
        self.log = EpochLog(run.folder / HISTORY_FILE)
        self.means = [AverageModel(None, average, folder=run.folder / MEAN_FOLDER)]
        self.means = self.means if average > 1 else []
        self.checkpoint = Checkpoint(
            run.folder / CHECKPOINT_FILE,
            seconds,
            keeps=[self.best, self.log, *self.means],
            steps_per_epoch=prepared.data.steps,
            workers=workers,
        )

    def restore(self):
        """Restores what a stopped training saved, if anything.

        Raises:
            ValueError: what it saved is gone, or damaged.
        """
        if self.workers.is_chief:
            self._check_progress()
        self.start = self.checkpoint.restore(self.stage)
        self.best.stopped = self.workers.told(self.best.stopped)
        if self.start and self.workers.is_chief:
            epoch, step = divmod(self.start, self.prepared.data.steps)
            print(f"resuming at epoch {epoch + 1}, step {step + 1} of {self.prepared.data.steps}")

    def _check_progress(self):
        """Raises ValueError for a training that has begun but left no checkpoint."""
        path, folder = self.checkpoint.path, self.run.folder
        progress = [name for name in (HISTORY_FILE, MODEL_FILE) if (folder / name).exists()]
        if not path.is_file() and (progress or os.path.lexists(path)):
            there = f"no such file beside {progress[0]}" if progress else "no file"
            raise ValueError(
                f"Expected the checkpoint {path} of a training that has not ended. "
                f"Received: {there}; to begin anew, train into a new directory"
            )

    def fit(self, verbose):
        """Trains the remaining steps."""
        fit, loaded = self.experiment.fit, self.prepared.data
        plan = stretches(self.start, loaded.steps, fit.epochs, loaded.unfreeze_step)
        ending = [*self.means, self.log, TimeLeft(fit.epochs)] if self.workers.is_chief else []
        callbacks, current = None, loaded
        if self.checkpoint.sums is not None:  # Evaluating a batch builds the metrics.
            self.stage.evaluate(loaded.dev.take(1), verbose=0)
        for stretch in plan if not self.best.stopped else ():
            if loaded.unfrozen and not stretch.frozen and current is loaded:
                current, callbacks = loaded.unfrozen(), None
                if self.workers.is_chief:
                    print(f"training the encoder too, from step {stretch.start + 1} on")
            callbacks = callbacks or self._callbacks(current)
            active = [*callbacks, *ending] if stretch.ends_epoch else [FiniteLoss()]
            self.stage.fit(
                self._training(current, stretch.start),
                validation_data=current.dev if stretch.ends_epoch else None,
                initial_epoch=stretch.epoch,
                epochs=stretch.last,
                steps_per_epoch=stretch.steps,
                callbacks=[*active, self.checkpoint],
                shuffle=False,
                verbose=verbose,
            )
            self.best.stopped = self.workers.told(self.best.stopped)
            if self.best.stopped:
                break
        if self.workers.is_chief:
            self._check_best()

    def _training(self, data, start):
        """The training data from a step on, which a data service may make."""
        if self.service is None or data.batch is None:  # Cached features of a frozen encoder.
            return data.training(start)
        return self.service.training(data, start)

    def _check_best(self):
        """Says why training ended early; raises ValueError if no epoch had a number to judge by."""
        fit = self.experiment.fit
        if self.best.digest is None:
            raise ValueError(
                f"Expected a number for {fit.monitor} in at least one epoch. Received: none"
            )
        if self.best.stopped and len(self.log.rows) < fit.epochs:
            best = f"{fit.monitor} was best in epoch {self.best.best_epoch}"
            print(f"\n{best}: training ends after epoch {len(self.log.rows)} of {fit.epochs}")

    def try_mean(self):
        """Scores the mean of the last epochs' weights; keeps it if it is the best."""
        for mean in self.means:
            loaded, monitor = self.prepared.data, self.experiment.fit.monitor
            data = loaded.unfrozen() if loaded.unfrozen else loaded
            weights = {f"{n}": array for n, array in enumerate(mean.mean(self.stage) or ())}
            weights = self.workers.told_arrays(weights)
            trained_model(self.stage).set_weights(list(weights.values()))
            scores = self.stage.evaluate(data.dev, return_dict=True, verbose=0)
            if not self.workers.is_chief:
                continue
            logs = {f"val_{name}": value for name, value in scores.items()}
            for callback in self._task_callbacks(data).scoring:
                callback.on_epoch_end(len(self.log.rows), logs)
            value, before, epoch = logs[monitor], self.best.best, self.best.best_epoch
            count = len(mean.snapshots)
            epochs = "epoch" if count == 1 else f"{count} epochs"
            print(
                f"mean of the last {epochs}: {monitor} {value:.4f}; "
                f"epoch {epoch}: {before:.4f}; keeping the better"
            )
            self.best.set_model(self.stage)
            self.best.consider(logs, f"mean of the last {count}")

    def end(self, description):
        """Records that training has ended and which epoch it kept; removes temporary files."""
        best, monitor = self.best, self.experiment.fit.monitor
        name, value = best.selected_by
        kept = {"monitor": name, "value": value, "epoch": best.best_epoch, DIGEST: best.digest}
        if best.constant:
            kept["constant"] = {monitor: best.best}
            epoch = best.best_epoch
            print(
                f"\n{monitor} was {best.best:g} in every epoch, so {name} selected the model: "
                f"{epoch if isinstance(epoch, str) else f'epoch {epoch}'}, {name} {value:.4f}"
            )
        self.run.describe({**description, KEPT: kept, ENDED: True})
        self.run.settle()

    def _callbacks(self, data):
        added = self._task_callbacks(data)
        self.log.notes = added.notes
        scoring, pictures = (
            select_callbacks(callbacks, self.workers)
            for callbacks in (added.scoring, added.pictures)
        )
        callbacks = [*scoring, BroadcastLogs(self.workers), FiniteLoss()]
        if not self.workers.is_chief:
            return [*callbacks, *pictures]
        log = keras.callbacks.TensorBoard(self.run.folder / "tensorboard", profile_batch=0)
        return [*callbacks, self.best, *pictures, *self._answer_pictures(data), log]

    def _answer_pictures(self, data):
        """What draws the answers to a few small records of dev after each epoch."""
        task, dev = self.experiment.task, data.splits["dev"]
        places = range(0, len(dev), -(-len(dev) // MOST_PICTURED) or 1)
        requests = sorted((task.request(dev[place]) for place in places), key=lambda one: one.size)
        requests = [request.inputs for request in requests[:PICTURED]]
        vocabularies = self.prepared.vocabularies
        service = task.service(self.model, vocabularies, self.experiment.model)
        return answer_pictures(service, requests, self.run.folder)

    def _task_callbacks(self, data):
        task, setting = self.experiment.task, self.prepared.setting
        return task.callbacks(self.model, data, setting, self.run.folder)


@contextlib.contextmanager
def _error_on_its_own_line():
    """Ends the line of the progress bar if an error interrupts it."""
    try:
        yield
    except BaseException:
        print(flush=True)
        raise


def _begun(run, experiment, description) -> Experiment:
    """The experiment, with the decisions of the stopped training that it resumes, if any.

    Raises:
        ValueError: a folder with other files, or a run of another experiment.
    """
    if all(entry.name == LOCK_FILE or is_scratch(entry) for entry in run.folder.iterdir()):
        return experiment
    recorded = run.description
    if not (_has_progress(run) or recorded.get(ENDED)):
        return experiment
    recorded = {BACKEND: "tensorflow", **recorded}  # Runs of earlier versions do not say.
    resumed = experiment
    for key in ("recipe", "parts", "from", "precision", BACKEND):
        before, after = recorded.get(key), description[key]
        if key == "parts":  # Earlier versions have fewer fields.
            begun = restored(before, experiment, run.folder / DESCRIPTION_FILE)
            resumed = _resolved_as(begun, experiment)
            before, after = stored(begun), stored(resumed)
        if before != after:
            raise ValueError(
                f"Expected a new run directory, or one of the same {key}. Received: {run.folder} "
                f"with {_difference(before, after)}"
            )
    if recorded.get(ENDED):
        run.settle()
        raise ValueError(
            f"Expected a new run directory. Received: {run.folder}, whose training has ended; "
            f"to train on: --from {run.folder} --out NEW"
        )
    return resumed


def _resolved_as(begun: Experiment, experiment: Experiment) -> Experiment:
    """A copy whose task takes from another run the values of its fields that are "auto"."""
    known, flags = begun.values(), experiment.flags()
    open_fields = [field.name for part, field, _, value in flags if (part, value) == ("task", AUTO)]
    return experiment.replaced({name: known[name] for name in open_fields if name in known})


def _has_progress(run):
    """Whether a checkpoint or a model has been saved."""
    return any((run.folder / name).exists() for name in (CHECKPOINT_FILE, MODEL_FILE))


def _check_data(run, unit, description, prepared):
    """Raises ValueError if a run would resume with other data, before anything is written."""
    if not _has_progress(run):
        return
    before, known = run.description, run.vocabularies()
    counts = before["records"]
    if counts != description["records"]:
        received = description["records"]
    elif (known_print := before.get("fingerprint")) != description["fingerprint"] and (
        known_print != fingerprint(prepared.data.splits, RECORDED)  # Of earlier versions.
    ):
        received = "as many others, or the same in another order"
    elif other := [
        name
        for name, vocabulary in prepared.vocabularies.items()
        if not vocabulary.equals(known.get(name))
    ]:
        received = f"others, from which another {other[0]} was learned"
    else:
        return
    raise ValueError(
        f"Expected the {unit} that training in {run.folder} started with, {counts}. "
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
        print(escape_terminal(line))
    counts = ", ".join(
        f"{len(split_records)} {split}" for split, split_records in loaded.splits.items()
    )
    sizes = ", ".join(
        f"{name}: {vocabulary.vocabulary_size} {vocabulary.unit}"
        for name, vocabulary in vocabularies.items()
    )
    print(escape_terminal(f"{unit}: {counts}; {sizes}"))
    if few := few_records(len(loaded.splits["dev"]), unit):
        print(f"few records in dev: {few}")
    optimizer, steps = prepared.experiment.optimizer, loaded.steps * prepared.experiment.fit.epochs
    notes = optimizer.notes(steps) if hasattr(optimizer, "notes") else ()
    for line in (*loaded.lines, *notes):
        print(escape_terminal(line))
    skipped = [*records.skipped, *loaded.skipped]
    if skipped:
        path = run.folder / "skipped.txt"
        lines = "".join(f"{record}\n" for record in skipped)
        with whole_file(path) as partial:
            partial.write_text(lines, "utf-8", "backslashreplace")
        print(escape_terminal(f"{len(skipped)} records skipped, listed in {path}"))
