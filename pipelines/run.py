"""The run directory: everything that training leaves, and how to read it back."""

import json
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import keras

from keras_attn.decoding import Beam
from keras_attn.serving.precision import set_precision
from keras_attn.serving.service import CaptionService
from keras_attn.text.tokenizer import Tokenizer
from pipelines.captioning import CaptioningRecipe

MODEL_FILE = "model.keras"


@dataclass(frozen=True)
class Run:
    """A run directory.

    recipe.json (recipe, choices, data counts), tokenizer/, model.keras (the best epoch),
    model.best.json, history.csv, skipped.txt, tensorboard/, backup/ (until training ends).

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
            ValueError: the folder is no run directory.
        """
        path = self.folder / "recipe.json"
        if not path.is_file():
            raise ValueError(f"Expected a run directory with {path.name}. Received: {self.folder}")
        return json.loads(path.read_text(encoding="utf-8"))

    def describe(self, description: dict) -> None:
        """Writes recipe.json in one move."""
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / "partial-recipe.json"
        partial.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        os.replace(partial, self.folder / "recipe.json")

    def recipe(self) -> CaptioningRecipe:
        """The choices that every captioning recipe has; a user's recipe file is not needed."""
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
            ValueError: training has not finished an epoch; unknown precision.
        """
        path = self.folder / MODEL_FILE
        if not path.is_file():
            raise ValueError(f"Expected a trained model at {path}. Received: no such file")
        model = keras.saving.load_model(path, compile=False)
        set_precision(model, precision)
        return model

    def service(self, beam_width=None, n_best=1, precision="float32") -> CaptionService:
        """The model as a service, with the recipe's beam unless told otherwise."""
        recipe = self.recipe()
        width = recipe.beam_width if beam_width is None else beam_width
        return CaptionService(
            model=self.model(precision),
            tokenizer=self.tokenizer(),
            strategy=Beam(width, recipe.length_alpha, n_best),
            max_length=recipe.lengths[-1],
            fit=recipe.fit,
        )
