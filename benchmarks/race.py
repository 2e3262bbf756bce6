"""Contenders, each a process of its own, that do the same works in turns; the command for it.

It needs NumPy alone, so that peers can import a task that stands beside its race.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import answers_in_turns, clocked, ratio, table
from benchmarks.worker import MEMORY, Worker

OURS = "keras-attn"


class Contender(NamedTuple):
    """A process to be measured.

    Attributes:
        name: as the table has it.
        package: what its Python must have; None for this Python.
        module: that serves.
        settings: dict from the name of a phase to a JSON object, for the phases it takes part in.
    """

    name: str
    package: str | None
    module: str
    settings: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Options:
    """How a race is run.

    Attributes:
        repeats: int ≥ 1. Turns.
        pythons: of peers, the first that has a peer's package runs it.
        left_out: names of contenders that do not take part.
        processor_time: whether seconds are those that a process computed, of all threads.
        works: names of the works that are done; None: all.
    """

    repeats: int
    pythons: Sequence[str] = (sys.executable,)
    left_out: Sequence[str] = ()
    processor_time: bool = False
    works: Sequence[str] | None = None


class Results(NamedTuple):
    """What was measured.

    Attributes:
        seconds: dict by work and name of float (repeats,).
        memory: dict by phase and name of MiB.
        answers: dict by name of what the work that is not measured returned.
    """

    seconds: dict[str, dict[str, np.ndarray]]
    memory: dict[str, dict[str, float]]
    answers: dict[str, Any]


def say(text):
    """Progress, to standard error."""
    print(text, file=sys.stderr, flush=True)


def python_with(package, pythons):
    """The first Python that has a package, or None."""
    for python in pythons:
        code = f"import importlib.util; assert importlib.util.find_spec({package!r})"
        if not subprocess.run([python, "-c", code], capture_output=True).returncode:
            return python
    return None


class Race:
    """All contenders that there are, on one task.

    Args:
        task: dataclass of sizes with `cores`, the threads of a contender, and `items(work)`, how
            many a work makes.
        contenders: list of `Contender`.
        options: `Options`.
        folder: path for logs.
    """

    def __init__(self, task, contenders, options, folder):
        self.task, self.options, self.folder = task, options, Path(folder)
        self.contenders, self.pythons = [], {}
        for contender in contenders:
            package, python = contender.package, sys.executable
            if package is not None:
                python = python_with(package, options.pythons)
            if python is None:
                say(f"{contender.name}: left out, no Python given has {package}")
            elif contender.name not in options.left_out:
                self.contenders.append(contender)
                self.pythons[contender.name] = python

    @contextlib.contextmanager
    def workers(self, phase):
        """dict from name to `Worker`, of those that take part in a phase."""
        with contextlib.ExitStack() as stack:
            running = {}
            for place, contender in enumerate(self.contenders):
                if phase not in contender.settings:
                    continue
                say(f"{contender.name}: starting")
                settings = {"task": asdict(self.task), **contender.settings[phase]}
                log = self.folder / f"{place}-{phase}.log"
                worker = Worker(self.pythons[contender.name], contender.module, settings, log)
                running[contender.name] = stack.enter_context(worker)
            yield running

    def run(self, phases, show=None) -> Results:
        """Measures.

        Args:
            phases: dict from phase to its works; a phase without works is left out.
            show: a work whose answers are wanted and not measured, or None.
        """
        results = Results({}, {}, {})
        for phase, works in phases.items():
            if self.options.works is not None:
                works = [work for work in works if work in self.options.works]
            if not works:
                continue
            with self.workers(phase) as running:
                for work in works:
                    able = {name: value for name, value in running.items() if work in value.works}
                    results.seconds[work] = self._seconds(able, work)
                    for name, seconds in results.seconds[work].items():
                        say(f"{work}: {name} {self.task.items(work) / np.median(seconds):.1f}/s")
                for name, worker in running.items():
                    if show in worker.works:
                        _, results.answers[name] = worker.do(show)
                    _, results.memory.setdefault(phase, {})[name] = worker.do(MEMORY)
        return results

    def _seconds(self, running, work):
        """dict from name to float (repeats,)."""

        def seconds(worker):
            if self.options.processor_time:
                return lambda: worker.do(work)[0]
            return clocked(lambda: worker.do(work))

        works = {name: seconds(worker) for name, worker in running.items()}
        answers = answers_in_turns(works, self.options.repeats)
        return {name: np.array(times) for name, times in answers.items()}

    def table(self, results, works, digits=0, held=None) -> str:
        """What each contender makes in a second, and in brackets its rate by keras-attn's.

        Args:
            results: `Results`.
            works: names of the columns.
            digits: int. Of a rate, after the point.
            held: dict from phases to the heads of columns with their MiB.
        """
        held = held or {}
        rows = [
            [
                name,
                *(self.rate(results.seconds.get(work, {}), work, name, digits) for work in works),
                *(megabytes(results, phase, name) for phase in held),
            ]
            for name, *_ in self.contenders
        ]
        return table(("what", *works, *held.values()), rows)

    def rate(self, seconds, work, name, digits=0) -> str:
        """A cell, by a work's seconds by name."""
        if name not in seconds:
            return ""
        rate = f"{self.task.items(work) / np.median(seconds[name]):.{digits}f}"
        if name == OURS or OURS not in seconds:
            return rate
        return f"{rate} ({ratio(seconds[OURS], seconds[name]):.2f})"


def megabytes(results, phase, name) -> str:
    """A cell: MiB of a contender in a phase; empty where it had no part in it."""
    held = results.memory.get(phase, {})
    return f"{held[name]:.0f}" if name in held else ""


def race_command(
    description: str, kind: Callable, compare: Callable, repeats: int = 7, works: Sequence[str] = ()
) -> None:
    """The command line of a race: prints how it was run, and the table.

    Args:
        description: what `--help` says.
        kind: function of `cores`, the threads of a contender, to the task.
        compare: function of the task, `Options` and a folder for logs, to the text to print.
        repeats: int ≥ 1. Turns, unless said otherwise.
        works: names of the works of which some can be asked for; none: all are always done.
    """
    from keras_attn.cores import cores  # Its package imports Keras, which peers do not need.

    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--peer-python", metavar="PYTHON", nargs="+", default=[], help="for peers")
    parser.add_argument("--repeats", type=int, default=repeats, help=f"turns (default: {repeats})")
    parser.add_argument("--leave-out", metavar="NAME", nargs="+", default=[], help="contenders")
    parser.add_argument("--threads", type=int, default=cores(), help="default: all cores")
    parser.add_argument("--processor-time", action="store_true", help="instead of the clock's")
    parser.add_argument(
        "--task", metavar="FIELD=NUMBER", nargs="+", default=[], help="other sizes, such as batch=4"
    )
    if works:
        parser.add_argument("--works", nargs="+", choices=works, default=works)
    given = parser.parse_args()
    pythons = (*given.peer_python, sys.executable)
    chosen = given.works if works else None
    options = Options(given.repeats, pythons, given.leave_out, given.processor_time, chosen)
    pairs = (text.partition("=") for text in given.task)
    try:
        task = kind(cores=given.threads, **{name: int(number) for name, _, number in pairs})
    except (TypeError, ValueError) as error:
        parser.error(f"argument --task: {error}")
    with tempfile.TemporaryDirectory() as folder:
        text = compare(task, options, folder)
    clock = "processor time" if given.processor_time else "the clock's time"
    print(f"{given.threads} threads, {given.repeats} turns, {clock}\n\n{text}")
