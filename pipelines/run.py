"""The run directory: everything that training leaves, and how to read it back."""

import functools
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import keras

from keras_attn.serving.precision import set_precision
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.whole_file import check_folder, made_folder, whole_file
from pipelines.captioning import CaptioningRecipe
from pipelines.classification import ClassificationRecipe
from pipelines.digits import DigitsRecipe
from pipelines.parsing import ParsingRecipe
from pipelines.recipe import SOURCE_TOKENIZER, TARGET_TOKENIZER, Recipe
from pipelines.recipes import load_recipe
from pipelines.text_to_text import TextToTextRecipe
from pipelines.transformed_pictures import TransformedPictures
from pipelines.transformer_captioning import TransformerCaptioningRecipe

DESCRIPTION_FILE = "recipe.json"
KINDS = {
    one.kind: one
    for one in (
        CaptioningRecipe,
        TransformerCaptioningRecipe,
        TextToTextRecipe,
        ParsingRecipe,
        ClassificationRecipe,
        DigitsRecipe,
        TransformedPictures,
    )
}
MODEL_FILE, RECIPE_FILE, CHECKPOINT_FILE = "model.keras", "recipe.py", "checkpoint.npz"


@dataclass(frozen=True)
class Run:
    """A run directory.

    recipe.json (recipe, choices, data counts), recipe.py (where a user's own file was trained),
    tokenizer/, source_tokenizer/ (where sources have their own), tags/ (of a parser), labels/ (of a
    classifier, in the place of tokenizers), model.keras (the best epoch), model.best.json,
    history.csv, skipped.txt, tensorboard/, film/ and film.gif (of spatial transformers),
    checkpoint.npz (until training ends).

    Attributes:
        folder: path, of a folder or of nothing yet.

    Raises:
        ValueError: the path is a file's, or leads through one.
    """

    folder: Path

    def __post_init__(self):
        object.__setattr__(self, "folder", Path(self.folder))
        check_folder(self.folder)

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
        with whole_file(made_folder(self.folder) / DESCRIPTION_FILE) as partial:
            partial.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")

    def recipe(self) -> Recipe:
        """The recipe that it was trained with; without a user's own file, one of its kind with such
        of its choices as every recipe of the kind has.

        Raises:
            ValueError: a kind that is not known, or a file that does not run.
        """
        found = self.description
        kind = found.get("kind", CaptioningRecipe.kind)
        return made_recipe(kind, found["values"], self._own_recipe())

    def _own_recipe(self) -> type[Recipe] | None:
        """The class in a user's own recipe file, which also registers its layers; None without."""
        path = self.folder / RECIPE_FILE
        return _loaded(path, path.stat().st_mtime_ns) if path.is_file() else None

    def tokenizers(self) -> dict[str, Any]:
        """The vocabularies that trained the model, by their names."""
        kind = self.description.get("kind", CaptioningRecipe.kind)
        return load_tokenizers(self.folder, kind)

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
        self._own_recipe()
        model = keras.saving.load_model(path, compile=False)
        set_precision(model, precision)
        return model

    def service(self, beam_width=None, n_best=1, precision="float32") -> Any:
        """The model as a service, with the recipe's beam unless told otherwise.

        Raises:
            ValueError: as `model` and `tokenizers`, or tokenizers of another model.
        """
        recipe, model, tokenizers = self.recipe(), self.model(precision), self.tokenizers()
        for name, size in recipe.vocabulary_sizes(model).items():
            found = tokenizers.get(name) or tokenizers[TARGET_TOKENIZER]
            if found.vocabulary_size != size:
                raise ValueError(
                    f"Expected a {name} of {size} {found.unit} in {self.folder}. "
                    f"Received: {found.vocabulary_size}"
                )
        return recipe.service(model, tokenizers, beam_width, n_best)


@functools.lru_cache(maxsize=8)
def _loaded(path, changed):
    """The class of a user's recipe file, as it was at a time: one class for all who ask."""
    return load_recipe(str(path))


def made_recipe(kind: str, values: Mapping[str, Any], own: type[Recipe] | None = None) -> Recipe:
    """The recipe of a kind with such of the choices as it has.

    Args:
        kind: of the recipe.
        values: choices as JSON holds them.
        own: a user's own class, or None for the one that all recipes of the kind come from.

    Raises:
        ValueError: an unknown kind, or a choice of another type.
    """
    made = own or _kind(kind)
    known = {one.name: one.default for one in fields(made)}
    choices: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in values.items()
        if key in known
    }
    for key, value in choices.items():
        if not _of_the_kind(value, known[key]):
            raise ValueError(
                f"Expected {key} like {known[key]!r} among the choices of a {kind} recipe. "
                f"Received: {value!r:.80}"
            )
    return made(**choices)


def _of_the_kind(value, default):
    """Whether a choice from a file is of the same type as its default; integers are floats too."""
    if isinstance(default, tuple):
        return isinstance(value, tuple) and all(_of_the_kind(one, default[0]) for one in value)
    if default is None:  # Of `float | None`.
        return value is None or _of_the_kind(value, 0.0)
    kinds = (int, float) if isinstance(default, float) else type(default)
    return isinstance(value, kinds) and isinstance(value, bool) == isinstance(default, bool)


def load_tokenizers(folder: Path, kind: str) -> dict[str, Any]:
    """The vocabularies in a folder by their names.

    Args:
        folder: path.
        kind: of the recipe; it says which there must be.

    Raises:
        ValueError: one is missing or damaged, or an unknown kind.
    """
    kinds: dict[str, Any] = dict(_kind(kind).vocabularies)
    if SOURCE_TOKENIZER not in kinds and (folder / SOURCE_TOKENIZER).is_dir():
        kinds[SOURCE_TOKENIZER] = Tokenizer
    return {name: kind.load(folder / name) for name, kind in kinds.items()}


def _kind(name: str) -> type[Recipe]:
    if name not in KINDS:
        raise ValueError(f"Expected a run of {', '.join(KINDS)}. Received: {name!r}")
    return KINDS[name]
