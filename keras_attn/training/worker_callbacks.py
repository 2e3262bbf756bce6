"""Callbacks of a training on several workers: who runs them, and with whose numbers."""

from collections.abc import Sequence

import keras

from keras_attn.training.workers import Workers


class BroadcastLogs(keras.callbacks.Callback):
    """Replaces the logs of each epoch by the chief's, on every worker.

    Stands behind callbacks that add to the logs, before those that decide by them.

    Args:
        workers: `Workers`.
    """

    changes_model = False

    def __init__(self, workers: Workers):
        super().__init__()
        self.workers = workers

    def on_epoch_end(self, epoch, logs=None):
        chief_logs = self.workers.told({name: float(value) for name, value in (logs or {}).items()})
        if logs is not None:
            logs.clear()
            logs.update(chief_logs)


def select_callbacks(callbacks: Sequence[keras.callbacks.Callback], workers: Workers) -> list:
    """The callbacks that this process runs: the chief all, others those that change the model.

    A callback says by its attribute `changes_model`, True or False, whether it changes the model or
    anything else that training depends on, or only watches.

    Args:
        callbacks: Keras callbacks.
        workers: `Workers`.

    Raises:
        ValueError: one does not say, and there are several workers ("Expected callbacks whose
            changes_model is True or False, with several workers. Received: LambdaCallback, which
            has none").

    Example:
        >>> callbacks = select_callbacks([keras.callbacks.History()], Workers())
        >>> [type(callback).__name__ for callback in callbacks]
        ['History']
    """
    if workers.cluster is None:
        return list(callbacks)
    for callback in callbacks:
        if not isinstance(getattr(callback, "changes_model", None), bool):
            raise ValueError(
                "Expected callbacks whose changes_model is True or False, with several workers. "
                f"Received: {type(callback).__name__}, which has none"
            )
    return [callback for callback in callbacks if workers.is_chief or callback.changes_model]
