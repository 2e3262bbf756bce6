"""The real tensorflow-datasets, with its data sets in a folder of their own."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def tfds(tmp_path_factory):
    """The module; data sets of `tfds.builder` go into a temporary folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TFDS_DATA_DIR", str(tmp_path_factory.mktemp("data_sets")))
        import tensorflow_datasets

        assert os.path.isdir(os.environ["TFDS_DATA_DIR"])
        yield tensorflow_datasets
