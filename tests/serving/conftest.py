"""A tiny service of each kind and their SavedModels for all tests of serving."""

import os

import pytest

from keras_attn.serving.export import export_service
from keras_attn.whole_file import locked, made_folder
from tests.serving.tiny_service import caption_service
from tests.serving.tiny_text_service import text_service


def exported(name, service, tmp_path_factory):
    """Path of version 1 of a service's model, exported once for all processes of the session."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder = made_folder(folder / "exported" / name)
    with locked(folder):
        if not (folder / "tiny").exists():
            export_service(service, folder / "tiny", "card")
    return folder / "tiny" / "1"


@pytest.fixture(scope="session")
def tiny_service():
    return caption_service()


@pytest.fixture(scope="session")
def tiny_export(tiny_service, tmp_path_factory):
    """Path of version 1 of the model "tiny"."""
    return exported("captions", tiny_service, tmp_path_factory)


@pytest.fixture(scope="session")
def tiny_text_service():
    return text_service()


@pytest.fixture(scope="session")
def tiny_text_export(tiny_text_service, tmp_path_factory):
    """Path of version 1 of the model "tiny", from text to text."""
    return exported("texts", tiny_text_service, tmp_path_factory)
