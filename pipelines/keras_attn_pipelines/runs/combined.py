"""Makes a run of several: the mean of their weights, or an ensemble."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_attn.models.ensemble import Ensemble
from keras_attn.training.averaging import average_models
from keras_attn.whole_file import digest_of, made_folder, move_folder, whole_folder
from keras_attn_pipelines.experiment.stored import type_of
from keras_attn_pipelines.runs.description import (
    COMBINED,
    DIGEST,
    DIGESTS,
    ENDED,
    ENSEMBLE_OF,
    KEPT,
    MEAN_OF,
)
from keras_attn_pipelines.runs.origin import joined_origin
from keras_attn_pipelines.runs.run import MODEL_FILE, RECIPE_FILE, Run

LENGTHS = ("lengths", "source_lengths")
"""Fields of the longest texts that a model is asked for, which training may change."""


def average(runs: Sequence[Run], out) -> Run:
    """Writes a run whose weights are the mean of other runs' best epochs.

    The mean of a run and one fine-tuned from it, by self-critical training for example, is often
    better than either (Wortsman et al. 2021, arXiv:2109.01903).

    Args:
        runs: two or more, of one task and model, with equal shapes and vocabularies. A run
            listed n times has weight n.
        out: path of the run directory, new or empty.

    Returns:
        `Run`, with the settings of the last one.

    Raises:
        ValueError: fewer than two runs, runs of different models, ensembles, or `out` is not empty.
        OSError: `out` cannot be written.
    """
    _check(runs, out)
    if combined := [run.folder for run in runs if ENSEMBLE_OF in run.description]:
        raise ValueError(f"Expected runs of one model. Received: {combined[0]}, an ensemble")
    *others, last = runs
    expected, known, shapes = last.experiment(), last.vocabularies(), _shapes(last)
    for run in others:  # All checks come before anything is written.
        experiment = run.experiment()
        differing = _differing_parts(experiment, expected, ("task", "model"))
        if not differing:
            differing = _differing_values(experiment, expected.settled())
            differing += expected.differing(experiment.values())
            differing += _differing_files(run, last, known)
        if not differing and _shapes(run) != shapes:
            differing = ["the shapes of their weights"]
        _check_equal(differing, run, last, "one model")
    paths = [run.folder / MODEL_FILE for run in runs]
    changes = {MEAN_OF: _folders(runs)}
    return _write(runs, known, out, lambda path: average_models(paths, path), changes)


def ensemble(runs: Sequence[Run], out) -> Run:
    """Writes a run whose model is the `Ensemble` of other runs' best epochs.

    Args:
        runs: two or more, of one task, with equal vocabularies and lengths; their models may
            differ.
        out: path of the run directory, new or empty.

    Returns:
        `Run`, with the settings of the last one. It is evaluated, exported and asked as any other,
        but nothing can be trained from it.

    Raises:
        ValueError: fewer than two runs, one that occurs twice, runs of different tasks or
            vocabularies, models that no ensemble takes, or `out` is not empty.
        OSError: `out` cannot be written.
    """
    _check(runs, out)
    (*others, last), folders = runs, _folders(runs)
    if len({*folders}) < len(folders):
        (folder, _), *_ = Counter(folders).most_common(1)
        raise ValueError(f"Expected different runs. Received: {folder} more than once")
    expected, known = last.experiment(), last.vocabularies()
    settings = _task_settings(expected)
    for run in others:
        experiment = run.experiment()
        differing = _differing_parts(experiment, expected, ("task",))
        if not differing:
            differing = _differing_values(experiment, settings)
            differing += _differing_files(run, last, known)
        _check_equal(differing, run, last, "one task")
    model = Ensemble([run.model() for run in runs], name="ensemble")
    model.build()
    words = Counter(run.description["model"] for run in runs).items()
    kinds = " and ".join(text if count == 1 else f"{count} × {text}" for text, count in words)
    changes = {ENSEMBLE_OF: folders, "model": f"an ensemble of {len(runs)} models: {kinds}"}
    return _write(runs, known, out, model.save, changes)


def _check(runs, out):
    """Raises ValueError for fewer than two runs, or a folder that is not empty."""
    if len(runs) < 2:
        raise ValueError(f"Expected two or more runs. Received: {len(runs)}")
    folder = Run(out).folder
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"Expected a new run directory. Received: {folder}")


def _check_equal(differing, run, last, what):
    """Raises ValueError for names of what differs between two runs."""
    if differing:
        raise ValueError(
            f"Expected runs of {what}. Received: {run.folder} and {last.folder}, which differ in "
            f"{', '.join(dict.fromkeys(differing))}"
        )


def _differing_parts(experiment, expected, names):
    """Names of the parts that are of different types, of which the first says enough."""
    types = ([type_of(getattr(one, name)) for name in names] for one in (experiment, expected))
    return [name for name, own, other in zip(names, *types) if own != other][:1]


def _differing_values(experiment, expected):
    """Names of fields whose values are others."""
    values = experiment.values()
    return [name for name, value in expected.items() if values.get(name) != value]


def _differing_files(run, last, known):
    """Names of vocabularies that differ from the known ones, and of the user's own recipe file."""
    vocabularies = run.vocabularies()
    differing = [name for name, one in known.items() if not one.equals(vocabularies.get(name))]
    return differing + ([] if _recipe(run) == _recipe(last) else [RECIPE_FILE])


def _recipe(run):
    """The content of a user's own recipe file, which defines classes that models are made of."""
    path = run.folder / RECIPE_FILE
    return path.read_bytes() if path.is_file() else None


def _task_settings(experiment):
    """Values that trained weights fix, of the fields that are not the model's own, and lengths."""
    own = {declared.name for part, declared, _, _ in experiment.flags() if part == "model"}
    settings = {name: value for name, value in experiment.settled().items() if name not in own}
    values = experiment.values()
    return {**settings, **{name: values[name] for name in LENGTHS if name in values}}


def _shapes(run):
    return [tuple(weight.shape) for weight in run.model().weights]


def _folders(runs):
    return [str(run.folder.resolve()) for run in runs]


def _write(runs, vocabularies, out, write: Callable[[Path], Any], changes: Mapping) -> Run:
    """Writes a run with the settings of the last of others.

    Args:
        runs: others.
        vocabularies: theirs, by name.
        out: path of its folder.
        write: writes its model to a path.
        changes: of the description of the last run.
    """
    last, made = runs[-1], Run(out)
    description = {key: value for key, value in last.description.items() if key not in COMBINED}
    description["origin"] = joined_origin([run.description.get("origin") for run in runs])
    with whole_folder(made_folder(made.folder.absolute().parent)) as partial:
        description[DIGESTS] = Run(partial).save_vocabularies(vocabularies)
        if (last.folder / RECIPE_FILE).is_file():
            Run(partial).keep_recipe(last.folder / RECIPE_FILE)
        write(partial / MODEL_FILE)
        kept = {KEPT: {DIGEST: digest_of(partial / MODEL_FILE)}, ENDED: True}
        Run(partial).describe({**description, **changes, **kept})
        move_folder(partial, made.folder)
    return made
