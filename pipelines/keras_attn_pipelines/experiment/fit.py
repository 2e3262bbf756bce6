"""The fit part: how long, in what batches, and which epoch is kept."""

from keras_attn_pipelines.experiment.fields import COMMON, option, part

MOST_SEED = 2**32 - 1


@part
class Fit:
    """`keras.Model.fit` until the epochs or the patience are used up."""

    epochs: int = option("passes over the training records", default=10, least=1, group=COMMON)
    batch_size: int = option(
        "batch size in records, across all devices",
        default=32,
        needs={"batch_tokens": False},
        least=1,
        group=COMMON,
    )
    batch_tokens: int = option(
        "batch size in tokens per side, across all devices; 0: use batch_size",
        default=0,
        least=0,
        group=COMMON,
    )
    monitor: str = option("metric that selects the best epoch", default="val_loss", group=COMMON)
    patience: int = option(
        "epochs without improvement before training stops", default=3, least=1, group=COMMON
    )
    seed: int = option(
        "seed for weights, dropout and shuffling",
        default=0,
        least=0,
        most=MOST_SEED,
        group=COMMON,
    )
