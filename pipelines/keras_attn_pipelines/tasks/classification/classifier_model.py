"""The protocol of model parts of the classification tasks."""

from pathlib import Path
from typing import Any, Protocol

from keras_attn_pipelines.experiment.parts import Model


class ClassifierModel(Model, Protocol):
    """A model part that makes the service and the plots of its classifier."""

    def serve(self, model: Any, labels: Any, picture_format: Any, n_best: int) -> Any:
        """The classifier as a service.

        Args:
            model: built Keras model.
            labels: vocabulary of its classes.
            picture_format: `PictureFormat` of the pictures.
            n_best: labels answered.
        """

    def show(self, model: Any, service: Any, pictures: Any, folder: Path) -> list[Any]:
        """Callbacks that visualize the model on a few pictures.

        Args:
            model: built Keras model in training.
            service: of `serve`.
            pictures: uint8 (n, height, width, 3).
            folder: the run directory.
        """
