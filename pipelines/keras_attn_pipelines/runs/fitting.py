"""The calls of `fit` of one training, and what they decide."""

import math
from operator import attrgetter
from typing import Any

import keras

from keras_attn.training.averaging import AverageModel
from keras_attn.training.callbacks import BestModel, EpochLog, FiniteLoss, GenerationMetrics
from keras_attn.training.resume import Checkpoint
from keras_attn.training.training_progress import TrainingProgress
from keras_attn.training.training_stage import trained_model
from keras_attn.training.worker_callbacks import BroadcastLogs, select_callbacks
from keras_attn.training.workers import Workers
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures
from keras_attn_pipelines.runs.description import DIGEST, ERROR_OF
from keras_attn_pipelines.runs.prepared import Prepared
from keras_attn_pipelines.runs.run import (
    CHECKPOINT_FILE,
    HISTORY_FILE,
    MEAN_FOLDER,
    MODEL_FILE,
    Run,
)
from keras_attn_pipelines.runs.stretches import stretches

PICTURED, MOST_PICTURED = 3, 8
"""Records of dev whose answers are drawn, the smallest of so many."""
MOST_RESAMPLED = 1000
"""Records of dev on which the standard errors of metrics are estimated, at most."""


class Fitting:
    """The calls of `fit` of one training, and what they decide: on the chief, where there are
    several workers.

    Args:
        prepared: `Prepared`.
        run: `Run`.
        model: the built model.
        stage: what is compiled: the model, or a `TrainingStage` of it.
        seconds: minimum time between checkpoints within an epoch.
        workers: `Workers`.
        verbose: see `train`.
    """

    def __init__(
        self, prepared: Prepared, run: Run, model, stage, seconds: float, workers: Workers, verbose
    ):
        self.prepared, self.experiment, self.workers = prepared, prepared.experiment, workers
        self.run, self.model, self.stage, self.start = run, model, stage, 0
        fit, average = self.experiment.fit, self.experiment.optimizer.average
        best_value = self.experiment.task.spec.best_possible.get(fit.monitor.removeprefix("val_"))
        self.best = BestModel(run.folder / MODEL_FILE, fit.monitor, fit.patience, best_value)
        self.log = EpochLog(run.folder / HISTORY_FILE)
        self.means = [AverageModel(None, average, folder=run.folder / MEAN_FOLDER)]
        self.means = self.means if average > 1 else []
        self.progress, self._latest = [], None
        if verbose and workers.is_chief:
            bar = False if verbose == 2 else None
            self.progress = [TrainingProgress(fit.epochs, prepared.data.steps, [fit.monitor], bar)]
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
        self.start = self.checkpoint.restore(self.stage)
        self.best.stopped = self.workers.told(self.best.stopped)
        if self.start:
            self.workers.say(f"resuming at {self._place()}")

    def _place(self):
        """The step at which the next process resumes, in words."""
        steps = self.prepared.data.steps
        epoch, step = divmod(self.checkpoint.step, steps)
        return f"epoch {epoch + 1}, step {step + 1} of {steps}"

    def fit(self):
        """Trains the remaining steps; who interrupts it learns where a rerun resumes."""
        try:
            self._fit()
        except KeyboardInterrupt as error:
            if self.checkpoint.step:
                error.add_note(f"rerun the same command to resume at {self._place()}")
            else:
                error.add_note("rerun the same command to begin anew")
            raise

    def _fit(self):
        fit, loaded = self.experiment.fit, self.prepared.data
        plan = stretches(self.start, loaded.steps, fit.epochs, loaded.unfreeze_step)
        callbacks, current = None, loaded
        if self.checkpoint.sums is not None:  # Evaluating a batch builds the metrics.
            self.stage.evaluate(loaded.dev.take(1), verbose=0)
        for stretch in plan if not self.best.stopped else ():
            if loaded.unfrozen and not stretch.frozen and current is loaded:
                current, callbacks = loaded.unfrozen(), None
                for progress in self.progress:
                    progress.compiled = False
                self.workers.say(f"training the encoder too, from step {stretch.start + 1} on")
            callbacks = callbacks or self._callbacks(current)
            active = callbacks if stretch.ends_epoch else [FiniteLoss(), *self.progress]
            self.stage.fit(
                current.training(stretch.start),
                validation_data=current.dev if stretch.ends_epoch else None,
                initial_epoch=stretch.epoch,
                epochs=stretch.last,
                steps_per_epoch=stretch.steps,
                callbacks=[*active, self.checkpoint],
                shuffle=False,
                verbose=0,
            )
            self.best.stopped = self.workers.told(self.best.stopped)
            if self.best.stopped:
                break
        if self.workers.is_chief:
            self._check_best()

    def _check_best(self):
        """Raises ValueError if no epoch had a number to judge by."""
        if self.best.digest is None:
            monitor = self.experiment.fit.monitor
            raise ValueError(
                f"Expected a number for {monitor} in at least one epoch. Received: none"
            )

    def try_mean(self):
        """Scores the mean of the last epochs' weights, if there are two; keeps it if it is best."""
        for mean in self.means:
            count = self.workers.told(len(mean.snapshots))
            if count < 2:
                continue
            loaded, monitor = self.prepared.data, self.experiment.fit.monitor
            data = loaded.unfrozen() if loaded.unfrozen else loaded
            weights = {f"{n}": array for n, array in enumerate(mean.mean(self.stage) or ())}
            weights = self.workers.told_arrays(weights)
            trained_model(self.stage).set_weights(list(weights.values()))
            logs = self._scores(data)
            if not self.workers.is_chief:
                continue
            value, before, epoch = logs[monitor], self.best.best, self.best.best_epoch
            print(
                f"mean of the last {count} epochs: {monitor} {value:.4f}; "
                f"epoch {epoch}: {before:.4f}; keeping the better"
            )
            self.best.set_model(self.stage)
            self.best.consider(logs, f"mean of the last {count}")

    def score_start(self) -> dict[str, float]:
        """The metrics on dev before the first step, on the chief those of answers too, with their
        standard errors."""
        scores, errors = self._scores(self.prepared.data), dict[str, float]()
        is_small = self.workers.is_chief and 1 < self.prepared.counts["dev"] <= MOST_RESAMPLED
        for callback in self._task_callbacks(self.prepared.data).scoring if is_small else ():
            if isinstance(callback, GenerationMetrics):
                errors |= callback.standard_errors()
        scores |= {f"{ERROR_OF}{name}": error for name, error in errors.items()}
        return {name: float(value) for name, value in scores.items() if math.isfinite(value)}

    def _scores(self, data):
        """The metrics on dev, by the names that they have after an epoch; of answers on the
        chief."""
        scores = self.stage.evaluate(data.dev, return_dict=True, verbose=0)
        logs = {f"val_{name}": value for name, value in scores.items()}
        for callback in self._task_callbacks(data).scoring if self.workers.is_chief else ():
            if not getattr(callback, "changes_model", False):
                callback.on_epoch_end(len(self.log.rows), logs)
        return logs

    def describe_best(self) -> dict[str, Any]:
        """Which epoch was kept, and by which number, for the description of the run."""
        best, monitor = self.best, self.experiment.fit.monitor
        name, value = best.selected_by
        kept = {"monitor": name, "value": value, "epoch": best.best_epoch, DIGEST: best.digest}
        if best.constant:
            kept["constant"] = {monitor: best.best}
            epoch = best.best_epoch
            print(
                f"{monitor} was {best.best:g} in every epoch, so {name} selected the model: "
                f"{epoch if isinstance(epoch, str) else f'epoch {epoch}'}, {name} {value:.4f}"
            )
        return kept

    def _callbacks(self, data):
        """What runs with `fit` to the end of an epoch, each behind what it relies on."""
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
        ending = [*self.means, self.log, *self.progress]
        return [*callbacks, self.best, *pictures, *self._answer_pictures(data), log, *ending]

    def _answer_pictures(self, data):
        """What draws the answers to a few small records of dev after each epoch."""
        work, dev = self.experiment.work, data.splits["dev"]
        places = range(0, len(dev), -(-len(dev) // MOST_PICTURED) or 1)
        asked = map(work.request, [dev[place] for place in places])
        requests = sorted(asked, key=attrgetter("size"))
        requests = [request.inputs for request in requests[:PICTURED]]
        vocabularies = self.prepared.vocabularies
        service = work.service(self.model, vocabularies, self.experiment.model)
        return answer_pictures(service, requests, self.run.folder)

    def _task_callbacks(self, data):
        """The task's callbacks for the data; those of the latest data are kept."""
        if self._latest is None or self._latest[0] is not data:
            setting, folder = self.prepared.setting, self.run.folder
            added = self.experiment.work.callbacks(self.model, data, setting, folder)
            self._latest = data, added
        return self._latest[1]
