"""The command line: `keras-attn`, or `python -m pipelines`."""

import argparse
import sys
import types
import typing
from dataclasses import fields
from pathlib import Path
from typing import Any

from keras_attn.whole_file import whole_file
from pipelines.recipes import load_recipe, recipe_name, recipe_names, recipe_summary


def main(arguments=None) -> int:
    """Runs one command; bad input ends with one line on standard error and exit code 2."""
    parser = _parser()
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    known, rest = parser.parse_known_args(arguments)
    try:
        if known.command == "train":
            recipe = load_recipe(known.recipe)
            add_flags(known.parser, recipe)
            known, rest = parser.parse_known_args(arguments)
            known.recipe_class = recipe
        if rest:
            known.parser.error(f"unknown arguments: {' '.join(rest)}")
        known.run_command(known)
    except (ValueError, ImportError, OSError) as error:
        print(f"keras-attn: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        again = "; the same command goes on from the last checkpoint"
        print(f"\nkeras-attn: stopped{again if known.command == 'train' else ''}", file=sys.stderr)
        return 130
    return 0


def add_flags(parser: argparse.ArgumentParser, recipe: type) -> None:
    """Makes a flag of every field of a recipe dataclass."""
    group = parser.add_argument_group(f"choices of {recipe.__name__}")
    for one in fields(recipe):
        help_text = f"{one.metadata.get('help', '')} (default: {_shown(one.default)})"
        options: dict[str, Any] = {
            "dest": f"choice_{one.name}",
            "default": argparse.SUPPRESS,  # Only what was given is there.
            "help": help_text,
        }
        if one.type is bool:
            options["action"] = argparse.BooleanOptionalAction
        elif isinstance(one.type, types.GenericAlias):
            options |= {"nargs": "+", "type": typing.get_args(one.type)[0], "metavar": "N"}
        else:  # Of `float | None`, float.
            kind: Any = typing.get_args(one.type)[0] if typing.get_args(one.type) else one.type
            options |= {"type": kind, "metavar": kind.__name__.upper()}
        group.add_argument(f"--{one.name.replace('_', '-')}", **options)


def _shown(default):
    return " ".join(map(str, default)) if isinstance(default, tuple) else default


def _parser():
    parser = argparse.ArgumentParser(prog="keras-attn", description="Attention models in Keras.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, run, text):
        one = commands.add_parser(name, help=text, description=text, add_help=name != "train")
        one.set_defaults(run_command=run, parser=one)
        return one

    command("recipes", _recipes, "what can be trained")

    one = command("train", _train, "train a recipe on a data folder, a file or tfds:NAME")
    one.add_argument("recipe", metavar="RECIPE", help=f"{', '.join(recipe_names())}, or a .py file")
    one.add_argument("-h", "--help", action=_LateHelp, nargs=0, help="show all flags")
    one.add_argument("--data", required=True, help="data folder, file or tfds:NAME")
    one.add_argument("--out", required=True, help="run directory, new or to be resumed")
    one.add_argument(
        "--from", dest="source", metavar="RUN|SAVED_MODEL", help="begin with its weights"
    )
    one.add_argument("--strategy", default="one", help="one, mirrored or tpu (default: one)")
    one.add_argument("--precision", default="auto", help="auto, float32 or bfloat16")
    one.add_argument("--cache", help="folder of the feature cache")

    one = command("evaluate", _evaluate, "score free-running answers of a run")
    one.add_argument("run", metavar="RUN")
    one.add_argument("--data", required=True, help="data folder")
    one.add_argument("--split", default="dev", help="train, dev, test or another of the data")
    one.add_argument("--beam-width", type=int, help="default: the recipe's")
    one.add_argument("--precision", default="float32", help="float32 (default) or bfloat16")
    one.add_argument("--json", help="also write everything, answers included, to this file")

    one = command("export", _export, "write the next version of a SavedModel")
    one.add_argument("run", metavar="RUN")
    one.add_argument("folder", metavar="saved_models/NAME")
    one.add_argument("--data", help="data folder: evaluate first, and put the table on the card")
    one.add_argument("--split", default="dev", help="split of that evaluation (default: dev)")
    one.add_argument("--beam-width", type=int, help="default: the recipe's")
    one.add_argument("--n-best", type=int, default=1, help="texts answered (default: 1)")
    one.add_argument("--precision", default="float32", help="float32 (default) or bfloat16")

    one = command("predict", _predict, "answers of a SavedModel to pictures or texts")
    one.add_argument("folder", metavar="saved_models/NAME")
    one.add_argument("inputs", nargs="*", metavar="PICTURE|TEXT", help="'-': lines of the input")
    one.add_argument("--file", help="one path or text a line; '-' is standard input")

    one = command("score", _score, "how probable a text is, given a picture or another text")
    one.add_argument("folder", metavar="saved_models/NAME")
    one.add_argument("--image", metavar="PICTURE", help="with --caption, of a captioner")
    one.add_argument("--caption", metavar="TEXT")
    one.add_argument("--source", metavar="TEXT", help="with --target, of a model of texts")
    one.add_argument("--target", metavar="TEXT")

    one = command("explain", _explain, "a picture of where each word looked")
    one.add_argument("folder", metavar="saved_models/NAME")
    one.add_argument("asked", metavar="PICTURE|TEXT")
    one.add_argument("--out", required=True, help="PNG to write; of a model of texts, also SVG")
    return parser


class _LateHelp(argparse.Action):
    """Help of `train RECIPE`, with the recipe's flags."""

    def __call__(self, parser, namespace, values, option_string=None):
        if getattr(namespace, "recipe", None):
            try:
                recipe = load_recipe(namespace.recipe)
            except ValueError as error:
                parser.exit(2, f"keras-attn: {error}\n")
            add_flags(parser, recipe)
        parser.print_help()
        parser.exit()


def _recipes(arguments):
    for name in recipe_names():
        print(f"{name}\n    {recipe_summary(name).replace(chr(10), chr(10) + '    ')}\n")


def _train(arguments):
    from pipelines.train import train
    from pipelines.warm_start import WarmStart

    recipe = arguments.recipe_class
    given = vars(arguments)
    choices = {
        one.name: given[f"choice_{one.name}"]
        for one in fields(recipe)
        if f"choice_{one.name}" in given
    }
    choices = {key: tuple(v) if isinstance(v, list) else v for key, v in choices.items()}
    source = WarmStart.read(arguments.source) if arguments.source else None
    run = train(
        source.recipe(recipe, choices) if source else recipe(**choices),
        data=arguments.data,
        out=arguments.out,
        name=recipe_name(arguments.recipe),
        strategy=arguments.strategy,
        precision=arguments.precision,
        cache=arguments.cache,
        source=source,
    )
    print(f"trained: {run.folder}")


def _evaluate(arguments):
    from pipelines.evaluate import evaluate
    from pipelines.run import Run

    if arguments.json and not Path(arguments.json).absolute().parent.is_dir():
        raise ValueError(f"Expected a file in a folder that exists. Received: {arguments.json}")
    if arguments.json and Path(arguments.json).is_dir():
        raise ValueError(f"Expected a file to write. Received: the folder {arguments.json}")
    run, width = Run(arguments.run), arguments.beam_width
    found = evaluate(run, arguments.data, arguments.split, width, precision=arguments.precision)
    print(found.table())
    for error in found.errors:
        print(f"skipped: {error}", file=sys.stderr)
    if arguments.json:
        with whole_file(arguments.json) as partial:
            partial.write_text(found.json(), encoding="utf-8")


def _export(arguments):
    from keras_attn.serving.export import check_model_folder
    from pipelines.evaluate import evaluate
    from pipelines.export import export
    from pipelines.run import Run

    check_model_folder(arguments.folder)  # Before an evaluation, which takes its time.
    run, width, measured = Run(arguments.run), arguments.beam_width, []
    precision = arguments.precision
    if arguments.data:
        measured = [evaluate(run, arguments.data, arguments.split, width, precision=precision)]
    version = export(run, arguments.folder, measured, width, arguments.n_best, precision)
    print(f"exported: {version}")


def _predict(arguments):
    from keras_attn.contracts import ERROR, SCORE, TEXT
    from pipelines.predict import saved_model

    named = [line for one in arguments.inputs for line in (_lines("-") if one == "-" else [one])]
    named += _lines(arguments.file) if arguments.file else []
    if not named:
        raise ValueError("Expected something to ask, or --file FILE. Received: nothing")
    saved = saved_model(arguments.folder)
    found, failed = saved.requested(named)
    for asked, answer in zip(found, saved.answers(found)):
        shown = asked.encode(errors="surrogateescape").decode(errors="replace")
        if error := answer[ERROR].decode():
            failed.append(f"{shown or repr(shown):.80}: {error}")
            continue
        for text, score in zip(answer[TEXT], answer[SCORE]):
            print(f"{shown}\t{score:.2f}\t{text.decode()}")
    if failed:
        raise ValueError("\n".join(failed))


def _lines(file):
    """The lines of a file, or of standard input; bytes that are not UTF-8 stay marked."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    lines = data.decode(errors="surrogateescape").removeprefix("\ufeff").split("\n")
    lines = lines if lines[-1] else lines[:-1]
    return [line.removesuffix("\r") for line in lines]


def _score(arguments):
    from keras_attn.contracts import ERROR, SCORE
    from pipelines.predict import saved_model

    saved = saved_model(arguments.folder)
    given = {key: getattr(arguments, key) for key in ("image", "caption", "source", "target")}
    if sorted(key for key, value in given.items() if value is not None) != sorted(saved.scored):
        wanted = " and ".join(f"--{key}" for key in saved.scored)
        received = [f"--{key}" for key, value in given.items() if value is not None]
        raise ValueError(f"Expected {wanted}. Received: {' and '.join(received) or 'neither'}")
    first, second = (given[key] for key in saved.scored)
    answer = saved.score_pair(first, second)
    if error := answer[ERROR].decode():
        raise ValueError(f"{first:.80}: {error}")
    print(f"{first}\t{answer[SCORE]:.2f}\t{second}")


def _explain(arguments):
    from pipelines.predict import saved_model

    explanation = saved_model(arguments.folder).explained(arguments.asked, arguments.out)
    print(f"{explanation.text}\nwritten: {arguments.out}")
