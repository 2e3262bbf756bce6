"""Which weights a run keeps: those of its best epoch, or the mean of its last ones."""

from keras_attn.training.averaging import AverageModel
from keras_attn.training.callbacks import BestModel
from keras_attn.training.training_stage import trained_model
from keras_attn_pipelines.runs.run import MODEL_FILE

MEAN_FILE = "mean.keras"


def best_model(experiment, run) -> BestModel:
    """The callback that keeps the best epoch in a run directory."""
    return BestModel(run.folder / MODEL_FILE, experiment.fit.monitor, experiment.fit.patience)


def mean_model(experiment, run) -> AverageModel:
    """The callback that collects the last epochs in a run directory."""
    return AverageModel(run.folder / MEAN_FILE, experiment.optimizer.average)


def try_mean(experiment, run, stage, dev, scoring) -> None:
    """Scores the mean of the last epochs' weights as one more epoch; if it is the best, keeps it.

    Args:
        experiment: `Experiment`.
        run: `Run` with what `mean_model` collected, which is dropped.
        stage: what was fitted; its model has the mean's weights afterwards, if there is one.
        dev: validation data set.
        scoring: callbacks that add metrics of free-running answers.
    """
    mean, best = mean_model(experiment, run), best_model(experiment, run)
    model, monitor, epochs = trained_model(stage), experiment.fit.monitor, experiment.fit.epochs
    weights, count = mean.mean(model), min(experiment.optimizer.average, epochs)
    if weights is None:  # It was tried, and the run was stopped before it could say so.
        return
    model.set_weights(weights)
    scores = stage.evaluate(dev, return_dict=True, verbose=0)
    logs = {f"val_{name}": value for name, value in scores.items()}
    for callback in scoring:
        callback.on_epoch_end(epochs, logs)
    best.set_model(model)
    best.on_train_begin()
    before, epoch = best.sign * best.best, best.best_epoch
    best.on_epoch_end(epochs, logs)
    print(
        f"mean of the last {count} epochs: {monitor} {logs[monitor]:.4f}; "
        f"epoch {epoch}: {before:.4f}; the better is kept"
    )
    mean.clear()
    mean.path.unlink(missing_ok=True)
