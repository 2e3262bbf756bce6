"""Tests of pipelines keep to a cache of their own, and load a SavedModel once."""

import pytest

from pipelines import predict


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module", autouse=True)
def _loaded_once():
    load, loaded = predict.saved_model, {}

    def saved_model(folder):
        version = predict.version_folder(folder)
        if version not in loaded:
            loaded[version] = load(folder)
        return loaded[version]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predict, "saved_model", saved_model)
        yield
