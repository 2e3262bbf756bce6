"""The command `export`."""

from dataclasses import fields
from pathlib import Path

from keras_attn.escaping import escape_terminal
from keras_attn.saved.picture_paths import expand_pictures, path_error
from keras_attn_pipelines.commands.texts import DEV, MODEL, PIXELS_TEXT
from keras_attn_pipelines.early_checks import (
    check_data,
    check_movable_folder,
    check_run,
    check_writable_folder,
    has_data,
)
from keras_attn_pipelines.experiment.fields import argument, option, part

SAVED_MODEL, MARIAN = "saved_model", "marian"


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
