"""Lets a service of pictures answer how familiar each picture is."""

from typing import Any

from keras_attn.contracts import FEATURES
from keras_attn.serving.views import FAMILIARITY_NOTE


def answer_familiarity(service: Any, familiarity: Any) -> None:
    """Adds FAMILIARITY to the answers of a service, which is to be exported, and its note.

    Args:
        service: `GenerationService` of a captioner.
        familiarity: adapted `Familiarity` of the features of its encoder.

    Raises:
        ValueError: another service, or a familiarity of other features.
    """
    shape = getattr(service.model, "feature_shape", None)
    if shape is None or not hasattr(service, "familiarity"):
        raise ValueError(
            f"Expected a captioner of pictures for a familiarity. Received: {service.model.name}"
        )
    if familiarity.dim != shape[-1]:
        raise ValueError(
            f"Expected a familiarity of {FEATURES} of {shape[-1]} dimensions. "
            f"Received: {familiarity.dim}"
        )
    service.familiarity, service.further_weights = familiarity, familiarity.variables
    service.views = (*service.views, FAMILIARITY_NOTE)
