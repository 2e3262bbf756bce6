"""Which weights a run keeps: those of its best epoch, or the mean of its last ones."""

from keras_attn.training.averaging import AverageModel
from keras_attn.training.callbacks import BestModel
from keras_attn.training.training_stage import trained_model
from pipelines.run import MODEL_FILE

MEAN_FILE = "mean.keras"


def best_model(recipe, run) -> BestModel:
    """The callback that keeps the best epoch in a run directory."""
    return BestModel(run.folder / MODEL_FILE, recipe.monitor, recipe.patience)


def mean_model(recipe, run) -> AverageModel:
    """The callback that collects the last epochs in a run directory."""
    return AverageModel(run.folder / MEAN_FILE, recipe.average)


def try_mean(recipe, run, stage, loaded) -> None:
    """Scores the mean of the last epochs' weights as one more epoch; if it is the best, keeps it.

    Args:
        recipe: `Recipe`.
        run: `Run` with what `mean_model` collected, which is dropped.
        stage: what was fitted; its model has the mean's weights afterwards, if there is one.
        loaded: `TrainingData`.
    """
    mean, best = mean_model(recipe, run), best_model(recipe, run)
    model = trained_model(stage)
    weights, count = mean.mean(model), min(recipe.average, recipe.epochs)
    if weights is None:  # It was tried, and the run was stopped before it could say so.
        return
    model.set_weights(weights)
    found = stage.evaluate(loaded.dev, return_dict=True, verbose=0)
    logs = {f"val_{name}": value for name, value in found.items()}
    for callback in recipe.scoring(model, loaded):
        callback.on_epoch_end(recipe.epochs, logs)
    best.set_model(model)
    best.on_train_begin()
    before, epoch = best.sign * best.best, best.best_epoch
    best.on_epoch_end(recipe.epochs, logs)
    print(
        f"mean of the last {count} epochs: {recipe.monitor} {logs[recipe.monitor]:.4f}; "
        f"epoch {epoch}: {before:.4f}; the better is kept"
    )
    mean.clear()
    mean.path.unlink(missing_ok=True)
