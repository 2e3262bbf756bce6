"""The commands of the command line: their options, and what they do."""

import ast
import shlex
import sys
from dataclasses import field, fields
from pathlib import Path
from typing import Any, ClassVar

from keras_attn.cluster import MULTIWORKER, Cluster
from keras_attn.escaping import escape_terminal
from keras_attn.evaluation.tokenization import CAPTION_TOKENIZATIONS, TEXT_TOKENIZATIONS
from keras_attn.saved.bundled import model_folder
from keras_attn.saved.picture_paths import expand_pictures, path_error
from keras_attn.saved.results import check_picture_file
from keras_attn.viz.quantity import ALL, EACH
from keras_attn_pipelines.compilation import compiling
from keras_attn_pipelines.console import interruptible
from keras_attn_pipelines.early_checks import (
    check_data,
    check_inputs_file,
    check_movable_folder,
    check_new_recipe,
    check_parent,
    check_pictures,
    check_run,
    check_saved_model,
    check_text_file,
    check_training,
    check_writable_folder,
    has_data,
    has_saved_model,
    run_or_saved_model,
)
from keras_attn_pipelines.experiment.experiment import PARTS, Experiment
from keras_attn_pipelines.experiment.fields import COMMON, INFINITY, argument, option, part
from keras_attn_pipelines.experiment.stored import DESCRIPTION_FILE
from keras_attn_pipelines.recipes import (
    load_recipe,
    recipe_name,
    recipe_names,
    recipe_table,
    recipe_text,
)
from keras_attn_pipelines.templates import FILE, KINDS, template_source

MODEL, DEV = "saved_models/NAME", "dev"
SAVED_MODEL, MARIAN = "saved_model", "marian"
HARDWARE = "hardware"
"""Heading of help for flags that do not change what is learned."""
RECIPE_TEXT = f"{', '.join(recipe_names())}, or a .py file"
PIXELS_TEXT = "width times height of the largest picture that is decoded (default: 25000000)"
TOKENIZATIONS = dict.fromkeys((*TEXT_TOKENIZATIONS, *CAPTION_TOKENIZATIONS))


@part
class Recipes:
    """list the recipes, or describe one"""

    recipe: str | None = argument("its fields and defaults", metavar="RECIPE", default=None)

    def run(self):
        """Prints the recipes, or one with its fields."""
        if self.recipe is not None:
            print(recipe_text(self.recipe))
            return
        print(recipe_table())
        print("\nMinutes are for two CPU cores. What a recipe does: keras-attn recipes RECIPE")


@part
class New:
    """write a recipe file to begin a task of your own with"""

    file: str = argument("file to write, such as my_task.py", metavar="FILE")
    like: str = option(
        "tagging: a tag for each word of a text; regression: a number; classification: a label",
        choices=KINDS,
    )

    def run(self):
        """Writes a recipe file; prints what data it takes, and the commands that follow."""
        check_new_recipe(self.file)
        from keras_attn.whole_file import whole_file

        source = template_source(self.like)
        with whole_file(self.file) as partial:
            partial.write_text(source.replace(FILE, partial.name), encoding="utf-8")
        usage = ast.get_docstring(ast.parse(source)).replace(FILE, shlex.quote(self.file))
        print(escape_terminal(f"written: {self.file}\n\n{usage}"))


@part
class Prepare:
    """write a recipe's records into shards, to train from"""

    parts: ClassVar[tuple[str, ...]] = ("source",)

    recipe: str = argument(RECIPE_TEXT, metavar="RECIPE")
    data: str = option("data folder, file or tfds:NAME")
    out: str = option("folder for the shards, new or empty")
    splits: tuple[str, ...] | None = option(
        "splits besides train and dev (default: test, if there is one)",
        default=None,
        metavar="NAME",
    )
    format: str = option("array_record or tfrecord", default="array_record")
    shards: int | None = option(
        "files of each split (default: by size, 64 MB and more)", default=None
    )
    beam_runner: str | None = option(
        "Apache Beam runner, such as DirectRunner (default: without Beam)", default=None
    )
    beam_options: tuple[str, ...] = option(
        "flag of the runner, such as --beam-option=--direct_num_workers=2; repeatable",
        default=(),
        flag="beam-option",
        metavar="FLAG",
        repeated=True,
    )
    experiment: Experiment
    values: dict[str, Any] = field(default_factory=dict)

    def run(self):
        """Writes the records of a recipe's source into shards."""
        experiment = self.experiment.replaced(self.values)
        check_data(self.data)
        check_movable_folder(self.out)
        from keras_attn_pipelines.data.shards.shard_writer import ShardOptions

        options = ShardOptions(self.format, self.shards, self.beam_runner, self.beam_options)
        options.check_packages()
        from keras_attn_pipelines.runs.shards import prepare_shards

        begin = f"{recipe_name(self.recipe)}: {self.data} to {self.out}"
        print(escape_terminal(begin), flush=True)
        written = prepare_shards(experiment, self.data, self.out, self.splits, options)
        print(escape_terminal(f"written: {written}"))


@part
class Train:
    """train a recipe on a data folder, a file, shards or tfds:NAME"""

    parts: ClassVar[tuple[str, ...]] = PARTS

    recipe: str = argument(RECIPE_TEXT, metavar="RECIPE")
    data: str = option(
        "data folder, file, shards or tfds:NAME; keras:mnist for digits",
        metavar="PATH",
        group=COMMON,
    )
    out: str = option("run directory, new or to resume", metavar="RUN", group=COMMON)
    source: str | None = option(
        "start from the weights and vocabularies of this run or SavedModel",
        default=None,
        flag="from",
        metavar="RUN|SAVED_MODEL",
        group=COMMON,
    )
    strategy: str = option(
        "auto, one, mirrored, multiworker (TF_CONFIG) or tpu", default="one", group=HARDWARE
    )
    precision: str = option("auto, float32, bfloat16 or float16", default="auto", group=HARDWARE)
    cache: str | None = option(
        "folder for cached features (default: the user's cache)",
        default=None,
        metavar="PATH",
        group=HARDWARE,
    )
    experiment: Experiment
    values: dict[str, Any] = field(default_factory=dict)

    def run(self):
        """Trains a recipe."""
        experiment, values = self.experiment, self.values
        if self.source is None:  # Checks ranges before TensorFlow is imported.
            experiment = experiment.replaced(values)
            self._check_effect(experiment)
        name, started = recipe_name(self.recipe), self.source is not None
        check_training(experiment, self.data, self.out, name, self.strategy, self.cache, started)
        print(escape_terminal(f"{name}: {self.data} to {self.out}"), flush=True)

        with compiling():
            self._train(experiment, values, name)

    def _check_effect(self, experiment):
        """Raises ValueError for flags without effect, but of a run that goes on as it began."""
        if not (Path(self.out) / DESCRIPTION_FILE).is_file():
            experiment.check_effect(self.values)

    def _train(self, experiment, values, name):
        from keras_attn.training.devices import strategy_for, strategy_named
        from keras_attn_pipelines.runs.next_commands import after_training
        from keras_attn_pipelines.runs.train import train_checked
        from keras_attn_pipelines.runs.warm_start import WarmStart

        strategy = strategy_for(self.strategy)
        if strategy == MULTIWORKER:  # Before TensorFlow runs anything, such as a model to start.
            print(f"waiting for workers {', '.join(Cluster.read().others)}", flush=True)
            with interruptible():
                strategy_named(strategy)
        source = WarmStart.read(self.source, experiment) if self.source else None
        if source:
            experiment = source.adapted(experiment, values)
            self._check_effect(experiment)
        run = train_checked(
            experiment,
            data=self.data,
            out=self.out,
            name=name,
            strategy=self.strategy,
            precision=self.precision,
            cache=self.cache,
            source=source,
        )
        print(escape_terminal(f"trained: {run.folder}\n{after_training(run)}"))


@part
class Evaluate:
    """score a run or a SavedModel on a split"""

    run_or_model: str = argument("run directory or SavedModel", metavar="RUN|SAVED_MODEL")
    data: str = option("data folder, file, shards or tfds:NAME")
    split: str = option("train, dev, test or another split of the data", default=DEV)
    beam_width: int | None = option("runs only: beam width (default: the recipe's)", default=None)
    precision: str | None = option("runs only: float32 (default) or bfloat16", default=None)
    max_pixels: int | None = option(f"runs only: {PIXELS_TEXT}", default=None)
    metric_tokenization: str | None = option(
        f"tokenizer for text metrics: {', '.join(TOKENIZATIONS)} (default: as in training)",
        default=None,
        metavar="NAME",
    )
    clip: str | None = option(
        "captions of pictures: CLIP that judges them too, a folder or OWNER/MODEL of the Hugging "
        "Face hub",
        default=None,
        metavar="CHECKPOINT",
    )
    recipe: str | None = option("recipe file, for a SavedModel of your own recipe", default=None)
    json: str | None = option(
        "also write all results, answers included, to this file", default=None
    )

    def run(self):
        """Scores a run or a SavedModel; prints and writes the result."""
        folder = run_or_saved_model(self.run_or_model)
        check_data(self.data)
        if self.json:
            check_parent(self.json, self.data, folder)
        from keras_attn.whole_file import whole_file

        evaluation = self._evaluated(folder)
        print(escape_terminal(evaluation.table()))
        if evaluation.trained:
            print(escape_terminal(f"\nmodel: {evaluation.trained}"))
        for error in evaluation.errors:
            print(escape_terminal(f"skipped: {error}"), file=sys.stderr)
        if self.json:
            with whole_file(self.json) as partial:
                partial.write_text(evaluation.json(), encoding="utf-8")

    def _evaluated(self, path):
        from keras_attn_pipelines.runs.evaluate import evaluate, evaluate_saved
        from keras_attn_pipelines.runs.run import Run

        given = {key: getattr(self, key) for key in ("beam_width", "precision", "max_pixels")}
        given = {key: value for key, value in given.items() if value is not None}
        scored = {"metric_tokenization": self.metric_tokenization, "clip": self.clip}
        if (path / DESCRIPTION_FILE).is_file() or not has_saved_model(path):
            return evaluate(Run(path), self.data, self.split, **given, **scored)
        if given:
            raise ValueError(
                "Expected no beam width, precision or limit of pixels for a SavedModel, which has "
                f"its own. Received: {', '.join(f'{key}={value}' for key, value in given.items())}"
            )
        recipe = load_recipe(self.recipe) if self.recipe else None
        return evaluate_saved(path, self.data, self.split, recipe=recipe, **scored)


@part
class Import:
    """read a model that was trained elsewhere into a run"""

    checkpoint: str = argument(
        "folder of a checkpoint, its file of weights, or the name OWNER/MODEL of a model on the "
        "Hugging Face hub",
        metavar="CHECKPOINT",
    )
    out: str = option("run directory, new", metavar="RUN")
    source_language: str | None = option(
        "language of the sources, such as eng_Latn, of NLLB, M2M-100 and mBART-50", default=None
    )
    target_language: str | None = option("language of the answers, likewise", default=None)
    prompt: str = option(
        "what every caption of a captioner begins with, such as 'a photography of'", default=""
    )

    def run(self):
        """Writes a run with the weights and vocabularies of a checkpoint."""
        check_movable_folder(self.out)
        from keras_attn_pipelines.runs import exchange

        languages = (self.source_language, self.target_language)
        pretrained = exchange.read_pretrained(self.checkpoint, self.out, *languages, self.prompt)
        recipe = load_recipe(exchange.recipe_of(pretrained))
        name = " ".join([exchange.name_of(self.checkpoint), *filter(None, languages)])
        run = exchange.import_checkpoint(recipe, pretrained, name, self.out)
        print(escape_terminal(f"imported: {run.folder}\n{exchange.next_steps(run)}"))


@part
class Average:
    """average the weights of several runs"""

    runs: tuple[str, ...] = argument("two or more runs of the same model", metavar="RUN")
    out: str = option("run directory, new")

    def run(self):
        """Writes a run with the averaged weights of other runs."""
        for folder in self.runs:
            check_run(folder)
        check_movable_folder(self.out)
        from keras_attn_pipelines.runs.average import average
        from keras_attn_pipelines.runs.run import Run

        run = average([Run(folder) for folder in self.runs], self.out)
        print(escape_terminal(f"averaged: {run.folder}"))


@part
class Export:
    """export a run as the next version of a SavedModel, or as a model of transformers"""

    run_folder: str = argument("run directory", metavar="RUN")
    folder: str = argument("folder of the model's versions", metavar=MODEL)
    format: str = option(
        "saved_model, or marian: a new folder that transformers and CTranslate2 read, of a "
        "Transformer from text to text; other flags are for saved_model",
        default=SAVED_MODEL,
        choices=(SAVED_MODEL, MARIAN),
    )
    data: str | None = option(
        "data folder to evaluate and calibrate on (default: that of the training)",
        default=None,
    )
    split: str = option("split for that evaluation", default=DEV)
    evaluate: bool = option("put scores of an evaluation on the model card", default=True)
    beam_width: int | None = option("beam width (default: the recipe's)", default=None)
    n_best: int = option("answers per request", default=1)
    precision: str = option("float32 or bfloat16", default="float32")
    storage: str = option("how weights are stored: float32, float16 or int8", default="float32")
    products: str = option(
        "how matrices are multiplied: float32, or int8 where that is faster on this machine",
        default="float32",
        choices=("float32", "int8"),
    )
    jit: bool = option("compile searches of single requests with XLA", default=False)
    max_pixels: int | None = option(PIXELS_TEXT, default=None)
    familiarity: bool = option(
        "captioners: answer how much a picture is like those of the training, and say so of one "
        "that is not",
        default=False,
    )
    unfamiliar: tuple[str, ...] = option(
        "with familiarity: folder with pictures of other kinds, to calibrate it; repeatable "
        "(default: drawn scenes)",
        default=(),
        metavar="FOLDER",
        repeated=True,
    )
    limits: str | None = option(
        "Markdown file for the model card: intended use, failures, terms", default=None
    )
    terms: str = option(
        "terms of use, shown when the model is loaded (default: those of --from's model)",
        default="",
        metavar="TEXT",
    )

    def run(self):
        """Writes the next version of a SavedModel."""
        check_run(self.run_folder)
        if self.format == MARIAN:
            self._export_marian()
            return
        check_writable_folder(self.folder)
        self._check_data()
        from keras_attn.serving.eight_bits import check_products
        from keras_attn.serving.export import check_model_folder
        from keras_attn.serving.familiarity import check_captioner
        from keras_attn.serving.jit import compile_searches
        from keras_attn.serving.stored_weights import check_storage
        from keras_attn_pipelines.runs.evaluate import evaluate
        from keras_attn_pipelines.runs.export import export, limits_in
        from keras_attn_pipelines.runs.familiarity import learn_familiarity
        from keras_attn_pipelines.runs.next_commands import after_export
        from keras_attn_pipelines.runs.run import Run
        from keras_attn_pipelines.runs.training_summary import trained_line

        run, measured = Run(self.run_folder), []
        limits = "" if self.limits is None else limits_in(self.limits)
        shared = {"precision": self.precision, "max_pixels": self.max_pixels}
        data = self.data or _data_of(run) if self.evaluate or self.familiarity else None
        if data:  # Reading it takes long: first check all that export would reject.
            check_model_folder(self.folder)
            check_storage(self.storage, self.precision)
            service = run.service(self.beam_width, self.n_best, **shared)
            if self.familiarity:
                check_captioner(service.model, self.products)
            check_products(self.products, service.model, self.jit)
            if self.jit:
                compile_searches(service)
        elif self.familiarity:
            raise ValueError(
                "Expected --data with --familiarity, since the training's data are gone. "
                "Received: none"
            )
        if data and self.evaluate:
            measured = [evaluate(run, data, self.split, self.beam_width, **shared, reuse=True)]
        card = {"storage": self.storage, "limits": limits, "terms": self.terms}
        card |= {"products": self.products, "jit": self.jit}
        if self.familiarity:
            learned = learn_familiarity(run, data, self._others(), **shared, storage=self.storage)
            print(escape_terminal(learned.text()), flush=True)
            card["familiarity"] = learned
        version = export(run, self.folder, measured, self.beam_width, self.n_best, **shared, **card)
        kept = trained_line(run)
        lines = [f"exported: {version}", kept and f"kept: {kept}", after_export(run, self.folder)]
        print(escape_terminal("\n".join(filter(None, lines))))

    def _export_marian(self):
        given = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        if others := sorted({*given} - {"run_folder", "folder", "format"}):
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in others)
            raise ValueError(f"Expected no further flags with --format marian. Received: {flags}")
        check_movable_folder(self.folder)
        from keras_attn_pipelines.runs.exchange import export_marian
        from keras_attn_pipelines.runs.run import Run

        folder, notes = export_marian(Run(self.run_folder), self.folder)
        print(escape_terminal("\n".join([f"exported: {folder}", *notes])))

    def _others(self):
        """Pictures of other kinds, by the name of their kind."""
        if self.unfamiliar:
            kinds = dict[str, list[Path]]()
            for folder in self.unfamiliar:
                name = Path(folder).resolve().name
                kinds[folder if name in kinds else name] = [*map(Path, expand_pictures([folder]))]
            return kinds
        from keras_attn_pipelines.demo.scenes import drawn_pictures

        return {"drawn scenes": drawn_pictures(200)}

    def _check_data(self):
        """Raises ValueError for data that are not there, or that nothing would be measured on."""
        data = None if self.familiarity else self.data
        given = {"--data": data, "--split": None if self.split == DEV else self.split}
        if not self.evaluate and (flags := [flag for flag, value in given.items() if value]):
            raise ValueError(
                f"Expected no --no-evaluate beside {' and '.join(flags)}, which is for the "
                "evaluation. Received: both"
            )
        if self.data:
            check_data(self.data)
        if self.unfamiliar and not self.familiarity:
            raise ValueError("Expected --familiarity with --unfamiliar. Received: none")
        for folder in self.unfamiliar:
            for path in expand_pictures([folder]):
                if error := path_error(path):
                    raise ValueError(f"Expected pictures in {folder}. Received: {error}")


def _data_of(run) -> str | None:
    """The data that a run was trained on, if they are still there."""
    data = run.description["data"]
    return data if has_data(data) else None


@part
class Predict:
    """answer pictures or texts with a SavedModel or a run"""

    folder: str = argument("SavedModel or run directory", metavar=f"{MODEL}|RUN")
    inputs: tuple[str, ...] = argument(
        "picture files, folders or patterns; texts; facts as JSON; '-': lines of standard input",
        metavar="PICTURE|TEXT",
        default=(),
    )
    file: str | None = option(
        "file with one path, text or JSON per line; '-': standard input", default=None
    )
    json: bool = option("print JSON lines", default=False)
    n_best: int | None = option(
        "answers to each input; of a SavedModel, at most as many as it was exported with",
        default=None,
        least=1,
    )
    beam_width: int | None = option("runs only: beam width", default=None, least=1)
    sample: bool = option("runs only: sample answers instead of searching for them", default=False)
    temperature: float | None = option(
        "with --sample: below 1 for likelier answers, above for others (default: 1)",
        default=None,
        above=0,
        below=INFINITY,
    )
    top_p: float | None = option(
        "with --sample: of each step, the likeliest tokens with this share (default: 1)",
        default=None,
        above=0,
        most=1,
    )
    seed: int | None = option("with --sample: seed of the draws (default: 0)", default=None)
    crops: str | None = option(
        "folder for what a spatial transformer read, one PNG per picture", default=None
    )

    def run(self):
        """Prints the answers of a SavedModel or a run."""
        draws = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed}
        draws = {key: value for key, value in draws.items() if value is not None}
        is_run = (Path(self.folder) / DESCRIPTION_FILE).is_file()
        if not is_run:
            check_saved_model(self.folder)
            self._check_search()
        if draws and not self.sample:
            flags = " and ".join(f"--{key.replace('_', '-')}" for key in draws)
            raise ValueError(f"Expected --sample beside {flags}. Received: none")
        if self.sample and self.beam_width is not None:
            raise ValueError("Expected --sample or --beam-width. Received: both")
        check_inputs_file(self.file)
        if not is_run and "-" not in self.inputs and not self.file:
            check_pictures(self.folder, self.inputs)
        if self.crops is not None:
            check_writable_folder(self.crops)
        from keras_attn_pipelines.saved.answers import print_answers

        if not is_run:
            from keras_attn.saved.loading import load

            model = load(self.folder)
            model.check_n_best(self.n_best)
        else:
            from keras_attn.decoding import Sampling
            from keras_attn_pipelines.runs.run import Run
            from keras_attn_pipelines.runs.run_predictor import RunPredictor

            n_best = self.n_best or 1
            sampling = Sampling(n=n_best, **draws) if self.sample else None
            model = RunPredictor(Run(self.folder), self.beam_width, n_best, sampling)
        print_answers(model, self)

    def _check_search(self):
        """Raises ValueError for what only a run can be asked for."""
        given = {"--beam-width": self.beam_width is not None, "--sample": self.sample}
        if flags := [flag for flag, there in given.items() if there]:
            raise ValueError(
                f"Expected a run directory for {' and '.join(flags)}; a SavedModel searches as it "
                f"was exported. Received: {self.folder}"
            )


@part
class Score:
    """score a text or a label given a text or a picture"""

    folder: str = argument("SavedModel", metavar=MODEL)
    image: str | None = option("with --caption, for captioners", default=None, metavar="PICTURE")
    caption: str | None = option("with --image", default=None, metavar="TEXT")
    source: str | None = option("with --target, for text models", default=None, metavar="TEXT")
    target: str | None = option("with --source or --facts", default=None, metavar="TEXT")
    facts: str | None = option("with --target, for models of facts", default=None, metavar="JSON")
    story: str | None = option(
        "with --label, for stories: sentences, the question last", default=None, metavar="TEXT"
    )
    label: str | None = option(
        "with --image, --source or --story, for classifiers", default=None, metavar="LABEL"
    )

    def run(self):
        """Prints the log-probability of a text."""
        check_saved_model(self.folder)
        from keras_attn.saved.loading import load
        from keras_attn.saved.results import format_score

        saved = load(self.folder)
        saved.check_scores()
        names = ("image", "caption", "source", "facts", "story", "target", "label")
        given = {key: value for key in names if (value := getattr(self, key)) is not None}
        if sorted(given) != sorted(saved.scored):
            wanted = " and ".join(f"--{key}" for key in saved.scored)
            received = " and ".join(f"--{key}" for key in given) or "neither"
            raise ValueError(f"Expected {wanted}. Received: {received}")
        first, second = (given[key] for key in saved.scored)
        score = format_score(saved.score(first, second))
        print(escape_terminal(f"{first}\t{score}\t{second}"))


@part
class Serve:
    """serve a SavedModel: a page to try it, and TF Serving's REST API"""

    folder: str = argument("SavedModel", metavar=MODEL)
    name: str | None = option("name in addresses (default: the folder's)", default=None)
    host: str = option("address", default="127.0.0.1")
    port: int = option("port", default=8501, least=1, most=65535)
    max_request_bytes: int = option("longest request", default=1 << 25, least=1)
    timeout: float = option(
        "time limit in seconds for a request to arrive, and for its answer",
        default=120.0,
        above=0,
        below=INFINITY,
    )

    def run(self):
        """Serves a SavedModel until it is stopped."""
        check_saved_model(self.folder)
        from keras_attn.saved.loading import load
        from keras_attn_pipelines.saved.serve import run

        name = self.name or Path(self.folder).resolve().name
        limits = (self.max_request_bytes, self.timeout)
        run(load(self.folder), name, self.host, self.port, *limits)


@part
class Explain:
    """draw where each word, or the model, looked, or what changes the answer"""

    folder: str = argument("SavedModel", metavar=MODEL)
    asked: str = argument("input to explain", metavar="PICTURE|TEXT")
    out: str = option(
        "file to write: .png, .svg or .pdf; .html: an interactive page", metavar="FILE"
    )
    heads: str | None = option(
        "another view: encoder, decoder or cross for every layer and head (captioners: cross, or "
        "rollout for what each word saw through a Vision Transformer); "
        "attention for a text classifier's weights; links for which fact follows which (models of "
        "facts); or a name that your own declares",
        default=None,
    )
    word: str | None = option("show what this word of the text attends to", default=None)
    layer: int | None = option(
        "layer for --word, from 1 (default: the last; captioners: all)", default=None
    )

    by: str = option(
        "attention; or occlusion, of models that score: how much less probable each word is "
        "without each region, word or fact of the input",
        default="attention",
        choices=("attention", "occlusion"),
    )
    scale: str | None = option(
        "colors of a picture's words: each up to its own largest weight, or all on one scale",
        default=None,
        choices=(EACH, ALL),
    )

    def run(self):
        """Prints an answer, and draws where each of its words looked."""
        check_saved_model(self.folder)
        check_pictures(self.folder, [self.asked])
        check_parent(self.out, self.asked, model_folder(self.folder))
        wanted = {name: getattr(self, name) for name in ("heads", "word", "layer", "scale")}
        if Path(self.out).suffix.lower() == ".html":
            text = self._page([key for key, value in wanted.items() if value is not None])
        else:
            check_picture_file(self.out)
            from keras_attn.saved.loading import load

            drawing = load(self.folder).explain(self.asked, by=self.by, **wanted)
            drawing.save(self.out)
            text = drawing.text
        print(escape_terminal(f"{text}\nwritten: {self.out}"))

    def _page(self, refused):
        """Writes a page to look at where each word looked; returns the answer."""
        if refused:
            raise ValueError(
                "Expected no --heads, --word, --layer or --scale for a page, which has them all. "
                f"Received: {', '.join(f'--{name}' for name in refused)}"
            )
        from keras_attn.saved.loading import load

        page = load(self.folder).explore(self.asked, self.by)
        page.save(self.out)
        return page.answers[0][0] if page.answers else ""


@part
class Align:
    """link the words of sentence pairs"""

    source: str = argument(
        "one sentence a line; alone: a .tsv or .jsonl of pairs", metavar="SOURCE"
    )
    target: str | None = argument("as many lines", metavar="TARGET", default=None)
    out: str | None = option("file for the links (default: standard output)", default=None)
    model: str | None = option("model1, model2 or hmm (default)", default=None)
    iterations: int | None = option("training iterations (default: 5)", default=None)
    variational: float | None = option(
        "concentration of a Dirichlet prior (default: 0, none)", default=None
    )
    symmetrization: str | None = option(
        "intersection, union, grow-diag, grow-diag-final, grow-diag-final-and (default), forward "
        "(default of --attention alone) or backward",
        default=None,
    )
    save: str | None = option("new folder for the trained aligner", default=None, metavar="FOLDER")
    load: str | None = option("apply this aligner; do not train", default=None, metavar="FOLDER")
    attention: str | None = option(
        "link by what this translator attends to", default=None, metavar="SAVED_MODEL"
    )
    backward_attention: str | None = option(
        "a translator from target to source, for the other direction",
        default=None,
        metavar="SAVED_MODEL",
    )
    layer: int | None = option("attention layer, from 1 (default: mean of all)", default=None)
    head: int | None = option("attention head, from 1 (default: mean of all)", default=None)
    reading: bool = option(
        "use the step that reads a word instead of the step that predicts it", default=False
    )
    gold: str | None = option(
        "gold links: .jsonl, lines of 0-0 (sure) and 1?2 or 1p2 (possible), or NAACL's",
        default=None,
    )
    gold_base: int = option(
        "number of the first word in lines of gold links, 0 or 1", default=0, least=0, most=1
    )

    scores: bool = option(
        "write the probability of each link, or its attention, behind it: 0-0:0.938", default=False
    )
    show: int = option("draw the links of so many pairs, the first", default=0, least=0)

    def run(self):
        """Prints or writes links of sentence pairs, by an aligner or a translator's attention."""
        for path in (self.source, self.target, self.gold):
            check_text_file(path)
        for folder in (self.attention, self.backward_attention):
            if folder is not None:
                check_saved_model(folder)
        read = (self.source, self.target, self.gold, self.load)
        if self.out:
            others = (*read, self.attention, self.backward_attention, self.save)
            check_parent(self.out, *filter(None, others))
        if self.save:
            check_movable_folder(self.save)
            if self.out and Path(self.out).absolute() == Path(self.save).absolute():
                raise ValueError(f"Expected --out and --save to differ. Received: {self.out}")
        from keras_attn_pipelines.saved.word_links import write_links

        write_links(self)


COMMANDS = {
    command.__name__.lower(): command
    for command in (
        *(Recipes, New, Prepare, Train, Import, Evaluate, Average, Export),
        *(Predict, Score, Serve, Explain, Align),
    )
}
"""Classes of options by the command's name."""
