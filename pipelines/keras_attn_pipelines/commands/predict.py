"""Commands that ask models: `predict`, `score`, `serve`, `explain`."""

from pathlib import Path

from keras_attn.escaping import escape_terminal
from keras_attn.saved.bundled import model_folder
from keras_attn.saved.results import check_picture_file
from keras_attn.viz.quantity import ALL, EACH
from keras_attn_pipelines.commands.texts import MODEL
from keras_attn_pipelines.early_checks import (
    check_inputs_file,
    check_parent,
    check_pictures,
    check_saved_model,
    check_writable_folder,
)
from keras_attn_pipelines.experiment.fields import INFINITY, argument, option, part
from keras_attn_pipelines.experiment.stored import DESCRIPTION_FILE


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
