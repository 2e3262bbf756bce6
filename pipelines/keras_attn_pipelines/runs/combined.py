"""Makes a run of several: the mean of their weights, or an ensemble."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_attn.models.ensemble import Ensemble
from keras_attn.training.averaging import average_models
from keras_attn.whole_file import digest_of, made_folder, move_folder, whole_folder
from keras_attn_pipelines.experiment.stored import type_of
from keras_attn_pipelines.runs.description import (
    DIGEST,
    DIGESTS,
    ENDED,
    ENSEMBLE_OF,
    KEPT,
    MEAN_OF,
)
from keras_attn_pipelines.runs.origin import joined_origin
from keras_attn_pipelines.runs.run import MODEL_FILE, RECIPE_FILE, Run


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
        ValueError: fewer than two runs, runs of different models, or `out` is not empty.
        OSError: `out` cannot be written.
    """
    out = _new(runs, out)
    last, shapes = runs[-1], _shapes(runs[-1])
    for run in runs:  # All checks come before anything is written.
        experiment, expected = run.experiment(), last.experiment()
        differing = _differences(run, last, expected.settled())
        if type_of(experiment.model) != type_of(expected.model):
            differing = ["model"]
        differing += expected.differing(experiment.values())
        if not differing and _shapes(run) != shapes:
            differing = ["the shapes of their weights"]
        _check_equal(differing, run, last, "one model")
    paths = [run.folder / MODEL_FILE for run in runs]
    return _written(runs, out, lambda path: average_models(paths, path), {MEAN_OF: _folders(runs)})


def ensemble(runs: Sequence[Run], out) -> Run:
    """Writes a run whose model is the `Ensemble` of other runs' best epochs.

    Args:
        runs: two or more, of one task, with equal vocabularies; their models may differ.
        out: path of the run directory, new or empty.

    Returns:
        `Run`, with the settings of the last one. It is evaluated, exported and asked as any other,
        but nothing can be trained from it.

    Raises:
        ValueError: fewer than two runs, one that occurs twice, runs of different tasks or
            vocabularies, models that no ensemble takes, or `out` is not empty.
        OSError: `out` cannot be written.
    """
    out = _new(runs, out)
    last, folders = runs[-1], _folders(runs)
    if repeated := [folder for folder in folders if folders.count(folder) > 1]:
        raise ValueError(f"Expected different runs. Received: {repeated[0]} more than once")
    for run in runs:
        _check_equal(_differences(run, last, _of_the_task(last)), run, last, "one task")
    model = Ensemble([run.model() for run in runs], name="ensemble")
    model.build()
    words = dict.fromkeys(run.description["model"] for run in runs)
    each = "each " if len(words) == 1 else ""
    text = f"an ensemble of {len(runs)} models, {each}{' and '.join(words)}"
    changes = {ENSEMBLE_OF: folders, "model": text}
    return _written(runs, out, model.save, changes)


def _new(runs, out) -> Path:
    """The path of a run that can be made.

    Raises:
        ValueError: fewer than two runs, or something is there already.
    """
    if len(runs) < 2:
        raise ValueError(f"Expected two or more runs. Received: {len(runs)}")
    folder = Run(out).folder
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"Expected a new run directory. Received: {folder}")
    return folder


def _folders(runs):
    return [str(run.folder.resolve()) for run in runs]


def _written(runs, out, write: Callable[[Path], Any], changes: Mapping[str, Any]) -> Run:
    """A run with the settings and vocabularies of the last of others.

    Args:
        runs: others.
        out: path of its folder.
        write: writes its model to a path.
        changes: of the description of the last run.
    """
    last, vocabularies = runs[-1], runs[-1].vocabularies()
    description = {**last.description, **changes}
    description["origin"] = joined_origin([run.description.get("origin") for run in runs])
    with whole_folder(made_folder(out.absolute().parent)) as partial:
        description[DIGESTS] = Run(partial).save_vocabularies(vocabularies)
        if (last.folder / RECIPE_FILE).is_file():
            Run(partial).keep_recipe(last.folder / RECIPE_FILE)
        write(partial / MODEL_FILE)
        kept = {KEPT: {DIGEST: digest_of(partial / MODEL_FILE)}, ENDED: True}
        Run(partial).describe({**description, **kept})
        move_folder(partial, out)
    return Run(out)


def _check_equal(differing, run, last, what):
    """Raises ValueError for names of what differs between two runs."""
    if differing:
        raise ValueError(
            f"Expected runs of {what}. Received: {run.folder} and {last.folder}, which differ in "
            f"{', '.join(dict.fromkeys(differing))}"
        )


def _differences(run, last, expected) -> list[str]:
    """What differs between the tasks, the given values and the vocabularies of two runs."""
    experiment, task = run.experiment(), last.experiment().task
    if type_of(experiment.task) != type_of(task):
        return ["task"]
    values, vocabularies = experiment.values(), run.vocabularies()
    differing = [name for name, value in expected.items() if values.get(name) != value]
    return differing + [
        name
        for name, known in last.vocabularies().items()
        if not known.equals(vocabularies.get(name))
    ]


def _of_the_task(run):
    """Values that trained weights fix, of the fields that are not the model's own."""
    experiment = run.experiment()
    own = {declared.name for part, declared, _, _ in experiment.flags() if part == "model"}
    return {name: value for name, value in experiment.settled().items() if name not in own}


def _shapes(run):
    return [tuple(weight.shape) for weight in run.model().weights]
