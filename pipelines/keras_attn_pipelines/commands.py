"""The commands of the command line."""

import sys
from pathlib import Path

from keras_attn.cluster import MULTIWORKER, Cluster
from keras_attn.escaping import escape_terminal
from keras_attn.saved.bundled import model_folder
from keras_attn.saved.results import check_picture_file
from keras_attn_pipelines.console import interruptible
from keras_attn_pipelines.early_checks import (
    check_backend,
    check_data,
    check_data_service,
    check_inputs_file,
    check_movable_folder,
    check_parent,
    check_run_or_saved_model,
    check_saved_model,
    check_text_file,
    check_workers,
    check_writable_folder,
    has_saved_model,
)
from keras_attn_pipelines.experiment.flags import given_values
from keras_attn_pipelines.experiment.sharded import find_records
from keras_attn_pipelines.recipes import (
    load_recipe,
    recipe_name,
    recipe_names,
    recipe_summary,
    recipe_text,
)


def recipes(arguments) -> None:
    """Prints the recipes, or one with its fields."""
    if arguments.recipe is not None:
        print(recipe_text(arguments.recipe))
        return
    for name in recipe_names():
        print(f"{name}\n    {recipe_summary(name).replace(chr(10), chr(10) + '    ')}\n")


def prepare(arguments) -> None:
    """Writes the records of a recipe's source into shards."""
    experiment = arguments.experiment.replaced(given_values(arguments))
    check_data(arguments.data)
    check_movable_folder(arguments.out)
    from keras_attn_pipelines.data.shards.shard_writer import ShardOptions

    options = ShardOptions(
        arguments.format, arguments.shards, arguments.beam_runner, tuple(arguments.beam_options)
    )
    options.check_packages()
    from keras_attn_pipelines.runs.shards import prepare_shards

    begin = f"{recipe_name(arguments.recipe)}: {arguments.data} to {arguments.out}"
    print(escape_terminal(begin), flush=True)
    written = prepare_shards(experiment, arguments.data, arguments.out, arguments.splits, options)
    print(escape_terminal(f"written: {written}"))


def train(arguments) -> None:
    """Trains a recipe."""
    experiment, values = arguments.experiment, given_values(arguments)
    if arguments.source is None:  # Checks ranges before TensorFlow is imported.
        experiment, values = experiment.replaced(values), {}
    check_backend()
    check_workers(arguments.strategy)
    check_data(arguments.data)
    check_writable_folder(arguments.out)
    if arguments.cache is not None:
        check_writable_folder(arguments.cache)
    if arguments.data_service is not None:
        check_data_service(arguments.data_service)
    if arguments.source is None:
        experiment.check_start(recipe_name(arguments.recipe))
        if Path(arguments.data).exists():
            find_records(experiment.source, arguments.data)
    begin = f"{recipe_name(arguments.recipe)}: {arguments.data} to {arguments.out}"
    print(escape_terminal(begin), flush=True)

    from keras_attn.training.devices import strategy_for, strategy_named
    from keras_attn_pipelines.data.data_service import DataService
    from keras_attn_pipelines.runs.train import train
    from keras_attn_pipelines.runs.warm_start import WarmStart

    strategy = strategy_for(arguments.strategy)
    if strategy == MULTIWORKER:  # Before TensorFlow runs anything, such as a model to start from.
        print(f"waiting for workers {', '.join(Cluster.read().others)}", flush=True)
        with interruptible():
            strategy_named(strategy)
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
        service=DataService(arguments.data_service) if arguments.data_service else None,
    )
    print(escape_terminal(f"trained: {run.folder}"))


def data_service(arguments) -> None:
    """Runs a dispatcher or a worker of tf.data service until it is stopped."""
    if not 0 <= arguments.port <= 65535:
        raise ValueError(f"Expected --port between 0 and 65535. Received: {arguments.port}")
    is_worker = arguments.role == "worker"
    if is_worker != (arguments.dispatcher is not None):
        given = arguments.dispatcher or "none"
        raise ValueError(
            f"Expected --dispatcher for a worker, and for nothing else. Received: {arguments.role} "
            f"and {given}"
        )
    if is_worker:
        check_data_service(arguments.dispatcher)
    from keras_attn_pipelines.data.data_service import run_dispatcher, run_worker

    if is_worker:
        run_worker(arguments.dispatcher, arguments.port, arguments.host)
    else:
        run_dispatcher(arguments.port)


def evaluate(arguments) -> None:
    """Scores a run or a SavedModel; prints and writes the result."""
    check_run_or_saved_model(arguments.run)
    check_data(arguments.data)
    if arguments.json:
        check_parent(arguments.json, arguments.data, arguments.run)
    from keras_attn.whole_file import whole_file
    from keras_attn_pipelines.runs.evaluate import evaluate, evaluate_saved
    from keras_attn_pipelines.runs.run import DESCRIPTION_FILE, Run

    given = {key: getattr(arguments, key) for key in ("beam_width", "precision", "max_pixels")}
    given = {key: value for key, value in given.items() if value is not None}
    scored = {"metric_tokenization": arguments.metric_tokenization}
    path = Path(arguments.run)
    if (path / DESCRIPTION_FILE).is_file() or not has_saved_model(path):
        evaluation = evaluate(Run(path), arguments.data, arguments.split, **given, **scored)
    elif given:
        raise ValueError(
            "Expected no beam width, precision or limit of pixels for a SavedModel, which has its "
            "own. "
            f"Received: {', '.join(f'{key}={value}' for key, value in given.items())}"
        )
    else:
        recipe = load_recipe(arguments.recipe) if arguments.recipe else None
        evaluation = evaluate_saved(path, arguments.data, arguments.split, recipe=recipe, **scored)
    print(escape_terminal(evaluation.table()))
    for error in evaluation.errors:
        print(escape_terminal(f"skipped: {error}"), file=sys.stderr)
    if arguments.json:
        with whole_file(arguments.json) as partial:
            partial.write_text(evaluation.json(), encoding="utf-8")


def average(arguments) -> None:
    """Writes a run with the averaged weights of other runs."""
    check_movable_folder(arguments.out)
    from keras_attn_pipelines.runs.average import average
    from keras_attn_pipelines.runs.run import Run

    run = average([Run(folder) for folder in arguments.runs], arguments.out)
    print(escape_terminal(f"averaged: {run.folder}"))


def export(arguments) -> None:
    """Writes the next version of a SavedModel."""
    check_writable_folder(arguments.folder)
    if arguments.data:
        check_data(arguments.data)
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
    card = {"storage": storage, "limits": limits, "max_pixels": pixels, "terms": arguments.terms}
    version = export(run, arguments.folder, measured, width, arguments.n_best, precision, **card)
    print(escape_terminal(f"exported: {version}"))


def predict(arguments) -> None:
    """Prints the answers of a SavedModel."""
    check_saved_model(arguments.folder)
    check_inputs_file(arguments.file)
    if arguments.crops is not None:
        check_writable_folder(arguments.crops)
    from keras_attn_pipelines.saved.answers import print_answers

    print_answers(arguments)


def score(arguments) -> None:
    """Prints the log-probability of a text."""
    check_saved_model(arguments.folder)
    from keras_attn.saved.loading import load

    saved = load(arguments.folder)
    saved.check_scores()
    names = ("image", "caption", "source", "facts", "target")
    given = {key: getattr(arguments, key) for key in names}
    if sorted(key for key, value in given.items() if value is not None) != sorted(saved.scored):
        wanted = " and ".join(f"--{key}" for key in saved.scored)
        received = [f"--{key}" for key, value in given.items() if value is not None]
        raise ValueError(f"Expected {wanted}. Received: {' and '.join(received) or 'neither'}")
    first, second = (given[key] for key in saved.scored)
    print(escape_terminal(f"{first}\t{saved.score(first, second):.2f}\t{second}"))


def serve(arguments) -> None:
    """Serves a SavedModel until it is stopped: a page to try it, and TF Serving's REST API."""
    check_saved_model(arguments.folder)
    if not 1 <= arguments.port <= 65535:
        raise ValueError(f"Expected --port between 1 and 65535. Received: {arguments.port}")
    if arguments.max_bytes < 1:
        raise ValueError(f"Expected --max-request-bytes >= 1. Received: {arguments.max_bytes}")
    if not 0 < arguments.timeout < float("inf"):
        raise ValueError(f"Expected --timeout > 0 and finite. Received: {arguments.timeout}")
    from keras_attn.saved.loading import load
    from keras_attn_pipelines.saved.serve import run

    run(
        load(arguments.folder),
        arguments.name or Path(arguments.folder).resolve().name,
        arguments.host,
        arguments.port,
        arguments.max_bytes,
        arguments.timeout,
    )


def explain(arguments) -> None:
    """Prints an answer, and draws where each of its words looked."""
    check_saved_model(arguments.folder)
    check_parent(arguments.out, arguments.asked, model_folder(arguments.folder))
    if Path(arguments.out).suffix.lower() == ".html":
        _explore(arguments)
        return
    check_picture_file(arguments.out)
    from keras_attn.saved.loading import load

    wanted = {key: getattr(arguments, key) for key in ("heads", "word", "layer")}
    drawing = load(arguments.folder).explain(arguments.asked, **wanted)
    drawing.save(arguments.out)
    print(escape_terminal(f"{drawing.text}\nwritten: {arguments.out}"))


def _explore(arguments):
    """Prints an answer, and writes a page to look at where each of its words looked."""
    if (arguments.heads, arguments.word, arguments.layer) != (None, None, None):
        raise ValueError(
            "Expected no --heads, --word or --layer for a page, which has all of them. "
            f"Received: {arguments.out}"
        )
    from keras_attn.saved.loading import load

    page = load(arguments.folder).explore(arguments.asked)
    page.save(arguments.out)
    best = page.answers[0][0] if page.answers else ""
    print(escape_terminal(f"{best}\nwritten: {arguments.out}"))


def align(arguments) -> None:
    """Prints or writes links of sentence pairs, by an aligner or a translator's attention."""
    for path in (arguments.source, arguments.target, arguments.gold):
        check_text_file(path)
    for folder in (arguments.attention, arguments.backward_attention):
        if folder is not None:
            check_saved_model(folder)
    if arguments.out:
        names = ("source", "target", "gold", "load", "attention", "backward_attention", "save")
        paths = (getattr(arguments, name) for name in names)
        check_parent(arguments.out, *filter(None, paths))
    if arguments.save:
        check_movable_folder(arguments.save)
        if arguments.out and Path(arguments.out).absolute() == Path(arguments.save).absolute():
            raise ValueError(f"Expected --out and --save to differ. Received: {arguments.out}")
    from keras_attn_pipelines.saved.word_links import write_links

    write_links(arguments)
