"""Whether a model, its targets and its metrics fit together, before Keras looks."""

from collections.abc import Mapping

import keras

from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.parts import Objective


def check_targets(experiment: Experiment, model, data) -> None:
    """Raises ValueError for a functional model whose outputs are not those with targets.

    Args:
        experiment: `Experiment`, whose task names the targets.
        model: built Keras model; one of a class of its own may do with targets what it likes.
        data: data set of (inputs, targets, weights).
    """
    outputs, targets = getattr(model, "output", None), data.element_spec[1]
    if outputs is None:
        return
    names, task = experiment.task.spec.targets, type(experiment.task).__name__
    expected = f"as TaskSpec(targets=…) of {task} names them"
    for kind, given in (("targets", targets), ("outputs", outputs)):
        received = set(given) if isinstance(given, Mapping) else None
        if received is None and (len(names) > 1 or isinstance(targets, Mapping)):
            raise ValueError(
                f"Expected {kind} as a dict with {', '.join(names)}, {expected}. "
                f"Received: {type(given).__name__}"
            )
        if received is not None and received != set(names):
            hint = ""
            if kind == "outputs" and received > set(names):
                hint = "; what has no target can be an output of a second model of the same layers"
            raise ValueError(
                f"Expected {kind} {', '.join(names)}, {expected}. "
                f"Received: {', '.join(sorted(received))}{hint}"
            )


def check_monitor(experiment: Experiment, objective: Objective) -> None:
    """Raises ValueError if the monitor is the task's accuracy, which the objective lacks."""
    metrics = [getattr(metric, "name", metric) for metric in keras.tree.flatten(objective.metrics)]
    spec, monitor = experiment.task.spec, experiment.fit.monitor
    accuracy = spec.accuracy
    logged = {*metrics, *(f"{target}_{name}" for target in spec.targets for name in metrics)}
    if monitor.removeprefix("val_") == accuracy and accuracy not in logged:
        raise ValueError(
            f"Expected {type(experiment.task).__name__}.objective to have the metric {accuracy!r}, "
            f"which TaskSpec(accuracy=…) names, for monitor={monitor!r}. "
            f"Received: {', '.join(map(str, metrics)) or 'no metrics'}"
        )
