"""Runs of models that were trained elsewhere, and runs for programs elsewhere."""

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from keras_attn.contracts import START_ID
from keras_attn.pretrained.captioners import CAPTIONERS, PretrainedCaptioner, load_captioner
from keras_attn.pretrained.files import read_checkpoint_files
from keras_attn.pretrained.loading import is_captioner, is_translator
from keras_attn.pretrained.marian_folder import save_marian
from keras_attn.pretrained.translator_sizes import KINDS
from keras_attn.pretrained.translators import Translator, load_translator
from keras_attn.progress import Progress
from keras_attn.text.byte_pair_tokenizer import BytePairTokenizer
from keras_attn.text.word_piece_tokenizer import WordPieceTokenizer
from keras_attn.whole_file import digest_of, made_folder, move_folder, whole_file, whole_folder
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TOKENIZER
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.stored import stored, type_of
from keras_attn_pipelines.runs.description import (
    BACKEND,
    DIGEST,
    DIGESTS,
    ENDED,
    ENSEMBLE_OF,
    KEPT,
)
from keras_attn_pipelines.runs.origin import NAME
from keras_attn_pipelines.runs.run import MODEL_FILE, Run

RECIPE, TRANSFORMER = "translator_transformer", "seq2seq.Transformer"
CAPTION_RECIPE = "flickr8k_vit"
VOCABULARIES = {BytePairTokenizer: "byte_pairs", WordPieceTokenizer: "word_pieces"}
"""The task's vocabulary by class of an imported captioner's tokenizer."""
SEARCH = ("beam_width", "length_alpha", "early_stopping")
LENGTHS = (16, 32, 64, 128, 256, 512)
_GIVEN = ("vocabulary_size", "target_vocabulary_size", "dropout", "attention_dropout")


def read_pretrained(
    source,
    out,
    source_language: str | None = None,
    target_language: str | None = None,
    prompt: str = "",
) -> Translator | PretrainedCaptioner:
    """Reads a checkpoint of transformers, for a run that is not there yet.

    Args:
        source: see `read_checkpoint_files`.
        out: path of the run directory.
        source_language: see `load_translator`.
        target_language: likewise.
        prompt: see `load_captioner`.

    Raises:
        ValueError: `out` is not empty, or as `load_translator` and `load_captioner`.
        ImportError, OSError: likewise.
    """
    folder = Run(out).folder
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"Expected a new run directory. Received: {folder}")
    with Progress("reading the checkpoint"):
        files = read_checkpoint_files(source)
        if is_translator(files):
            if prompt:
                raise ValueError(f"Expected no prompt for a translator. Received: {prompt!r:.80}")
            return load_translator(files, source_language, target_language)
        if not is_captioner(files):
            raise ValueError(
                f"Expected a model_type in config.json of {str(files.path.parent)!r} that is one "
                f"of {', '.join([*KINDS, *CAPTIONERS])}. "
                f"Received: {files.settings.get('model_type')!r:.80}"
            )
        if source_language or target_language:
            raise ValueError(
                "Expected no languages for a captioner. "
                f"Received: {source_language or target_language}"
            )
        return load_captioner(files, prompt)


def import_checkpoint(
    experiment: Experiment,
    pretrained: Translator | PretrainedCaptioner,
    name: str,
    out,
) -> Run:
    """Writes a run with the weights and vocabularies of a checkpoint of transformers.

    It is a run as any: it can be exported, asked, evaluated, and training can start from it.

    Args:
        experiment: that of `recipe_of`, whose settings training from the run will have.
        pretrained: what `read_pretrained` returned.
        name: of the checkpoint, for the model card.
        out: path of the run directory, new or empty.

    Returns:
        `Run`.

    Raises:
        ValueError: pictures that are not square.
        OSError: `out` cannot be written.
    """
    run, vocabularies = Run(out), {TOKENIZER: pretrained.tokenizer}
    if isinstance(pretrained, Translator):
        vocabularies[SOURCE_TOKENIZER] = pretrained.source_tokenizer
        unit, adapted = "pairs", _adapted(experiment, pretrained)
    else:
        unit, adapted = "pictures", _adapted_captioner(experiment, pretrained)
    description = {
        "recipe": recipe_of(pretrained),
        "data": "",
        "from": None,
        "origin": {NAME: name},
        "precision": "float32",
        "strategy": "one",
        BACKEND: "tensorflow",
        "parts": stored(adapted),
        "records": {},
        "vocabularies": {name: each.vocabulary_size for name, each in vocabularies.items()},
        "unit": unit,
        "model": f"{_layers(pretrained)}, of the kind of {pretrained.kind} in transformers",
    }
    with whole_folder(made_folder(run.folder.absolute().parent)) as partial:
        written = Run(partial)
        digests = written.save_vocabularies(vocabularies)
        with whole_file(partial / MODEL_FILE) as path:
            pretrained.model.save(path)
        kept = {KEPT: {DIGEST: digest_of(partial / MODEL_FILE)}, ENDED: True, DIGESTS: digests}
        written.describe({**description, **kept})
        move_folder(partial, run.folder)
    return run


def recipe_of(pretrained) -> str:
    """The name of the recipe that trains what `read_pretrained` returned."""
    return CAPTION_RECIPE if isinstance(pretrained, PretrainedCaptioner) else RECIPE


def _layers(pretrained):
    """The model's layers in words."""
    if isinstance(pretrained, Translator):
        config = pretrained.model.config
        layers = f"{config.num_layers} + {config.decoder_layers} layers"
        return f"a Transformer of {layers}, width {config.hidden_dim}"
    vision, text = pretrained.model.encoder.encoder.config, pretrained.model.decoder.config
    return (
        f"a Vision Transformer of {vision.num_layers} layers, width {vision.hidden_dim}, and a "
        f"decoder of {text.decoder_layers}, width {text.hidden_dim}"
    )


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
    if type_of(experiment.model) != TRANSFORMER or ENSEMBLE_OF in run.description:
        raise ValueError(
            f"Expected a run of a Transformer from text to text, such as {RECIPE} trains. "
            f"Received: {run.folder}, {run.description['model']}"
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


def name_of(source):
    """The name of a model on the hub, or of a folder."""
    path = Path(source)
    if not path.exists():
        return str(source)
    return (path if path.is_dir() else path.parent).resolve().name


def _adapted(experiment: Experiment, translator: Translator) -> Experiment:
    """An experiment with the sizes, the vocabularies and the search of a translator."""
    config = dataclasses.asdict(translator.model.config)
    return experiment.replaced(
        {
            **_sizes(translator.model.config),
            "dropout": config["dropout"],
            "attention_dropout": config["attention_dropout"],
            "vocabulary": "pretrained",
            **_search(translator),
        }
    )


def _adapted_captioner(experiment: Experiment, captioner: PretrainedCaptioner) -> Experiment:
    """An experiment with the sizes, the vocabulary and the search of a captioner."""
    vision, text = captioner.model.encoder.encoder.config, captioner.model.decoder.config
    pictures = captioner.picture_format
    if pictures.height != pictures.width:
        raise ValueError(
            f"Expected a captioner of square pictures. Received: {pictures.height}x{pictures.width}"
        )
    return experiment.replaced(
        {
            **_sizes(text),
            "dropout": text.dropout,
            "attention_dropout": text.attention_dropout,
            "vision": _changed(vision),
            "num_encoder_layers": 0,
            "image_size": pictures.height,
            "fit": pictures.fit,
            "interpolation": pictures.interpolation,
            "resized_edge": pictures.resized_edge or 0,
            "vocabulary": VOCABULARIES[type(captioner.tokenizer)],
            "ranks_cut_off": True,
            "prompt": captioner.prompt,
            **_search(captioner),
        }
    )


def _sizes(config):
    """Values that say a `TransformerConfig`, without its vocabulary."""
    architecture = _changed(config, _GIVEN, ("tied",))
    return {"sizes": "pretrained", "architecture": architecture}


def _changed(config, without=(), always=()):
    """A config's fields that differ from their defaults, as JSON."""
    values = dataclasses.asdict(config)
    changed = {
        field.name: values[field.name]
        for field in dataclasses.fields(config)
        if field.name in always
        or (field.name not in without and values[field.name] != field.default)
    }
    return json.dumps(changed, sort_keys=True)


def _search(pretrained):
    """Values that say how answers are searched for, and how long they are."""
    lengths = [length for length in LENGTHS if length < pretrained.longest]
    return {
        "lengths": (*lengths, pretrained.longest),
        "length_normalization": "average",
        **pretrained.search,
    }


def next_steps(run: Run) -> str:
    """Lines with the commands that export, ask and fine-tune an imported run."""
    folder = shlex.quote(str(run.folder))
    model = shlex.quote(f"saved_models/{run.folder.resolve().name}")
    recipe = run.description["recipe"]
    asked, data = ("PICTURE", "PICTURES") if recipe == CAPTION_RECIPE else ("TEXT", "PAIRS")
    lines = [
        f"keras-attn predict {folder} {asked}",
        f"keras-attn export {folder} {model}",
        f"keras-attn train {recipe} --from {folder} --data {data} --out TUNED "
        "--learning-rate 3e-5 --epochs 3",
    ]
    return "\n".join(["next:", *(f"  {line}" for line in lines)])
