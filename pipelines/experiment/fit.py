"""The fit part: how long, in what batches, and which epoch is kept."""

from keras_attn_pipelines.experiment.fields import option, part

MOST_SEED = 2**32 - 1


@part
class Fit:
    """`keras.Model.fit` until the epochs or the patience are used up."""

    epochs: int = option("passes over the training records", default=10, least=1)
    batch_size: int = option("records in a batch, over all devices", default=32, least=1)
    batch_tokens: int = option(
        "tokens of one side in a batch, over all devices; 0: batch_size records", default=0, least=0
    )
    monitor: str = option("metric that picks the best epoch", default="val_loss")
    patience: int = option(
        "epochs without a better metric before training stops", default=3, least=1
    )
    seed: int = option("seed of weights, dropout and shuffling", default=0, least=0, most=MOST_SEED)
