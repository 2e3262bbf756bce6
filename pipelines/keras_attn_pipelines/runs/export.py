"""Exports a run: the service, and a model card with data, metrics and settings."""

import json
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from keras_attn.contracts import TERMS
from keras_attn.escaping import escape_markdown, escape_script, quote_command
from keras_attn.progress import Progress
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.eight_bits import check_products
from keras_attn.serving.export import (
    PRODUCTS,
    check_model_folder,
    export_service,
    model_card,
    next_version,
)
from keras_attn.serving.familiarity import answer_familiarity, check_captioner
from keras_attn.serving.jit import compile_searches
from keras_attn.serving.precision import precision_of
from keras_attn.serving.stored_weights import FLOAT32
from keras_attn.serving.warm_up import WARM_UP_BATCHES
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.runs.description import ENSEMBLE_OF, FACTS, KEPT, MEAN_OF
from keras_attn_pipelines.runs.familiarity import LearnedFamiliarity
from keras_attn_pipelines.runs.origin import LICENSE, LIMITS, fold_inherited, with_inherited
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.training_summary import TrainingSummary, trained_line

TERMS_OF_WEIGHTS = (
    "The weights are subject to the terms of their training data and of the pretrained model, if "
    "any."
)
_PRECISION = {
    "float32": "float32",
    "bfloat16": "bfloat16; stored weights, logits, attention weights and scores are float32",
}


def export(
    run: Run,
    folder,
    evaluations: Sequence[Evaluation] = (),
    beam_width: int | None = None,
    n_best: int = 1,
    precision: str = "float32",
    storage: str = "float32",
    limits: str = "",
    max_pixels: int | None = None,
    terms: str = "",
    products: str = "float32",
    jit: bool = False,
    familiarity: LearnedFamiliarity | None = None,
) -> Path:
    """Writes a run as the next version of a SavedModel.

    Args:
        run: `Run`.
        folder: path of the model's folder.
        evaluations: each `Evaluation` whose table goes on the model card.
        beam_width: int, or None for the task's.
        n_best: int. Texts answered for each request.
        precision: "float32" or "bfloat16", the compute precision.
        storage: "float32", "float16" or "int8", see `export_service`.
        limits: Markdown for the model card: intended use, failures, terms of its data.
        max_pixels: int, width times height of the largest picture that is decoded; None: 25
            million. A request decodes at most 8 times as many in all.
        terms: terms of use in a line, which `keras_attn.load` shows; "" for those of the model that
            training started from, if any.
        products: as of `export_service`.
        jit: whether XLA compiles searches, see `compile_searches`.
        familiarity: of pictures, which answers then have; see `learn_familiarity`.

    Returns:
        path of the version.
    """
    check_model_folder(folder)
    description = run.description
    metrics = "\n\n".join(
        _metrics_section(run, evaluation, precision, max_pixels) for evaluation in evaluations
    )
    metrics = metrics or _dev_metrics(run, description)
    service = run.service(beam_width, n_best, precision, max_pixels)
    check_products(products, service.model, jit)
    if familiarity is not None:
        check_captioner(service.model, products)
        answer_familiarity(service, familiarity.layer)
    if jit:
        compile_searches(service)
    title = f"{Path(folder).name}, version {next_version(folder)}"
    terms = " ".join((terms or (description.get("origin") or {}).get(TERMS, "")).split())
    card = _card(
        title, run, description, metrics, service, storage, limits, terms, products, familiarity
    )
    notes = {key: description[key] for key in ("recipe", "parts")} | {KEPT: trained_line(run)}
    if terms:
        notes[TERMS] = terms
    with Progress("exporting"):
        version = export_service(service, folder, card, notes, storage, products)
    if read_metadata(version)[PRODUCTS] != products:
        print("products: float32; no layer is faster in int8 on this machine")
    return version


def _dev_metrics(run, description) -> str:
    """The scores of dev that selected the epoch, where nothing else was measured."""
    summary, records = TrainingSummary.of(run), description["records"]
    if summary is None:
        return "Not measured."
    unit = escape_markdown(description["unit"])
    score = f"{escape_markdown(summary.monitor)} {summary.value:.4g}"
    how = f"{score} on {records['dev']} {unit} of dev"
    return f"{how}, as training measured it. Not measured by the search of the service."


def limits_in(path) -> str:
    """The Markdown of a file for the model card.

    Raises:
        ValueError: not UTF-8, empty, or with headings of the card's own level.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected UTF-8 text in {path}. Received: {error}") from error
    if not text.strip() or not all(
        character.isprintable() or character in "\t\n" for character in text
    ):
        raise ValueError(f"Expected text in {path}. Received: {text!r:.80}")
    if high := re.search(r"^##? .*", text, re.MULTILINE):
        raise ValueError(f"Expected headings of ### or lower in {path}. Received: {high[0]!r:.80}")
    return text


def _metrics_section(run, evaluation, precision, max_pixels):
    command = f"keras-attn evaluate {quote_command(str(run.folder))}"
    command += f" --data {quote_command(evaluation.data)}"
    command += f" --split {quote_command(evaluation.split)}{evaluation.flags()}"
    command += f" --precision {precision}"
    command += f" --max-pixels {max_pixels}" if max_pixels else ""
    return f"{evaluation.table()}\n\nCommand: `{command}`"


def _card(title, run, description, metrics, service, storage, limits, terms, products, familiarity):
    experiment, summary = run.experiment(), TrainingSummary.of(run)
    facts = {
        key: escape_markdown(text) for key, text in description.items() if isinstance(text, str)
    }
    recipe = quote_command(description["recipe"])
    size = f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}"
    words = experiment.work.card(service, f"{facts['model']}, {size}")
    values = escape_script(json.dumps(experiment.values(), indent=2))
    stored = f"Weights are stored in {storage}. "
    if products != FLOAT32:
        stored += "Layers multiply in 8 bits where that was faster on the exporting machine. "
    if {storage, products} != {FLOAT32}:
        stored += "The metrics are those of float32; `keras-attn evaluate` gives this version's. "
    if getattr(service, "jit", False):
        stored += "XLA compiles searches; TF Serving needs --xla_cpu_compilation_enabled. "
    if familiarity is not None:
        stored += "Answers have `familiarity`, see below. "
    technical = (
        f"Precision: {_PRECISION[precision_of(service.model)]}. {stored}"
        f"Warm-up requests: every signature, batches of {' and '.join(map(str, WARM_UP_BATCHES))}."
    )
    service_words = " ".join([*(words.get(key, "") for key in ("Service", "Search")), technical])
    origin = description.get("origin") or {}
    sections = {LIMITS: limits.strip(), LICENSE: words.get(LICENSE, TERMS_OF_WEIGHTS)}
    sections[LICENSE] += f"\n\nTerms of use: {escape_markdown(terms)}" if terms else ""
    known = {key: with_inherited(key, text, origin) for key, text in sections.items()}
    warning = f"\n\n**{summary.warning()}**" if summary and summary.warning() else ""
    ended = ". ".join(filter(None, [str(summary), summary.change])) if summary else ""
    training = f"\n\nKept: {escape_markdown(ended)}." if ended else ""
    read = "".join(f"\n- {escape_markdown(fact)}" for fact in description.get(FACTS, ()))
    card = model_card(
        title,
        {
            "What it does": words["What it does"] + warning,
            **({LIMITS: known[LIMITS]} if known[LIMITS] else {}),
            "Service": service_words.strip(),
            "Data": _data(facts, description) + (read and f"\n{read}"),
            "Metrics": metrics,
            **({} if familiarity is None else {"Familiarity": familiarity.text()}),
            "Recipe": f"`{recipe}`, {_making(facts, description)}{training}\n\n"
            f"```json\n{values}\n```",
            **({LICENSE: known[LICENSE]} if known[LICENSE] else {}),
        },
    )
    return fold_inherited(card, origin)


def _data(facts, description):
    """What a model was trained on; of an ensemble its last run."""
    *_, last = description.get(ENSEMBLE_OF) or [""]
    whose = f"Of {_names([last])}: " if last else ""
    if not description["records"]:
        return f"{whose}That of the checkpoint it was imported from, whose own card describes it."
    return f"{whose}{Path(facts['data']).name}: {_counts(description)}."


def _making(facts, description):
    """How a model came about."""
    origin = _origin(description)
    if runs := description.get(ENSEMBLE_OF):
        return f"an ensemble of {_names(runs)}, with the settings of {_names(runs[-1:])}{origin}"
    if not description["records"]:
        return f"imported from {escape_markdown(description['origin']['name'])}; not trained here"
    return f"trained in {facts['precision']}, strategy {facts['strategy']}{origin}"


def _origin(description):
    """Initial weights and averaged runs, by folder name."""
    initial, means = description.get("origin"), description.get(MEAN_OF)
    which = "some of them initialized" if ENSEMBLE_OF in description else "initialized"
    origin = f", {which} with the weights of {escape_markdown(initial['name'])}" if initial else ""
    return f"{origin}; mean of the weights of {_names(means)}" if means else origin


def _names(runs):
    """Runs by the names of their folders."""
    return ", ".join(escape_markdown(Path(run).name) for run in runs)


def _counts(description):
    counts = description["records"].items()
    numbers = ", ".join(f"{count} {escape_markdown(split)}" for split, count in counts)
    return f"{escape_markdown(description['unit'])} {numbers}"
