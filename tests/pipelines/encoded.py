"""An experiment's data and model, without a training."""

from keras_attn_pipelines.runs.prepared import prepare


def encoded(experiment, data, vocabularies=None, **options):
    """Records, vocabularies and training data of an experiment."""
    prepared = prepare(experiment, data, vocabularies, **options)
    return prepared.records, prepared.vocabularies, prepared.data


def built(experiment, **vocabulary_sizes):
    """The experiment's model for vocabularies of some sizes."""
    features, seed = experiment.task.features(), experiment.fit.seed
    return experiment.model.build(features, vocabulary_sizes, seed).model
