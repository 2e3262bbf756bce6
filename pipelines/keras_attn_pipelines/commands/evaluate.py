"""The command `evaluate`."""

import sys

from keras_attn.escaping import escape_terminal
from keras_attn.evaluation.tokenization import CAPTION_TOKENIZATIONS, TEXT_TOKENIZATIONS
from keras_attn_pipelines.commands.texts import DEV, PIXELS_TEXT
from keras_attn_pipelines.early_checks import (
    check_data,
    check_parent,
    has_saved_model,
    run_or_saved_model,
)
from keras_attn_pipelines.experiment.fields import argument, option, part
from keras_attn_pipelines.experiment.stored import DESCRIPTION_FILE
from keras_attn_pipelines.recipes import load_recipe

TOKENIZATIONS = dict.fromkeys((*TEXT_TOKENIZATIONS, *CAPTION_TOKENIZATIONS))


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
            if self.recipe:
                raise ValueError(
                    "Expected no --recipe for a run, which has its own. "
                    f"Received: --recipe {self.recipe}"
                )
            return evaluate(Run(path), self.data, self.split, **given, **scored)
        if given:
            raise ValueError(
                "Expected no beam width, precision or limit of pixels for a SavedModel, which has "
                f"its own. Received: {', '.join(f'{key}={value}' for key, value in given.items())}"
            )
        recipe = load_recipe(self.recipe) if self.recipe else None
        return evaluate_saved(path, self.data, self.split, recipe=recipe, **scored)
