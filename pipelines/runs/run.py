"""The run directory: everything training writes, and how to read it back."""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras

from keras_attn.serving.precision import set_precision
from keras_attn.whole_file import check_folder, made_folder, whole_file
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.recipe_file import load_recipe_file
from keras_attn_pipelines.experiment.stored import described, restored

DESCRIPTION_FILE = "recipe.json"
MODEL_FILE, RECIPE_FILE, CHECKPOINT_FILE = "model.keras", "recipe.py", "checkpoint.npz"


@dataclass(frozen=True)
class Run:
    """A run directory.

    recipe.json (the experiment's parts, counts of records, sizes of vocabularies), recipe.py (a
    copy of the user's own recipe file), a folder for each vocabulary, model.keras (the best epoch),
    model.best.json, history.csv, skipped.txt, tensorboard/, film/ and film.gif (of spatial
    transformers), checkpoint.npz (until training ends).

    Attributes:
        folder: path of the folder, which need not exist yet.

    Raises:
        ValueError: the path or one of its parents is a file.
    """

    folder: Path

    def __post_init__(self):
        object.__setattr__(self, "folder", Path(self.folder))
        check_folder(self.folder)

    @property
    def description(self) -> dict:
        """What `describe` wrote.

        Raises:
            ValueError: the folder is not a run directory, recipe.json is damaged, or an earlier
                version wrote it.
        """
        path = self.folder / DESCRIPTION_FILE
        if not path.is_file():
            raise ValueError(f"Expected a run directory with {path.name}. Received: {self.folder}")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"Expected JSON in {path}. Received: {error}") from error
        if not isinstance(content, dict):
            raise ValueError(f"Expected a JSON object in {path}. Received: {content!r:.80}")
        described(path, content)
        return content

    def describe(self, description: Mapping[str, Any]) -> None:
        """Writes recipe.json atomically."""
        with whole_file(made_folder(self.folder) / DESCRIPTION_FILE) as partial:
            partial.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")

    def experiment(self) -> Experiment:
        """The experiment that was trained.

        Raises:
            ValueError: an unknown part, or a recipe file that does not run.
        """
        path = self.folder / DESCRIPTION_FILE
        return restored(self.description["parts"], self._recipe_file(), path)

    def _recipe_file(self) -> Experiment | None:
        """The experiment in a user's own recipe file, which also registers its layers."""
        path = self.folder / RECIPE_FILE
        return load_recipe_file(path) if path.is_file() else None

    def vocabularies(self) -> dict[str, Any]:
        """The model's vocabularies by name.

        Raises:
            ValueError: one is missing or damaged.
        """
        return load_vocabularies(self.folder, self.experiment())

    def model(self, precision="float32"):
        """The model of the best epoch, in any precision.

        Raises:
            ValueError: no finished epoch, a damaged file, or an unknown precision.
        """
        path = self.folder / MODEL_FILE
        if not path.is_file():
            raise ValueError(f"Expected a trained model at {path}. Received: no such file")
        if not zipfile.is_zipfile(path):
            raise ValueError(f"Expected a Keras model at {path}. Received: a damaged file")
        self._recipe_file()
        model = keras.saving.load_model(path, compile=False)
        set_precision(model, precision)
        return model

    def service(self, beam_width=None, n_best=1, precision="float32") -> Any:
        """The model as a service; `beam_width` overrides the task's own.

        Raises:
            ValueError: as `model` and `vocabularies`, or vocabularies of another model.
        """
        experiment, model = self.experiment(), self.model(precision)
        vocabularies, sizes = self.vocabularies(), self.description["vocabularies"]
        for name, vocabulary in vocabularies.items():
            if vocabulary.vocabulary_size != sizes[name]:
                raise ValueError(
                    f"Expected a {name} of {sizes[name]} {vocabulary.unit} in {self.folder}. "
                    f"Received: {vocabulary.vocabulary_size}"
                )
        return experiment.task.service(model, vocabularies, experiment.model, beam_width, n_best)


def load_vocabularies(folder: Path, experiment: Experiment) -> dict[str, Any]:
    """The vocabularies of an experiment's task in a folder, by name.

    Raises:
        ValueError: one is missing or damaged.
    """
    types = experiment.task.vocabulary_types()
    return {name: cls.load(folder / name) for name, cls in types.items()}
