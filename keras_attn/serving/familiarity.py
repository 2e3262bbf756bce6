"""Lets a service of pictures answer how familiar each picture is."""

from typing import Any

from keras_attn.contracts import FEATURES
from keras_attn.models.captioner.captioner import Captioner
from keras_attn.models.captioner.familiarity import Familiarity
from keras_attn.serving.stored_weights import FLOAT32
from keras_attn.serving.views import FAMILIARITY_NOTE


def check_captioner(model: Any, products: str = FLOAT32) -> None:
    """Raises ValueError for a model whose pictures can have no familiarity, or for products other
    than those that it is calibrated on, float32."""
    if products != FLOAT32:
        raise ValueError(
            "Expected float32 products with a familiarity, which is calibrated on them. "
            f"Received: {products}"
        )
    if not isinstance(model, Captioner):
        raise ValueError(
            f"Expected a single captioner of pictures for a familiarity. Received: {model.name}"
        )


def answer_familiarity(service: Any, familiarity: Familiarity) -> None:
    """Adds FAMILIARITY to the answers of a service, which is to be exported, and its note.

    Args:
        service: `GenerationService` of a captioner.
        familiarity: adapted `Familiarity` of the features of its encoder.

    Raises:
        ValueError: another service, or one that has a familiarity; one that was not adapted, or
            of other features.
    """
    check_captioner(service.model)
    if not isinstance(familiarity, Familiarity) or not familiarity.slope > 0:
        raise ValueError(f"Expected an adapted Familiarity. Received: {familiarity!r}")
    if service.familiarity is not None:
        raise ValueError("Expected a service without a familiarity. Received: one that has it")
    dim = service.model.feature_shape[-1]
    if familiarity.dim != dim:
        raise ValueError(
            f"Expected a familiarity of {FEATURES} of {dim} dimensions. Received: {familiarity.dim}"
        )
    service.familiarity, service.further_weights = familiarity, familiarity.variables
    service.views = (*service.views, FAMILIARITY_NOTE)
