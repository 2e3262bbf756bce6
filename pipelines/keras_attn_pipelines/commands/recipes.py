"""Commands for recipes and their data: `recipes`, `new`, `prepare`."""

import ast
import shlex
from dataclasses import field
from typing import Any, ClassVar

from keras_attn.escaping import escape_terminal
from keras_attn_pipelines.commands.texts import RECIPE_TEXT
from keras_attn_pipelines.early_checks import check_data, check_movable_folder, check_new_recipe
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.fields import argument, option, part
from keras_attn_pipelines.recipes import recipe_name, recipe_table, recipe_text
from keras_attn_pipelines.templates import FILE, KINDS, template_source


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
