"""What the classification tasks ask of a model part beside what every model part has."""

from pathlib import Path
from typing import Any, Protocol

from keras_attn_pipelines.experiment.parts import Model


class ClassifierModel(Model, Protocol):
    """A model part that knows what its classifier can show."""

    def serve(self, model: Any, labels: Any, picture_format: Any, n_best: int) -> Any:
        """The classifier as a service.

        Args:
            model: built Keras model.
            labels: vocabulary of its classes.
            picture_format: `PictureFormat` of the pictures.
            n_best: labels answered.
        """

    def show(self, model: Any, service: Any, pictures: Any, folder: Path) -> list[Any]:
        """Callbacks that draw what the model does with a few pictures.

        Args:
            model: built Keras model in training.
            service: of `serve`.
            pictures: uint8 (n, height, width, 3).
            folder: the run directory.
        """
