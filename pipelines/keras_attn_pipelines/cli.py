"""The command line: `keras-attn`, or `python -m keras_attn_pipelines`."""

import argparse
import contextlib
import dataclasses
import difflib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

# Read by TensorFlow when it is imported, and off by default on processors without AVX-512, whose
# matrix products are slower then as well.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

from keras_attn.cluster import LostWorkerError
from keras_attn.escaping import escape_terminal
from keras_attn.version import __version__
from keras_attn_pipelines import console
from keras_attn_pipelines.commands import COMMANDS
from keras_attn_pipelines.experiment.flags import add_flags, add_options, flag_of, given_values
from keras_attn_pipelines.experiment.recipe_file import naming_recipe_file
from keras_attn_pipelines.recipes import load_recipe

PROGRAM = "keras-attn"
PLAIN = "\0"
"""Mark of an argument behind `--`; no argument of a program has this character."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; bad input ends with one line on standard error and exit code 2."""
    name, *given = _named(sys.argv[1:] if arguments is None else arguments)
    trains = name == "train"
    try:
        command = _command(name, given)
        if not trains:  # Services are TensorFlow graphs.
            os.environ["KERAS_BACKEND"] = "tensorflow"
        terminable = console.terminable() if trains else contextlib.nullcontext()
        with naming_recipe_file(), terminable:
            command.run()
    except BrokenPipeError:  # The reader of the pipe has closed it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except LostWorkerError as error:
        print(f"{PROGRAM}: {escape_terminal(str(error))}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(2)  # TensorFlow's threads still wait for the other worker.
    except (ValueError, ImportError, OSError) as error:
        print(f"{PROGRAM}: {_error_text(error)}", file=sys.stderr)
        return 2
    except Exception as error:
        if type(error).__name__ != "ResourceExhaustedError":  # By either interface.
            raise
        smaller = "smaller batches (--batch-size, --batch-tokens), a smaller model or beam may help"
        print(f"{PROGRAM}: out of memory; {smaller}\n{error!s:.300}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        again = ["rerun the same command to resume from the last checkpoint, if any"] * trains
        line = "; ".join([f"{PROGRAM}: stopped", *getattr(error, "__notes__", again)])
        print(f"\n{line}" if sys.stderr.isatty() else line, file=sys.stderr)
        return 128 + (signal.SIGTERM if isinstance(error, console.Terminated) else signal.SIGINT)
    return 0


def run_command_line() -> None:
    """The program `keras-attn`: `main` without the messages of native libraries."""
    console.run(main)


def _error_text(error):
    """The error's message; a system error's without its number."""
    if isinstance(error, ModuleNotFoundError) and error.name == "tensorflow":
        return "Expected the packages of pip install 'keras-attn[train]'. Received: no TensorFlow"
    has_file = isinstance(error, OSError) and error.filename is not None
    return escape_terminal(f"{error.filename}: {error.strerror}" if has_file else str(error))


def _named(arguments):
    """The arguments, of which the first is a command; help, version and others end the program."""
    if arguments and arguments[0] in COMMANDS:
        return arguments
    parser = _Parser(
        prog=PROGRAM,
        description="Attention models in Keras.",
        epilog="\n".join(["commands:", *map(_line, COMMANDS)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument("command", metavar="COMMAND", choices=list(COMMANDS), help="see below")
    if arguments and (matches := difflib.get_close_matches(arguments[0], COMMANDS, 1)):
        parser.error(f"no command {arguments[0]!r}; did you mean {matches[0]}?")
    parser.parse_args(arguments[:1])
    raise AssertionError("the parser ends the program")


def _line(name):
    return f"  {name:10} {COMMANDS[name].__doc__}"


def _command(name, arguments) -> Any:
    """A command with its options.

    Raises:
        ValueError: no such recipe, or a value out of its range.
    """
    kind = COMMANDS[name]
    parser = _Parser(prog=f"{PROGRAM} {name}", description=kind.__doc__, allow_abbrev=False)
    add_options(parser, kind)
    options: dict[str, Any] = {}
    if parts := getattr(kind, "parts", ()):
        parser.usage = f"{parser.prog} RECIPE --data PATH --out FOLDER [flags]"
        parser.epilog = f"flags of a recipe: {parser.prog} RECIPE --help"
        if arguments and not arguments[0].startswith("-"):
            options["experiment"] = load_recipe(arguments[0])
            add_flags(parser, options["experiment"], parts)
            parser.epilog = None
        elif not {"-h", "--help"} & set(arguments):
            parser.error(f"expected a recipe of '{PROGRAM} recipes' right after {name!r}")
    parsed, unknown = parser.parse_known_intermixed_args(_without_dashes(arguments))
    if unknown:
        hint = parser.hint(unknown[0])
        parser.error(f"unknown arguments: {' '.join(unknown).replace(PLAIN, '')}{hint}")
    own = {key: _as_given(value) for key, value in given_values(parsed, "").items()}
    if empty := [field for field in dataclasses.fields(kind) if own.get(field.name) == ""]:
        raise ValueError(f"Expected a value of {flag_of(empty[0])}. Received: an empty one")
    if parts:
        options["values"] = given_values(parsed)
    return kind(**own, **options)


def _without_dashes(arguments):
    """Arguments without `--`, and those behind it marked as values, which argparse forgets."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:end], *(f"{PLAIN}{value}" for value in arguments[end + 1 :])]


def _as_given(value):
    """A value, or a tuple of them, without the mark."""
    if isinstance(value, tuple):
        return tuple(map(_as_given, value))
    return value.removeprefix(PLAIN) if isinstance(value, str) else value


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, and what may have been meant."""

    def hint(self, flag):
        """The end of a message on an unknown flag: the one that it is most like."""
        name = flag.partition("=")[0]
        flags = [each for action in self._actions for each in action.option_strings]
        matches = difflib.get_close_matches(name, flags, 1) if name.startswith("--") else ()
        return f"; did you mean {matches[0]}?" if matches else ""

    def error(self, message):
        line = " ".join(f"{self.prog}: {message}; see {self.prog} --help".splitlines())
        self.exit(2, f"{escape_terminal(line)}\n")
