"""Which weights a run keeps: the best epoch's, or the mean of the last epochs'."""

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
    """Scores the mean of the last epochs' weights like an epoch, and keeps it if it is the best.

    Args:
        experiment: `Experiment`.
        run: `Run` with the weights that `mean_model` collected; they are deleted.
        stage: the fitted model; it has the mean weights afterwards, if there are any.
        dev: validation data set.
        scoring: callbacks that add metrics of free-running answers.
    """
    mean, best = mean_model(experiment, run), best_model(experiment, run)
    model, monitor, epochs = trained_model(stage), experiment.fit.monitor, experiment.fit.epochs
    weights, count = mean.mean(model), min(experiment.optimizer.average, epochs)
    if weights is None:  # It was tried, but the run was stopped before recording so.
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
        f"epoch {epoch}: {before:.4f}; keeping the better"
    )
    mean.clear()
    mean.path.unlink(missing_ok=True)
