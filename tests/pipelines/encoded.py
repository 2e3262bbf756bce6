"""An experiment's data and model, without a training."""

from typing import NamedTuple

from keras_attn_pipelines.data.training_data import Records, TrainingData
from keras_attn_pipelines.experiment import Setting


class Encoded(NamedTuple):
    """What `encoded` made of an experiment and its data."""

    records: Records
    vocabularies: dict
    data: TrainingData


def encoded(experiment, data, vocabularies=None, **setting) -> Encoded:
    """Reads data, learns the vocabularies unless they are given, and encodes the records."""
    records = experiment.source.read(data)
    vocabularies = vocabularies or experiment.task.learn(records.splits["train"])
    setting = Setting(model=experiment.model, fit=experiment.fit, **setting)
    loaded = experiment.task.encode(records, vocabularies, setting)
    return Encoded(records, vocabularies, loaded)


def built(experiment, **vocabulary_sizes):
    """The experiment's model for vocabularies of some sizes."""
    features, seed = experiment.task.features(), experiment.fit.seed
    return experiment.model.build(features, vocabulary_sizes, seed).model
