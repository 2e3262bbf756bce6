"""Commands that make runs: `train`, `import`, `average`, `ensemble`."""

from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

from keras_attn.cluster import MULTIWORKER, Cluster
from keras_attn.escaping import escape_terminal
from keras_attn_pipelines.commands.texts import RECIPE_TEXT
from keras_attn_pipelines.compilation import compiling
from keras_attn_pipelines.console import interruptible
from keras_attn_pipelines.early_checks import check_movable_folder, check_run, check_training
from keras_attn_pipelines.experiment.experiment import PARTS, Experiment
from keras_attn_pipelines.experiment.fields import COMMON, argument, option, part
from keras_attn_pipelines.experiment.stored import DESCRIPTION_FILE
from keras_attn_pipelines.recipes import load_recipe, recipe_name

HARDWARE = "hardware"
"""Heading of help for flags that do not change what is learned."""


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
    out: str = option("run directory, new", metavar="RUN")

    def run(self):
        """Writes a run with the averaged weights of other runs."""
        runs = _runs(self.runs, self.out)
        from keras_attn_pipelines.runs.combined import average

        print(escape_terminal(f"averaged: {average(runs, self.out).folder}"))


@part
class Ensemble:
    """combine several runs into an ensemble"""

    runs: tuple[str, ...] = argument(
        "two or more runs with the same task and vocabularies", metavar="RUN"
    )
    out: str = option("run directory, new", metavar="RUN")

    def run(self):
        """Writes a run whose model is the ensemble of other runs'."""
        runs = _runs(self.runs, self.out)
        from keras_attn_pipelines.runs.combined import ensemble

        print(escape_terminal(f"combined: {ensemble(runs, self.out).folder}"))


def _runs(folders, out):
    """The runs in folders, of which a new one is made; both are checked before TensorFlow."""
    for folder in folders:
        check_run(folder)
    check_movable_folder(out)
    from keras_attn_pipelines.runs.run import Run

    return [*map(Run, folders)]
