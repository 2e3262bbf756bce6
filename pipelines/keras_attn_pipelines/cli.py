"""The command line: `keras-attn`, or `python -m keras_attn_pipelines`."""

import argparse
import contextlib
import os
import signal
import sys

# Read by TensorFlow when it is imported, and off by default on processors without AVX-512, whose
# matrix products are slower then as well.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# Read by keras_attn when it is imported: without Keras, whose import takes seconds.
os.environ["KERAS_ATTN_LAZY_IMPORT"] = "1"
import keras_attn

del os.environ["KERAS_ATTN_LAZY_IMPORT"]  # The processes that this one starts have their own.

from keras_attn.cluster import LostWorkerError
from keras_attn.escaping import escape_terminal
from keras_attn.evaluation.tokenization import CAPTION_TOKENIZATIONS, TEXT_TOKENIZATIONS
from keras_attn.former_names import CONSTRUCTOR
from keras_attn_pipelines import commands, console
from keras_attn_pipelines.experiment.experiment import PARTS
from keras_attn_pipelines.experiment.flags import add_flags
from keras_attn_pipelines.experiment.former_flags import FORMER_FLAGS
from keras_attn_pipelines.recipes import load_recipe, recipe_names

FLAGGED = {"train": PARTS, "prepare": ("source",)}
"""Commands with a recipe, and the parts whose fields are their flags."""
_MAX_PIXELS = "width times height of the largest picture that is decoded (default: 25000000)"


def main(arguments=None) -> int:
    """Runs one command; bad input ends with one line on standard error and exit code 2."""
    parser = _parser()
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parsed, rest = parser.parse_known_args(arguments)
    try:
        if parsed.command in FLAGGED:
            recipe = load_recipe(parsed.recipe)
            add_flags(parsed.parser, recipe, parsed.parts)
            parsed, rest = parser.parse_known_args(arguments)
            parsed.experiment = recipe
        if parsed.command == "predict":  # Inputs may precede and follow flags.
            inputs = [
                argument for argument in rest if argument == "-" or not argument.startswith("-")
            ]
            parsed.inputs, rest = (
                parsed.inputs + inputs,
                [argument for argument in rest if argument not in inputs],
            )
        if rest:
            parsed.parser.error(f"unknown arguments: {' '.join(rest)}{_renamed_flags(rest)}")
        if parsed.command != "train":  # Services are TensorFlow graphs.
            os.environ["KERAS_BACKEND"] = "tensorflow"
        with console.terminable() if parsed.command == "train" else contextlib.nullcontext():
            parsed.run_command(parsed)
    except BrokenPipeError:  # The reader of the pipe has closed it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except LostWorkerError as error:
        print(f"keras-attn: {escape_terminal(str(error))}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(2)  # TensorFlow's threads still wait for the other worker.
    except (ValueError, ImportError, OSError) as error:
        print(f"keras-attn: {_error_text(error)}", file=sys.stderr)
        return 2
    except Exception as error:
        if type(error).__name__ != "ResourceExhaustedError":  # TensorFlow's, not imported here.
            raise
        smaller = "smaller batches (--batch-size, --batch-tokens), a smaller model or beam may help"
        print(f"keras-attn: out of memory; {smaller}\n{error!s:.300}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        again = "; rerun the same command to resume from the last checkpoint, if any"
        print(f"\nkeras-attn: stopped{again if parsed.command == 'train' else ''}", file=sys.stderr)
        return 128 + (signal.SIGTERM if isinstance(error, console.Terminated) else signal.SIGINT)
    return 0


def run_command_line() -> None:
    """The program `keras-attn`: `main` without the messages of native libraries."""
    console.run(main)


def _error_text(error):
    """The error's message; a system error's without its number."""
    has_file = isinstance(error, OSError) and error.filename is not None
    return escape_terminal(f"{error.filename}: {error.strerror}" if has_file else str(error))


def _renamed_flags(arguments) -> str:
    """The new names of renamed flags among the arguments."""
    former = {**CONSTRUCTOR, **{flag: (now,) for flag, now in FORMER_FLAGS.items()}}
    names = {flag.split("=")[0].removeprefix("--").replace("-", "_") for flag in arguments}
    renamed = {name: former[name] for name in sorted(names & set(former))}
    now = ("--" + " or --".join(new).replace("_", "-") for new in renamed.values())
    return "".join(f"; --{old.replace('_', '-')} is now {new}" for old, new in zip(renamed, now))


def _parser():
    parser = argparse.ArgumentParser(
        prog="keras-attn", description="Attention models in Keras.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {keras_attn.__version__}")
    subcommands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, run, text):
        parser = subcommands.add_parser(
            name, help=text, description=text, add_help=name not in FLAGGED, allow_abbrev=False
        )
        parser.set_defaults(run_command=run, parser=parser, parts=FLAGGED.get(name, ()))
        return parser

    subparser = command("recipes", commands.recipes, "list the recipes, or describe one")
    subparser.add_argument("recipe", nargs="?", metavar="RECIPE", help="its fields and defaults")

    def add_recipe(subparser):
        subparser.add_argument(
            "recipe", metavar="RECIPE", help=f"{', '.join(recipe_names())}, or a .py file"
        )
        subparser.add_argument("-h", "--help", action=_LateHelp, nargs=0, help="show all flags")

    subparser = command(
        "prepare", commands.prepare, "write a recipe's records into shards, to train from"
    )
    add_recipe(subparser)
    _add_prepare_arguments(subparser)

    subparser = command(
        "train", commands.train, "train a recipe on a data folder, a file, shards or tfds:NAME"
    )
    add_recipe(subparser)
    subparser.add_argument(
        "--data",
        required=True,
        help="data folder, file, shards or tfds:NAME; keras:mnist for digits",
    )
    subparser.add_argument("--out", required=True, help="run directory, new or to resume")
    subparser.add_argument(
        "--from",
        dest="source",
        metavar="RUN|SAVED_MODEL",
        help="start from its weights and vocabularies",
    )
    subparser.add_argument(
        "--strategy",
        default="one",
        help="auto, one, mirrored, multiworker (TF_CONFIG) or tpu (default: one)",
    )
    subparser.add_argument("--precision", default="auto", help="auto, float32, bfloat16 or float16")
    subparser.add_argument("--cache", help="folder for cached features (default: the user's cache)")

    subparser.add_argument(
        "--data-service",
        metavar="HOST:PORT",
        help="dispatcher of tf.data service whose workers make the batches",
    )

    subparser = command(
        "data-service", commands.data_service, "run a dispatcher or a worker of tf.data service"
    )
    subparser.add_argument("role", choices=("dispatcher", "worker"))
    subparser.add_argument("--port", type=int, default=0, help="to listen at (default: any)")
    subparser.add_argument("--dispatcher", metavar="HOST:PORT", help="for a worker")
    subparser.add_argument(
        "--host", default="localhost", help="name of a worker's machine (default: localhost)"
    )

    subparser = command("evaluate", commands.evaluate, "score a run or a SavedModel on a split")
    subparser.add_argument("run", metavar="RUN|SAVED_MODEL")
    subparser.add_argument("--data", required=True, help="data folder")
    subparser.add_argument(
        "--split", default="dev", help="train, dev, test or another split of the data"
    )
    subparser.add_argument("--beam-width", type=int, help="for a run (default: the recipe's)")
    subparser.add_argument("--precision", help="for a run: float32 (default) or bfloat16")
    subparser.add_argument("--max-pixels", type=int, help=f"for a run: {_MAX_PIXELS}")
    subparser.add_argument(
        "--metric-tokenization",
        metavar="NAME",
        help="tokenizer for text metrics: "
        f"{', '.join(dict.fromkeys((*TEXT_TOKENIZATIONS, *CAPTION_TOKENIZATIONS)))} (default: as "
        "in training)",
    )
    subparser.add_argument(
        "--recipe", help="the .py file with the parts of a SavedModel that has its own"
    )
    subparser.add_argument("--json", help="also write all results, answers included, to this file")

    subparser = command("average", commands.average, "average the weights of several runs")
    subparser.add_argument(
        "runs", nargs="+", metavar="RUN", help="two or more runs of the same model"
    )
    subparser.add_argument("--out", required=True, help="run directory, new")

    subparser = command(
        "export", commands.export, "export a run as the next version of a SavedModel"
    )
    subparser.add_argument("run", metavar="RUN")
    subparser.add_argument("folder", metavar="saved_models/NAME")
    subparser.add_argument(
        "--data", help="data folder: evaluate first and put the scores on the model card"
    )
    subparser.add_argument(
        "--split", default="dev", help="split for that evaluation (default: dev)"
    )
    subparser.add_argument("--beam-width", type=int, help="default: the recipe's")
    subparser.add_argument("--n-best", type=int, default=1, help="answers per request (default: 1)")
    subparser.add_argument("--precision", default="float32", help="float32 (default) or bfloat16")
    subparser.add_argument(
        "--storage", default="float32", help="how weights are stored: float32 (default) or float16"
    )

    subparser.add_argument("--max-pixels", type=int, help=_MAX_PIXELS)
    subparser.add_argument(
        "--limits", help="Markdown file for the model card: intended use, failures, terms"
    )
    subparser.add_argument(
        "--terms",
        default="",
        metavar="TEXT",
        help="terms of use, shown when the model is loaded (default: those of --from's model)",
    )

    subparser = command("predict", commands.predict, "answer pictures or texts with a SavedModel")
    subparser.add_argument("folder", metavar="saved_models/NAME")
    subparser.add_argument(
        "inputs",
        nargs="*",
        metavar="PICTURE|TEXT",
        help="also folders and patterns; '-': lines of standard input; facts as JSON",
    )
    subparser.add_argument(
        "--file", help="file with one path, text or JSON per line; '-': standard input"
    )
    subparser.add_argument("--json", action="store_true", help="print JSON lines")
    subparser.add_argument(
        "--crops", help="folder for what a spatial transformer read, one PNG per picture"
    )

    subparser = command("score", commands.score, "score a text given another text or a picture")
    subparser.add_argument("folder", metavar="saved_models/NAME")
    subparser.add_argument("--image", metavar="PICTURE", help="with --caption, for captioners")
    subparser.add_argument("--caption", metavar="TEXT")
    subparser.add_argument("--source", metavar="TEXT", help="with --target, for text models")
    subparser.add_argument("--target", metavar="TEXT")
    subparser.add_argument("--facts", metavar="JSON", help="with --target, for models of facts")

    subparser = command(
        "serve", commands.serve, "serve a SavedModel: a page to try it, and TF Serving's REST API"
    )
    subparser.add_argument("folder", metavar="saved_models/NAME")
    subparser.add_argument("--name", help="name in addresses (default: the folder's)")
    subparser.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    subparser.add_argument("--port", type=int, default=8501, help="port (default: 8501)")
    subparser.add_argument(
        "--max-request-bytes",
        dest="max_bytes",
        type=int,
        default=1 << 25,
        help="longest request (default: 33554432)",
    )
    subparser.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        help="time limit in seconds for a request to arrive, and for its answer (default: 120)",
    )

    subparser = command("explain", commands.explain, "draw where each word, or the model, looked")
    subparser.add_argument("folder", metavar="saved_models/NAME")
    subparser.add_argument("asked", metavar="PICTURE|TEXT")
    subparser.add_argument("--out", required=True, help="PNG, SVG or PDF to write, or an HTML page")
    subparser.add_argument(
        "--heads",
        help="the view to show: every layer and head of encoder, decoder or cross (captioners: "
        "cross; models of facts: links, which fact follows which; your own: as declared)",
    )
    subparser.add_argument("--word", help="show what this word of the text attends to")
    subparser.add_argument(
        "--layer", type=int, help="layer for --word, from 1 (default: the last; captioners: all)"
    )

    _add_align_arguments(command("align", commands.align, "link the words of sentence pairs"))
    return parser


def _add_prepare_arguments(subparser):
    subparser.add_argument("--data", required=True, help="data folder, file or tfds:NAME")
    subparser.add_argument("--out", required=True, help="folder for the shards, new or empty")
    subparser.add_argument(
        "--splits",
        nargs="*",
        metavar="NAME",
        help="splits besides train and dev (default: test, if there is one)",
    )
    subparser.add_argument(
        "--format", default="array_record", help="array_record (default) or tfrecord"
    )
    subparser.add_argument(
        "--shards", type=int, help="files of each split (default: by size, 64 MB and more)"
    )
    subparser.add_argument(
        "--beam-runner", help="Apache Beam runner, such as DirectRunner (default: without Beam)"
    )
    subparser.add_argument(
        "--beam-option",
        action="append",
        default=[],
        dest="beam_options",
        metavar="FLAG",
        help="flag of the runner, such as --beam-option=--direct_num_workers=2; repeatable",
    )


def _add_align_arguments(subparser):
    subparser.add_argument(
        "source", metavar="SOURCE", help="one sentence a line; alone: a .tsv or .jsonl of pairs"
    )
    subparser.add_argument("target", nargs="?", metavar="TARGET", help="as many lines")
    subparser.add_argument("--out", help="file for the links (default: standard output)")
    subparser.add_argument("--model", help="model1, model2 or hmm (default)")
    subparser.add_argument("--iterations", type=int, help="of the model (default: 5)")
    subparser.add_argument(
        "--variational", type=float, help="concentration of a Dirichlet prior (default: 0, none)"
    )
    subparser.add_argument(
        "--symmetrization",
        help="intersection, union, grow-diag, grow-diag-final, grow-diag-final-and (default), "
        "forward (default of --attention alone) or backward",
    )
    subparser.add_argument("--save", metavar="FOLDER", help="new folder for the trained aligner")
    subparser.add_argument("--load", metavar="FOLDER", help="apply this aligner; do not train")
    subparser.add_argument(
        "--attention", metavar="SAVED_MODEL", help="link by what this translator attends to"
    )
    subparser.add_argument(
        "--backward-attention",
        metavar="SAVED_MODEL",
        help="a translator from target to source, for the other direction",
    )
    subparser.add_argument("--layer", type=int, help="of the attention (default: mean of all)")
    subparser.add_argument("--head", type=int, help="of the attention (default: mean of all)")
    subparser.add_argument(
        "--reading",
        action="store_true",
        help="attention of the step that reads a word, not of the one that predicts it",
    )
    subparser.add_argument(
        "--gold", help="gold links: .jsonl, or lines of 0-0 (sure) and 1?2 (possible)"
    )


class _LateHelp(argparse.Action):
    """Help of a command with a recipe, with the recipe's flags."""

    def __call__(self, parser, namespace, values, option_string=None):
        if getattr(namespace, "recipe", None):
            try:
                recipe = load_recipe(namespace.recipe)
            except ValueError as error:
                parser.exit(2, f"keras-attn: {error}\n")
            add_flags(parser, recipe, parser.get_default("parts"))
        parser.print_help()
        parser.exit()
