"""A tiny service of each kind and their SavedModels for all tests of serving."""

import pytest

from keras_attn.serving.export import export_service
from tests.serving.tiny_service import caption_service
from tests.serving.tiny_text_service import text_service


@pytest.fixture(scope="session")
def tiny_service():
    return caption_service()


@pytest.fixture(scope="session")
def tiny_export(tiny_service, tmp_path_factory):
    """Path of version 1 of the model "tiny"."""
    return export_service(tiny_service, tmp_path_factory.mktemp("models") / "tiny", "card")


@pytest.fixture(scope="session")
def tiny_text_service():
    return text_service()


@pytest.fixture(scope="session")
def tiny_text_export(tiny_text_service, tmp_path_factory):
    """Path of version 1 of the model "tiny", from text to text."""
    return export_service(tiny_text_service, tmp_path_factory.mktemp("models") / "tiny", "card")
