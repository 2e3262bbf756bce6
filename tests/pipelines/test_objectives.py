"""Models, targets and metrics that do not fit together are refused before Keras looks."""

from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn_pipelines.experiment import Experiment, Fit, Objective
from keras_attn_pipelines.runs.objectives import check_monitor, check_targets
from keras_attn_pipelines.templates import regression


def experiment_with(**values):
    """The experiment of the template for regression, with another `TaskSpec`."""

    class Ratings(regression.Ratings):
        spec = replace(regression.Ratings.spec, **values)

    fit = Fit(monitor=f"val_{Ratings.spec.accuracy}")
    model = regression.PooledRegression()
    return Experiment(source=regression.RatedLines(), task=Ratings(), model=model, fit=fit)


@pytest.mark.parametrize(
    ("outputs", "targets", "message"),
    [
        (["rating"], ["rating"], None),
        (["rating"], ["ratin"], "Expected targets rating, as .* Received: ratin$"),
        (["rating", "weights"], ["rating"], "outputs rating, .* no target can be an output of a"),
        (["grade"], ["rating"], "Expected outputs rating, as .* names them. Received: grade$"),
        (None, ["rating"], "Expected outputs as a dict with rating, .* Received: KerasTensor$"),
        (None, None, None),
    ],
)
def test_outputs_and_targets(outputs, targets, message):
    source = keras.Input((3,))
    output = keras.layers.Dense(1)(source)
    model = keras.Model(source, dict.fromkeys(outputs, output) if outputs else output)
    column = np.ones((5, 1), "float32")
    y = dict.fromkeys(targets, column) if targets else column
    data = tf.data.Dataset.from_tensors((np.ones((5, 3)), y, column[:, 0]))
    if message is None:
        return check_targets(experiment_with(), model, data)
    with pytest.raises(ValueError, match=message):
        check_targets(experiment_with(), model, data)


def test_a_target_that_the_model_does_not_answer():
    message = "Expected a model with outputs grade. Received: PooledRegression for Ratings, without"
    with pytest.raises(ValueError, match=message):
        experiment_with(targets=("grade",))


def test_a_best_value_of_no_metric():
    message = "Expected best_possible of loss, mean_absolute_error. Received: mean_absolute_eror"
    with pytest.raises(ValueError, match=message):
        experiment_with(best_possible={"mean_absolute_eror": 0})


def test_a_monitor_that_is_not_measured():
    objective = Objective(None, "mse", {"rating": [keras.metrics.MeanAbsoluteError("error")]})
    message = "objective to have the metric 'mean_absolute_error', .* Received: error"
    with pytest.raises(ValueError, match=message):
        check_monitor(experiment_with(), objective)
    check_monitor(experiment_with(accuracy="error", best_possible={}), objective)
