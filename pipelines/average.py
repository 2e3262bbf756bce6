"""The mean of several trainings of one model as a run of its own."""

import shutil
from collections.abc import Sequence

from keras_attn.training.averaging import average_models
from pipelines.run import MODEL_FILE, RECIPE_FILE, Run


def average(runs: Sequence[Run], out) -> Run:
    """Writes a run directory whose model has the mean of the weights of other runs' best epochs.

    Of a training and one that went on from it, as of self-critical training and what it began
    with, the mean is often better than both (Wortsman et al. 2021, arXiv:2109.01903).

    Args:
        runs: two or more, of one kind, with equal shapes and vocabularies. A run may stand there
            more than once, and counts as often.
        out: path of the run directory, new or empty.

    Returns:
        `Run`, with the choices of the last.

    Raises:
        ValueError: fewer than two runs, runs of different models, or `out` holds something.
        OSError: `out` cannot be written.
    """
    if len(runs) < 2:
        raise ValueError(f"Expected two or more runs. Received: {len(runs)}")
    made, last = Run(out), runs[-1]
    if made.folder.exists() and any(made.folder.iterdir()):
        raise ValueError(f"Expected a new run directory. Received: {made.folder}")
    description, tokenizers, shapes = last.description, last.tokenizers(), _shapes(last)
    for one in runs:  # Whatever is wrong is told before anything is written.
        if wrong := _differences(one, last, tokenizers, shapes):
            raise ValueError(
                f"Expected runs of one model. Received: {one.folder} and {last.folder}, which "
                f"differ in {', '.join(wrong)}"
            )
    means = [str(one.folder.resolve()) for one in runs]
    made.describe({**description, "mean_of": means, "ended": True})
    for name, tokenizer in tokenizers.items():
        tokenizer.save(made.folder / name)
    if (last.folder / RECIPE_FILE).is_file():
        shutil.copyfile(last.folder / RECIPE_FILE, made.folder / RECIPE_FILE)
    average_models([one.folder / MODEL_FILE for one in runs], made.folder / MODEL_FILE)
    return made


def _differences(one, last, tokenizers, shapes):
    """In what two runs are not of one model."""
    recipe, expected = one.recipe(), last.recipe()
    if recipe.kind != expected.kind:
        return ["kind"]
    settled = [key for key in expected.settled if key in expected.values()]
    wrong = [key for key in settled if getattr(recipe, key) != getattr(expected, key)]
    own = one.tokenizers()
    wrong += [name for name, known in tokenizers.items() if not known.equals(own.get(name))]
    return wrong or ([] if _shapes(one) == shapes else ["the shapes of their weights"])


def _shapes(run):
    return [tuple(weight.shape) for weight in run.model().weights]
