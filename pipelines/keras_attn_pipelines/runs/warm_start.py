"""Warm start: training from the weights and vocabularies of an earlier training."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

import keras_attn.models  # noqa: F401  (registers the classes that a config may name)
from keras_attn.layers.location_sampler import LocationSampler
from keras_attn.models.ensemble import Ensemble
from keras_attn.saved.bundled import model_folder
from keras_attn.saved.python_session import whole_saved_model
from keras_attn.serving.export import MODEL_KEY
from keras_attn.serving.precision import set_precision
from keras_attn.serving.stored_shapes import same_numbers
from keras_attn.serving.stored_weights import restored
from keras_attn.training.model_file import check_finite, code_in
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.stored import DESCRIPTION_FILE, type_of
from keras_attn_pipelines.runs.origin import origin_of_run, origin_of_version
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.saved_description import SavedDescription


@dataclass(frozen=True)
class WarmStart:
    """The weights and vocabularies that training starts from.

    Attributes:
        path: of the run directory or the SavedModel's version.
        recipe: name of the recipe they were trained with.
        experiment: `Experiment` they were trained with.
        vocabularies: dict of vocabularies by name.
        model: built Keras model in float32.
        origin: its name and terms, for the model card.
    """

    path: Path
    recipe: str
    experiment: Experiment
    vocabularies: Mapping[str, Any]
    model: Any
    origin: Mapping[str, str]

    @classmethod
    def read(cls, path, recipe: Experiment | None = None) -> "WarmStart":
        """Reads a run directory (its best epoch) or a SavedModel (its newest version).

        Args:
            path: of either, or the name of a model that comes with the project.
            recipe: experiment of the user's recipe file, if it defines any parts of a SavedModel.

        Raises:
            ValueError: neither is there; it is damaged; or it is an ensemble.
        """
        path = model_folder(path)
        if (path / DESCRIPTION_FILE).is_file():
            run = Run(path)
            name, origin = run.description["recipe"], origin_of_run(path, run.description)
            model = _single_model(run.model(), path)
            return cls(path, name, run.experiment(), run.vocabularies(), model, origin)
        saved = SavedDescription.read(path)
        experiment = saved.experiment(recipe)
        vocabularies = saved.vocabularies(experiment)
        model = _single_model(_restored(saved.version, saved.metadata[MODEL_KEY]), path)
        name = saved.metadata.get("recipe", "")
        origin = origin_of_version(saved.version)
        return cls(saved.version, name, experiment, vocabularies, model, origin)

    def adapted(self, experiment: Experiment, values: Mapping[str, Any]) -> Experiment:
        """A copy of an experiment with the sizes of the model.

        Args:
            experiment: `Experiment`.
            values: values that replace the experiment's, by field name.

        Raises:
            ValueError: as `check`.
        """
        self.check(experiment, values)
        known = {declared.name for _, declared, _, _ in experiment.flags()}
        inherited, settled = (
            {key: own for key, own in part.items() if key in known}
            for part in (self.experiment.inherited(), self.experiment.settled())
        )
        return experiment.replaced({**inherited, **values, **settled})

    def check(self, experiment: Experiment, values: Mapping[str, Any]) -> None:
        """Raises ValueError for another task or model, or values that differ from the model's."""
        for name in ("task", "model"):
            before, now = (
                type_of(getattr(chosen, name)) for chosen in (self.experiment, experiment)
            )
            if before != now:
                raise ValueError(
                    f"Expected a recipe whose {name} is {before}, such as {self.recipe}, with "
                    f"which {self.path} was trained. Received: one whose {name} is {now}"
                )
        if wrong := self.experiment.differing(values):
            own = self.experiment.values()
            expected = ", ".join(f"{key}={own[key]!r}" for key in wrong)
            received = ", ".join(f"{key}={values[key]!r}" for key in wrong)
            raise ValueError(f"Expected {expected}, as in {self.path}. Received: {received}")

    def start(self, experiment: Experiment, model) -> None:
        """Copies the weights into a new model.

        Raises:
            ValueError: the new model's weights have other shapes, or it cannot grow from this one.
        """
        self.check(experiment, experiment.values())
        if hasattr(experiment.model, "grow"):
            experiment.model.grow(model, self.model)
            return
        new, earlier = _learned(model), _learned(self.model)
        pairs = list(zip(new, earlier))
        wrong = [own.path for own, other in pairs if own.shape != other.shape]
        if wrong or len(new) != len(earlier):
            raise ValueError(
                f"Expected a recipe whose model has the {len(earlier)} weights of {self.path}. "
                f"Received: one of {len(new)}, of which {len(wrong)} have other shapes: {wrong[:3]}"
            )
        for own, other in pairs:
            own.assign(other)


def _single_model(model, path):
    """A model that training can start from.

    Raises:
        ValueError: an ensemble.
    """
    if isinstance(model, Ensemble):
        raise ValueError(
            f"Expected one model to start from. Received: {path}, an ensemble of "
            f"{len(model.models)}; start from one of its runs"
        )
    return model


def _learned(model):
    """The weights of a model, less the baselines of sampled locations, which soft attention lacks
    and which adapt within a few steps."""
    samplers = (part for part in model._flatten_layers() if isinstance(part, LocationSampler))
    baselines = {id(sampler.baseline) for sampler in samplers}
    return [weight for weight in model.weights if id(weight) not in baselines]


def _restored(version, config):
    """The Keras model of a SavedModel: built from its config, with the graph's weights."""
    if code := code_in(config):
        raise ValueError(
            f"Expected the config of a model in {version}. Received: one with a {code}, whose code "
            "would be run"
        )
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
        variables = restored(tf.saved_model.load(str(version)))
    shapes = [tuple(variable.shape) for variable in model.variables]
    stored = [tuple(variable.shape) for variable in variables]
    if len(shapes) != len(stored) or not all(map(same_numbers, shapes, stored)):
        raise ValueError(
            f"Expected the {len(shapes)} variables of the model's config in {version}. "
            f"Received: {len(variables)}, or some of other shapes"
        )
    check_finite(variables, version)
    for own, other in zip(model.variables, variables):
        own.assign(tf.reshape(tf.cast(other, own.dtype), own.shape))
    return model
