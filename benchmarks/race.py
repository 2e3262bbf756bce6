"""Contenders, each a process of its own, that do the same works in turns."""

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import in_turns, ratio
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


def say(line):
    """Progress, to standard error."""
    print(line, file=sys.stderr, flush=True)


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
        task: has `settings(**more)`, the JSON object of a worker, and `items(work)`, how many a
            work makes.
        folder: path for logs.
        contenders: list of `Contender`.
        pythons: of peers.
        left_out: names of contenders that do not take part.
        processor_time: bool. Whether seconds are those that a process computed, of all threads.
    """

    def __init__(self, task, folder, contenders, pythons, left_out=(), processor_time=False):
        self.task, self.folder = task, Path(folder)
        self.processor_time = processor_time
        self.contenders, self.pythons = [], {}
        for contender in contenders:
            python = (
                python_with(contender.package, pythons) if contender.package else sys.executable
            )
            if python is None:
                say(f"{contender.name}: left out, no Python given has {contender.package}")
            elif contender.name not in left_out:
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
                settings = self.task.settings(**contender.settings[phase])
                log = self.folder / f"{place}-{phase}.log"
                worker = Worker(self.pythons[contender.name], contender.module, settings, log)
                running[contender.name] = stack.enter_context(worker)
            yield running

    def run(self, repeats, phases, show=None):
        """Measures.

        Args:
            repeats: int ≥ 1. Turns.
            phases: dict from phase to its works; a phase without works is left out.
            show: a work whose answers are kept and not measured, or None.

        Returns:
            seconds: dict by work and name of float (repeats,).
            memory: dict by phase and name of MiB.
            shown: dict by name of what `show` returned.
        """
        seconds, memory, shown = {}, {}, {}
        for phase, works in phases.items():
            if not works:
                continue
            with self.workers(phase) as running:
                for work in works:
                    able = {name: value for name, value in running.items() if work in value.works}
                    seconds[work] = self._seconds(able, work, repeats)
                    for name, times in seconds[work].items():
                        say(f"{work}: {name} {self.task.items(work) / np.median(times):.1f}/s")
                for name, worker in running.items():
                    if show in worker.works:
                        _, shown[name] = worker.do(show)
                    _, memory.setdefault(phase, {})[name] = worker.do(MEMORY)
        return seconds, memory, shown

    def _seconds(self, running, work, repeats):
        """dict from name to float (repeats,)."""
        spent = {name: [] for name in running}

        def turn(name):
            return lambda: spent[name].append(running[name].do(work)[0])

        waited = in_turns({name: turn(name) for name in running}, repeats)
        if not self.processor_time:
            return waited
        return {name: np.array(times[1:]) for name, times in spent.items()}

    def rate(self, seconds, work, name, digits=0):
        """A cell: what a contender makes in a second, and in brackets its rate by keras-attn's."""
        if name not in seconds.get(work, {}):
            return ""
        own = seconds[work]
        rate = f"{self.task.items(work) / np.median(own[name]):.{digits}f}"
        if name == OURS or OURS not in own:
            return rate
        return f"{rate} ({ratio(own[OURS], own[name]):.2f})"
