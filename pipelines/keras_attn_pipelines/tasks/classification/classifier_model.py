"""The protocol of model parts of the classification tasks."""

from typing import Any, Protocol

from keras_attn_pipelines.experiment.parts import Model


class ClassifierModel(Model, Protocol):
    """A model part that makes the service of its classifier."""

    def serve(self, model: Any, labels: Any, picture_format: Any, n_best: int) -> Any:
        """The classifier as a service.

        Args:
            model: built Keras model.
            labels: vocabulary of its classes.
            picture_format: `PictureFormat` of the pictures.
            n_best: labels answered.
        """
