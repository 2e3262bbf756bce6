"""Tiny services, by the names of the registry, and their SavedModels for all tests of serving."""

import functools

import pytest

from keras_attn.saved import c_session
from keras_attn.saved.c_session import NoLibraryError
from keras_attn.saved.loading import load
from keras_attn.saved.session import SavedSession
from keras_attn.serving.export import export_service
from keras_attn.whole_file import locked, made_folder
from tests.serving.registry import BY_NAME


@pytest.fixture(scope="session")
def service_named():
    """A function from a name of the registry to its service, made once."""
    return functools.cache(lambda name: BY_NAME[name].make())


@pytest.fixture(scope="session")
def version_named(service_named, session_folder):
    """A function from a name of the registry to the path of version 1 of the model "tiny".

    Each service is exported once, for all processes of the session.
    """

    def version(name):
        model = made_folder(session_folder / "exported" / name)
        with locked(model):
            if not (model / "tiny" / "README.md").exists():
                export_service(service_named(name), model / "tiny", "card")
        return model / "tiny" / "1"

    return version


@pytest.fixture(scope="session")
def saved_named(version_named):
    """A function from a name of the registry to its SavedModel, loaded once."""
    return functools.cache(lambda name: load(version_named(name)))


@pytest.fixture(scope="session")
def tiny_service(service_named):
    return service_named("captions")


@pytest.fixture(scope="session")
def tiny_export(version_named):
    """Path of version 1 of the model "tiny"."""
    return version_named("captions")


@pytest.fixture(scope="session")
def tiny_text_service(service_named):
    return service_named("texts")


@pytest.fixture(scope="session")
def tiny_text_export(version_named):
    """Path of version 1 of the model "tiny", from text to text."""
    return version_named("texts")


@pytest.fixture(scope="session")
def c_translator(tiny_text_export):
    """The text model, asked through TensorFlow's C interface."""
    model = SavedSession(tiny_text_export)
    yield model
    model.close()


@pytest.fixture(scope="session")
def translator_in_python(tiny_text_export):
    """The text model, asked through TensorFlow's Python, as where its libraries do not load."""

    def no_library(name):
        raise NoLibraryError(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c_session, "_package", no_library)
        return load(tiny_text_export)


@pytest.fixture(scope="module")
def task_named():
    """A function from a name of `hub_tasks` to its task, made once."""
    from tests.serving import hub_tasks  # Which needs keras-hub.

    made = {}

    def named(name):
        made[name] = made.get(name) or hub_tasks.TASKS[name]()
        return made[name]

    return named
