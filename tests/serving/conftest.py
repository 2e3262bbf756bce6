"""One tiny service and its SavedModel for all tests of serving."""

import pytest

from keras_attn.serving.export import export_service
from tests.serving.tiny_service import caption_service


@pytest.fixture(scope="session")
def tiny_service():
    return caption_service()


@pytest.fixture(scope="session")
def tiny_export(tiny_service, tmp_path_factory):
    """Path of version 1 of the model "tiny"."""
    return export_service(tiny_service, tmp_path_factory.mktemp("models") / "tiny", "card")
