"""Warm start: a training that begins with the weights and vocabularies of one that ended."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

import keras_attn.models  # noqa: F401  (registers the classes that a config may name)
from keras_attn.serving.export import MODEL_KEY
from keras_attn.serving.precision import set_precision
from keras_attn.serving.stored_shapes import same_numbers
from pipelines.captioning import CaptioningRecipe
from pipelines.recipe import Recipe
from pipelines.recipes import load_recipe, recipe_names
from pipelines.run import DESCRIPTION_FILE, Run
from pipelines.saved import whole_saved_model
from pipelines.saved_description import SavedDescription


@dataclass(frozen=True)
class WarmStart:
    """What a training begins with.

    Attributes:
        path: of the run directory or the SavedModel's version.
        values: choices of the recipe it was trained with.
        tokenizers: dict from name to `Vocabulary`.
        model: built model in float32.
        kind: of the recipe it was trained with.
    """

    path: Path
    values: Mapping[str, Any]
    tokenizers: Mapping[str, Any]
    model: Any
    kind: str = CaptioningRecipe.kind

    @classmethod
    def read(cls, path) -> "WarmStart":
        """Reads a run directory (its best epoch) or a SavedModel (its newest version).

        A model of a user's own recipe file needs that file loaded before: see `load_recipe`.

        Raises:
            ValueError: neither is there, or it is damaged.
        """
        path = Path(path)
        if (path / DESCRIPTION_FILE).is_file():
            run = Run(path)
            found = run.description
            kind = found.get("kind", CaptioningRecipe.kind)
            return cls(path, found["values"], run.tokenizers(), run.model(), kind)
        saved = SavedDescription.read(path)
        tokenizers = saved.tokenizers()
        model = _restored(saved.version, saved.metadata[MODEL_KEY])
        return cls(saved.version, saved.metadata["values"], tokenizers, model, saved.kind)

    def recipe(self, recipe: type[Recipe], choices: Mapping[str, Any]) -> Recipe:
        """A recipe whose shapes are those of the model.

        Args:
            recipe: subclass of `Recipe`.
            choices: what is to differ from the recipe's defaults.

        Raises:
            ValueError: a recipe of another kind, or a choice that the model has settled otherwise.
        """
        if recipe.kind != self.kind:
            fitting = [one for one in recipe_names() if load_recipe(one).kind == self.kind]
            raise ValueError(
                f"Expected a recipe of {self.kind} ({', '.join(fitting)}), as in {self.path}. "
                f"Received: one of {recipe.kind}"
            )
        known = {one.name for one in fields(recipe)}
        given = {
            key: self._settled(key) for key in recipe.settled if key in known & set(self.values)
        }
        made = recipe(**{**choices, **given})
        self._check(recipe.settled, {**made.values(), **choices})
        return made

    def start(self, recipe: Recipe, model) -> None:
        """Gives a new model the weights.

        Raises:
            ValueError: the recipe makes a model of other shapes.
        """
        self._check(recipe.settled, recipe.values())
        pairs = list(zip(model.weights, self.model.weights))
        wrong = [own.path for own, other in pairs if own.shape != other.shape]
        if wrong or len(model.weights) != len(self.model.weights):
            raise ValueError(
                f"Expected a recipe whose model has the {len(self.model.weights)} weights of "
                f"{self.path}. Received: one of {len(model.weights)}, of which {len(wrong)} have "
                f"other shapes: {wrong[:3]}"
            )
        for own, other in pairs:
            own.assign(other)

    def _settled(self, key):
        value = self.values[key]
        return tuple(value) if isinstance(value, list) else value

    def _check(self, settled, values):
        known = [key for key in settled if key in self.values and key in values]
        wrong = [key for key in known if values[key] != self._settled(key)]
        if wrong:
            expected = ", ".join(f"{key}={self._settled(key)!r}" for key in wrong)
            found = ", ".join(f"{key}={values[key]!r}" for key in wrong)
            raise ValueError(f"Expected {expected}, as in {self.path}. Received: {found}")


def _restored(version, config):
    """The Keras model of a SavedModel: built from its config, with the graph's weights."""
    try:
        model = keras.saving.deserialize_keras_object(json.loads(json.dumps(config)))
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(
            f"Expected {version} to hold a model of classes that are known here (a model of your "
            f"own recipe file needs that file as RECIPE). Received: {error}"
        ) from error
    if not isinstance(model, keras.Model):
        raise ValueError(f"Expected the config of a model in {version}. Received: {config!r:.80}")
    if not model.built:
        model.build()
    set_precision(model, "float32")
    with whole_saved_model(version):
        variables = getattr(tf.saved_model.load(str(version)), "model_variables", ())
    shapes = [tuple(one.shape) for one in model.variables]
    stored = [tuple(one.shape) for one in variables]
    if len(shapes) != len(stored) or not all(map(same_numbers, shapes, stored)):
        raise ValueError(
            f"Expected the {len(shapes)} variables of the model's config in {version}. "
            f"Received: {len(variables)}, or some of other shapes"
        )
    for own, other in zip(model.variables, variables):
        own.assign(tf.reshape(tf.cast(other, own.dtype), own.shape))
    return model
