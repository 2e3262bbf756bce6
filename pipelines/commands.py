"""The commands of the command line."""

import sys
from pathlib import Path

from keras_attn_pipelines.experiment.flags import given_values
from keras_attn_pipelines.recipes import load_recipe, recipe_name, recipe_names, recipe_summary


def recipes(arguments) -> None:
    """Prints the recipes."""
    for name in recipe_names():
        print(f"{name}\n    {recipe_summary(name).replace(chr(10), chr(10) + '    ')}\n")


def train(arguments) -> None:
    """Trains a recipe."""
    experiment, values = arguments.experiment, given_values(arguments)
    if arguments.source is None:  # Checks ranges before TensorFlow is imported.
        experiment, values = experiment.replaced(values), {}

    from keras_attn_pipelines.runs.train import train
    from keras_attn_pipelines.runs.warm_start import WarmStart

    source = WarmStart.read(arguments.source, experiment) if arguments.source else None
    run = train(
        source.adapted(experiment, values) if source else experiment,
        data=arguments.data,
        out=arguments.out,
        name=recipe_name(arguments.recipe),
        strategy=arguments.strategy,
        precision=arguments.precision,
        cache=arguments.cache,
        source=source,
    )
    print(f"trained: {run.folder}")


def evaluate(arguments) -> None:
    """Scores a run or a SavedModel; prints and writes the result."""
    from keras_attn.whole_file import whole_file
    from keras_attn_pipelines.runs.evaluate import evaluate, evaluate_saved
    from keras_attn_pipelines.runs.run import DESCRIPTION_FILE, Run

    if arguments.json and not Path(arguments.json).absolute().parent.is_dir():
        raise ValueError(f"Expected a file in a folder that exists. Received: {arguments.json}")
    if arguments.json and Path(arguments.json).is_dir():
        raise ValueError(f"Expected a file to write. Received: the folder {arguments.json}")
    given = {key: getattr(arguments, key) for key in ("beam_width", "precision", "max_pixels")}
    given = {key: value for key, value in given.items() if value is not None}
    path = Path(arguments.run)
    saved = any(any(path.glob(pattern)) for pattern in ("saved_model.pb", "*/saved_model.pb"))
    if (path / DESCRIPTION_FILE).is_file() or not saved:
        evaluation = evaluate(Run(path), arguments.data, arguments.split, **given)
    elif given:
        raise ValueError(
            "Expected no beam width, precision or limit of pixels for a SavedModel, which has its "
            "own. "
            f"Received: {', '.join(f'{key}={value}' for key, value in given.items())}"
        )
    else:
        recipe = load_recipe(arguments.recipe) if arguments.recipe else None
        evaluation = evaluate_saved(path, arguments.data, arguments.split, recipe=recipe)
    print(evaluation.table())
    for error in evaluation.errors:
        print(f"skipped: {error}", file=sys.stderr)
    if arguments.json:
        with whole_file(arguments.json) as partial:
            partial.write_text(evaluation.json(), encoding="utf-8")


def average(arguments) -> None:
    """Writes a run with the averaged weights of other runs."""
    from keras_attn_pipelines.runs.average import average
    from keras_attn_pipelines.runs.run import Run

    run = average([Run(folder) for folder in arguments.runs], arguments.out)
    print(f"averaged: {run.folder}")


def export(arguments) -> None:
    """Writes the next version of a SavedModel."""
    from keras_attn.serving.export import check_model_folder
    from keras_attn.serving.precision import check_storage
    from keras_attn_pipelines.runs.evaluate import evaluate
    from keras_attn_pipelines.runs.export import export, limits_in
    from keras_attn_pipelines.runs.run import Run

    run, width, precision = Run(arguments.run), arguments.beam_width, arguments.precision
    measured, storage, pixels = [], arguments.storage, arguments.max_pixels
    limits = "" if arguments.limits is None else limits_in(arguments.limits)
    if arguments.data:  # Evaluation takes long: first check all that export would reject.
        check_model_folder(arguments.folder)
        check_storage(storage, precision)
        run.service(width, arguments.n_best, precision, pixels)
        options = {"precision": precision, "max_pixels": pixels}
        measured = [evaluate(run, arguments.data, arguments.split, width, **options)]
    card = {"storage": storage, "limits": limits, "max_pixels": pixels}
    version = export(run, arguments.folder, measured, width, arguments.n_best, precision, **card)
    print(f"exported: {version}")


def predict(arguments) -> None:
    """Prints the answers of a SavedModel."""
    from keras_attn_pipelines.saved.answers import print_answers

    print_answers(arguments)


def score(arguments) -> None:
    """Prints the log-probability of a text."""
    from keras_attn.contracts import ERROR, SCORE
    from keras_attn_pipelines.saved.predict import saved_model

    saved = saved_model(arguments.folder)
    given = {key: getattr(arguments, key) for key in ("image", "caption", "source", "target")}
    if sorted(key for key, value in given.items() if value is not None) != sorted(saved.scored):
        wanted = " and ".join(f"--{key}" for key in saved.scored)
        received = [f"--{key}" for key, value in given.items() if value is not None]
        raise ValueError(f"Expected {wanted}. Received: {' and '.join(received) or 'neither'}")
    first, second = (given[key] for key in saved.scored)
    answer = saved.score_pair(first, second)
    if error := answer[ERROR].decode():
        raise ValueError(f"{first!r:.80} and {second!r:.80}: {error}")
    print(f"{first}\t{answer[SCORE]:.2f}\t{second}")


def explain(arguments) -> None:
    """Prints an answer, and draws where each of its words looked."""
    from keras_attn_pipelines.saved.predict import saved_model

    wanted = {key: getattr(arguments, key) for key in ("heads", "word", "layer")}
    text = saved_model(arguments.folder).explained(arguments.asked, arguments.out, **wanted)
    print(f"{text}\nwritten: {arguments.out}")
