"""Pytest plugin: a tiny run and export of a recipe, made once for all processes of a session."""

import functools
import json
import os
from pathlib import Path

import pytest

from keras_attn.whole_file import locked, made_folder


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory):
    """Path of a folder that all processes of the session share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def recipes(session_folder):
    """Tiny runs of recipes, made when first needed; no test may change them."""
    return Recipes(session_folder / "recipes")


def flags(values) -> list[str]:
    """Field values, a dict by name, as command-line flags."""
    written = []
    for key, value in values.items():
        name = key.replace("_", "-")
        if isinstance(value, bool):
            written.append(f"--{name}" if value else f"--no-{name}")
        else:
            parts = value if isinstance(value, tuple) else (value,)
            written += [f"--{name}", *map(str, parts)]
    return written


class Recipes:
    """Data, runs and exports by the names of the registry.

    Args:
        folder: path for all of them.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.data = functools.cache(self._written)
        self.run = functools.cache(self._trained)
        self.model = functools.cache(self._exported)

    def _written(self, name):
        """The value of `--data` for a recipe."""
        row = _row(name)
        place = f"data-{row.data.__name__}"
        with locked(made_folder(self.folder / place)):
            kept = self.folder / place / "path.json"
            if not kept.exists():
                kept.write_text(json.dumps(str(row.data(self.folder / place))))
            return json.loads(kept.read_text())

    def _trained(self, name):
        """`Run` of a recipe, trained by the command line."""
        from keras_attn_pipelines.runs.run import Run

        row, folder = _row(name), self.folder / f"run-{name}"
        command = ["train", name, "--data", self.data(name), "--out", str(folder)]
        if row.start:
            command += ["--from", str(self.run(row.start).folder)]
        with locked(made_folder(self.folder / f"making-{name}")):
            made = (folder / "recipe.json").exists()
            if not made or "ended" not in Run(folder).description:
                _run([*command, *flags(row.values)])
        return Run(folder)

    def _exported(self, name):
        """Path of the model's folder, with scores on its card."""
        run, folder = self.run(name), self.folder / f"model-{name}"
        command = ["export", str(run.folder), str(folder), "--data", self.data(name)]
        with locked(made_folder(self.folder / f"making-{name}")):
            if not (folder / "README.md").exists():
                _run([*command, "--n-best", str(_row(name).n_best)])
        return folder


def _row(name):
    from tests.recipes.registry import BY_NAME

    return BY_NAME[name]


def _run(command):
    from keras_attn_pipelines.cli import main

    assert main(command) == 0, command
