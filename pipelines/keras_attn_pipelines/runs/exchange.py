"""Runs of models that were trained elsewhere, and runs for programs elsewhere."""

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from keras_attn.contracts import START_ID
from keras_attn.pretrained.marian_folder import save_marian
from keras_attn.pretrained.translators import Translator, load_translator
from keras_attn.progress import Progress
from keras_attn.whole_file import digest_of, made_folder, move_folder, whole_file, whole_folder
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TOKENIZER
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.stored import stored, type_of
from keras_attn_pipelines.runs.description import BACKEND, DIGEST, DIGESTS, ENDED, KEPT
from keras_attn_pipelines.runs.origin import NAME
from keras_attn_pipelines.runs.run import MODEL_FILE, Run

RECIPE, TRANSFORMER = "translator_transformer", "seq2seq.Transformer"
SEARCH = ("beam_width", "length_alpha", "early_stopping")
LENGTHS = (16, 32, 64, 128, 256, 512)
_GIVEN = ("vocabulary_size", "target_vocabulary_size", "dropout", "attention_dropout")


def import_checkpoint(
    experiment: Experiment,
    source,
    out,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Run:
    """Writes a run with the weights and vocabularies of a checkpoint of transformers.

    It is a run as any: it can be exported, asked, evaluated, and training can start from it.

    Args:
        experiment: that of RECIPE, whose settings training from the run will have.
        source: see `load_translator`.
        out: path of the run directory, new or empty.
        source_language: see `load_translator`.
        target_language: likewise.

    Returns:
        `Run`.

    Raises:
        ValueError: `out` is not empty, or as `load_translator`.
        ImportError, OSError: as `load_translator`; `out` cannot be written.
    """
    run = Run(out)
    if run.folder.exists() and any(run.folder.iterdir()):
        raise ValueError(f"Expected a new run directory. Received: {run.folder}")
    with Progress("reading the checkpoint"):
        translator = load_translator(source, source_language, target_language)
    config = translator.model.config
    vocabularies = {
        TOKENIZER: translator.tokenizer,
        SOURCE_TOKENIZER: translator.source_tokenizer,
    }
    languages = [language for language in (source_language, target_language) if language]
    layers = f"{config.num_layers} + {config.decoder_layers} layers"
    description = {
        "recipe": RECIPE,
        "data": "",
        "from": None,
        "origin": {NAME: " ".join([_name_of(source), *languages])},
        "precision": "float32",
        "strategy": "one",
        BACKEND: "tensorflow",
        "parts": stored(_adapted(experiment, translator)),
        "records": {},
        "vocabularies": {name: each.vocabulary_size for name, each in vocabularies.items()},
        "unit": "pairs",
        "model": f"a Transformer of {layers}, width {config.hidden_dim}, of the kind of "
        f"{translator.kind} in transformers",
    }
    with whole_folder(made_folder(run.folder.absolute().parent)) as partial:
        written = Run(partial)
        digests = written.save_vocabularies(vocabularies)
        with whole_file(partial / MODEL_FILE) as path:
            translator.model.save(path)
        kept = {KEPT: {DIGEST: digest_of(partial / MODEL_FILE)}, ENDED: True, DIGESTS: digests}
        written.describe({**description, **kept})
        move_folder(partial, run.folder)
    return run


def export_marian(run: Run, folder) -> tuple[Path, list[str]]:
    """Writes a run as a Marian model of transformers, see `save_marian`.

    Args:
        run: `Run` of a Transformer from text to text.
        folder: path, new or empty.

    Returns:
        path of the folder, and lines on what differs there.

    Raises:
        ValueError: a run of another model, or as `save_marian`.
    """
    experiment = run.experiment()
    if type_of(experiment.model) != TRANSFORMER:
        raise ValueError(
            f"Expected a run of a Transformer from text to text, such as {RECIPE} trains. "
            f"Received: {run.folder}, of {type_of(experiment.model)}"
        )
    task: Any = experiment.task
    vocabularies, search = run.vocabularies(), task.search
    tokenizer = vocabularies[TOKENIZER]
    source = vocabularies.get(SOURCE_TOKENIZER, tokenizer)
    settings = {name: getattr(search, name) for name in SEARCH}
    model = run.model()
    with Progress("exporting"):
        written = save_marian(model, source, tokenizer, folder, settings)
    notes = []
    start = np.asarray(model.decoder.embedding.table)[START_ID]
    if model.config.embed_start and np.any(start):
        notes.append(
            "note: CTranslate2 begins answers with zeros and will answer otherwise; transformers "
            "answers alike (train with --no-embed-start for both)"
        )
    if search.length_normalization != "average" and search.length_alpha:
        notes.append(
            "note: scores of a beam are divided by n^alpha there, by ((5 + n) / 6)^alpha here "
            "(train with --length-normalization average for the same)"
        )
    return written, notes


def _name_of(source):
    """The name of a model on the hub, or of a folder."""
    path = Path(source)
    if not path.exists():
        return str(source)
    return (path if path.is_dir() else path.parent).resolve().name


def _adapted(experiment: Experiment, translator: Translator) -> Experiment:
    """An experiment with the sizes, the vocabularies and the search of a translator."""
    config = dataclasses.asdict(translator.model.config)
    architecture = {
        field.name: config[field.name]
        for field in dataclasses.fields(translator.model.config)
        if field.name not in _GIVEN and config[field.name] != field.default
    } | {"tied": config["tied"]}
    lengths = [length for length in LENGTHS if length < translator.longest]
    return experiment.replaced(
        {
            "sizes": "pretrained",
            "architecture": json.dumps(architecture, sort_keys=True),
            "dropout": config["dropout"],
            "attention_dropout": config["attention_dropout"],
            "vocabulary": "pretrained",
            "lengths": (*lengths, translator.longest),
            "length_normalization": "average",
            **translator.search,
        }
    )


def next_steps(run: Run) -> str:
    """Lines with the commands that export, ask and fine-tune an imported run."""
    folder = shlex.quote(str(run.folder))
    model = shlex.quote(f"saved_models/{run.folder.resolve().name}")
    lines = [
        f"keras-attn predict {folder} TEXT",
        f"keras-attn export {folder} {model}",
        f"keras-attn train {RECIPE} --from {folder} --data PAIRS --out TUNED "
        "--learning-rate 3e-5 --epochs 3",
    ]
    return "\n".join(["next:", *(f"  {line}" for line in lines)])
