"""The run directory: everything that training leaves, and how to read it back."""

import json
import os
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import keras

from keras_attn.decoding import Beam
from keras_attn.serving.precision import set_precision
from keras_attn.serving.service import CaptionService
from keras_attn.text.tokenizer import Tokenizer
from pipelines.captioning import CaptioningRecipe
from pipelines.recipes import load_recipe

DESCRIPTION_FILE = "recipe.json"
MODEL_FILE, RECIPE_FILE, CHECKPOINT_FILE = "model.keras", "recipe.py", "checkpoint.npz"


@dataclass(frozen=True)
class Run:
    """A run directory.

    recipe.json (recipe, choices, data counts), recipe.py (where a user's own file was trained),
    tokenizer/, model.keras (the best epoch), model.best.json, history.csv, skipped.txt,
    tensorboard/, checkpoint.npz (until training ends).

    Attributes:
        folder: path.
    """

    folder: Path

    def __post_init__(self):
        object.__setattr__(self, "folder", Path(self.folder))

    @property
    def description(self) -> dict:
        """What `describe` wrote.

        Raises:
            ValueError: the folder is no run directory, or recipe.json is damaged.
        """
        path = self.folder / DESCRIPTION_FILE
        if not path.is_file():
            raise ValueError(f"Expected a run directory with {path.name}. Received: {self.folder}")
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"Expected JSON in {path}. Received: {error}") from error
        missing = {"recipe", "values"} - set(found if isinstance(found, dict) else ())
        if missing:
            raise ValueError(f"Expected {sorted(missing)} in {path}. Received: {found}")
        return found

    def describe(self, description: dict) -> None:
        """Writes recipe.json in one move."""
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / f"partial-{DESCRIPTION_FILE}"
        partial.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        os.replace(partial, self.folder / DESCRIPTION_FILE)

    def recipe(self) -> CaptioningRecipe:
        """The choices that every captioning recipe has."""
        values: dict[str, Any] = self.description["values"]
        known = {one.name for one in fields(CaptioningRecipe)}
        choices: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in values.items()
            if key in known
        }
        return CaptioningRecipe(**choices)

    def tokenizer(self) -> Tokenizer:
        """The tokenizer that trained the model."""
        return Tokenizer.load(self.folder / "tokenizer")

    def model(self, precision="float32"):
        """The model of the best epoch, in a precision of choice whatever it was trained in.

        Raises:
            ValueError: no finished epoch, a damaged file, or an unknown precision.
        """
        path = self.folder / MODEL_FILE
        if not path.is_file():
            raise ValueError(f"Expected a trained model at {path}. Received: no such file")
        if not zipfile.is_zipfile(path):
            raise ValueError(f"Expected a Keras model at {path}. Received: a damaged file")
        if (self.folder / RECIPE_FILE).is_file():
            load_recipe(str(self.folder / RECIPE_FILE))
        model = keras.saving.load_model(path, compile=False)
        set_precision(model, precision)
        return model

    def service(self, beam_width=None, n_best=1, precision="float32") -> CaptionService:
        """The model as a service, with the recipe's beam unless told otherwise."""
        recipe, model, tokenizer = self.recipe(), self.model(precision), self.tokenizer()
        width = recipe.beam_width if beam_width is None else beam_width
        if tokenizer.vocabulary_size != model.decoder.config.vocabulary_size:
            raise ValueError(
                f"Expected a tokenizer of {model.decoder.config.vocabulary_size} pieces in "
                f"{self.folder}. Received: {tokenizer.vocabulary_size}"
            )
        return CaptionService(
            model=model,
            tokenizer=tokenizer,
            strategy=Beam(width, recipe.length_alpha, n_best),
            max_length=recipe.lengths[-1],
            fit=recipe.fit,
        )
