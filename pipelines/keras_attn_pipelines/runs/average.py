"""Averages the weights of several runs of one model into a new run."""

from collections.abc import Sequence

from keras_attn.training.averaging import average_models
from keras_attn.whole_file import digest_of, made_folder, move_folder, whole_folder
from keras_attn_pipelines.experiment.stored import type_of
from keras_attn_pipelines.runs.description import DIGEST, DIGESTS, ENDED, KEPT
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
    if len(runs) < 2:
        raise ValueError(f"Expected two or more runs. Received: {len(runs)}")
    average_run, last = Run(out), runs[-1]
    if average_run.folder.exists() and any(average_run.folder.iterdir()):
        raise ValueError(f"Expected a new run directory. Received: {average_run.folder}")
    description, vocabularies, shapes = last.description, last.vocabularies(), _shapes(last)
    for run in runs:  # All checks come before anything is written.
        if differing := _differences(run, last, vocabularies, shapes):
            raise ValueError(
                f"Expected runs of one model. Received: {run.folder} and {last.folder}, which "
                f"differ in {', '.join(differing)}"
            )
    means = [str(run.folder.resolve()) for run in runs]
    origin = joined_origin([run.description.get("origin") for run in runs])
    with whole_folder(made_folder(average_run.folder.absolute().parent)) as partial:
        description = {**description, DIGESTS: Run(partial).save_vocabularies(vocabularies)}
        if (last.folder / RECIPE_FILE).is_file():
            Run(partial).keep_recipe(last.folder / RECIPE_FILE)
        average_models([run.folder / MODEL_FILE for run in runs], partial / MODEL_FILE)
        kept = {KEPT: {DIGEST: digest_of(partial / MODEL_FILE)}, ENDED: True}
        Run(partial).describe({**description, "origin": origin, "mean_of": means, **kept})
        move_folder(partial, average_run.folder)
    return average_run


def _differences(run, last, vocabularies, shapes):
    """What differs between the models of two runs."""
    experiment, expected = run.experiment(), last.experiment()
    for name in ("task", "model"):
        if type_of(getattr(experiment, name)) != type_of(getattr(expected, name)):
            return [name]
    settled = experiment.settled()
    differing = [key for key, value in expected.settled().items() if settled.get(key) != value]
    differing += [key for key in expected.differing(experiment.values()) if key not in differing]
    run_vocabularies = run.vocabularies()
    differing += [
        name for name, known in vocabularies.items() if not known.equals(run_vocabularies.get(name))
    ]
    return differing or ([] if _shapes(run) == shapes else ["the shapes of their weights"])


def _shapes(run):
    return [tuple(weight.shape) for weight in run.model().weights]
