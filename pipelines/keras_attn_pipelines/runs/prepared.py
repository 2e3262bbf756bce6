"""An experiment's data and model, ready for `fit`."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras

from keras_attn.progress import Progress
from keras_attn.training.loss_scale import scaled_for
from keras_attn_pipelines.data.fingerprint import fingerprint
from keras_attn_pipelines.data.training_data import Records, TrainingData
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.parts import Built, Objective, Setting
from keras_attn_pipelines.experiment.sharded import read_records
from keras_attn_pipelines.runs.objectives import check_monitor, check_targets


@dataclass(frozen=True)
class Prepared:
    """An experiment's data, read and encoded by `prepare`.

    Attributes:
        experiment: `Experiment`, whose task has its settings resolved by the records of dev.
        records: `Records`.
        vocabularies: dict of vocabularies by name.
        setting: `Setting` in which the records were encoded.
        data: `TrainingData`.
    """

    experiment: Experiment
    records: Records
    vocabularies: Mapping[str, Any]
    setting: Setting
    data: TrainingData

    @property
    def vocabulary_sizes(self) -> dict[str, int]:
        """Size of each vocabulary by name."""
        return {name: vocabulary.vocabulary_size for name, vocabulary in self.vocabularies.items()}

    @property
    def unit(self) -> str:
        """Plural noun for the records."""
        return self.experiment.source.unit

    @property
    def counts(self) -> dict[str, int]:
        """Number of usable records by split."""
        return {split: len(records) for split, records in self.data.splits.items()}

    @functools.cached_property
    def agreed(self) -> dict[str, Any]:
        """What all workers, and all stretches of a training, must find in the data."""
        return {
            "records": self.counts,
            "fingerprint": fingerprint(self.data.splits),
            "vocabularies": self.vocabulary_sizes,
        }

    def build(self) -> Built:
        """The model, built with initial weights."""
        experiment, sizes = self.experiment, self.vocabulary_sizes
        return experiment.model.build(experiment.task.features(), sizes, experiment.fit.seed)

    def compile(self, built: Built, jit_compile: bool | str = False) -> Objective:
        """The task's objective for a built model, compiled with the experiment's optimizer.

        Where the global dtype policy is mixed_float16, the optimizer scales the loss.

        Raises:
            ValueError: outputs that are not those with targets, or a monitor that is not measured.
        """
        steps, experiment = self.data.steps * self.experiment.fit.epochs, self.experiment
        check_targets(experiment, built.model, self.data.dev)
        objective = experiment.work.objective(built.model, self.data, steps, experiment.fit.seed)
        check_monitor(experiment, objective)
        unfreeze_step = self.data.unfreeze_step
        optimizer = experiment.optimizer.build(steps, built.slow_layers, unfreeze_step)
        objective.model.compile(
            optimizer=scaled_for(keras.config.dtype_policy().name, optimizer),
            loss=objective.loss,
            weighted_metrics=objective.metrics,
            jit_compile=jit_compile,
        )
        return objective


def prepare(
    experiment: Experiment,
    data,
    vocabularies: Mapping[str, Any] | None = None,
    cache=None,
    replicas: int = 1,
    start=None,
) -> Prepared:
    """Reads data, learns the vocabularies and encodes the records.

    Args:
        experiment: `Experiment`.
        data: path of the data folder, or another name that the source accepts.
        vocabularies: dict of vocabularies to use, or to extend, instead of learning them.
        cache: path of the feature cache; the user's cache folder if None.
        replicas: devices that share a batch.
        start: built Keras model that training starts from, or None.

    Raises:
        ValueError: bad data.
    """
    with Progress("reading data"):
        records = read_records(experiment.source, data)
    setting = Setting(
        model=experiment.model,
        fit=experiment.fit,
        cache=None if cache is None else Path(cache),
        replicas=replicas,
        start=start,
    )
    if hasattr(experiment.work, "resolve_auto"):
        task = experiment.work.resolve_auto(records.splits["dev"])
        experiment = replace(experiment, task=task)
    with Progress("encoding records"):
        known = _vocabularies(experiment.work, vocabularies, records.splits["train"])
        loaded = experiment.work.encode(records, known, setting)
    return Prepared(experiment, records, known, setting, loaded)


def _vocabularies(work, known, records) -> Mapping[str, Any]:
    """Vocabularies learned from records; known ones as they are, or extended by the task."""
    if not known:
        return work.learn(records)
    return work.extend(known, records) if hasattr(work, "extend") else known
