"""How fast a Transformer of the paper's base shape translates and trains, beside other software.

Run as `python -m benchmarks.transformer_speed --peer-python PYTHON…`, Pythons with transformers and
torch, CTranslate2 or keras-hub; a peer that none of them has is left out. Vocabulary 8,000, greedy
and beam 4 of 32 sentences from 20 source tokens to 32 target tokens, greedy of one sentence, and a
training step of 64 pairs of 24 + 24 tokens with Adam, dropout 0.1. Each contender is a process of
its own with the same number of threads; a turn does a work with each of them. All but keras-hub's
BART have the same weights, and what they say is compared.

Rates are target tokens a second, medians over the turns; in brackets the median over the turns of
the contender's rate by keras-attn's. Memory is the most that the process has held. Where other
programs keep the processors busy, `--threads 1 --processor-time` still compares: seconds are those
that a process itself computed, not those that it waited.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import cores, in_turns, ratio, table
from benchmarks.translation_task import BEAM, DECODING, GREEDY, SHOW, TRAIN, Task
from benchmarks.worker import MEMORY, Worker

OURS, LOADED = "keras-attn", "keras-attn, SavedModel"
HEAD = ("what", *DECODING, TRAIN, "MiB decoding", "MiB training")


class Contender(NamedTuple):
    """A process to be measured.

    Attributes:
        name: as the table has it.
        package: what its Python must have; None for this Python.
        module: that serves.
        decoding, training: settings, or None where it does not do that.
    """

    name: str
    package: str | None
    module: str
    decoding: dict[str, Any] | None
    training: dict[str, Any] | None


def contenders(folder: Path) -> list[Contender]:
    """All that there are; files go to the folder."""
    ours, torch, converted, hub = (
        f"benchmarks.{name}_translator" for name in ("our", "torch", "ctranslate2", "keras_hub")
    )

    def policy(name):
        return {"policy": name}, {"policy": name, "training": True}

    kinds = ("float32", "int8")
    return [
        Contender(OURS, None, ours, *policy("float32")),
        Contender(LOADED, None, ours, {"exported": str(folder / "saved")}, None),
        Contender("keras-attn, XLA", None, ours, {"policy": "float32", "compiled": True}, None),
        Contender("keras-attn, bfloat16", None, ours, *policy("mixed_bfloat16")),
        Contender("transformers on torch", "transformers", torch, *policy("float32")),
        Contender("transformers on torch, bfloat16", "transformers", torch, *policy("bfloat16")),
        *(
            Contender(
                f"CTranslate2, {kind}",
                "ctranslate2",
                converted,
                {"kind": kind, "folder": str(folder / kind)},
                None,
            )
            for kind in kinds
        ),
        Contender("keras-hub's BART", "keras_hub", hub, *policy("float32")),
    ]


def python_with(package, pythons):
    """The first Python that has a package, or None."""
    for python in pythons:
        code = f"import importlib.util; assert importlib.util.find_spec({package!r})"
        if not subprocess.run([python, "-c", code], capture_output=True).returncode:
            return python
    return None


def say(line):
    """Progress, to standard error."""
    print(line, file=sys.stderr, flush=True)


class Race:
    """All contenders that there are, on one task.

    Args:
        task: `Task`.
        folder: path for weights, saved models and logs.
        pythons: of peers.
        left_out: names of contenders that do not take part.
        processor_time: bool. Whether seconds are those that a process computed, of all threads.
    """

    def __init__(self, task, folder, pythons, left_out=(), processor_time=False):
        self.processor_time = processor_time
        self.task, self.folder, self.found = task, Path(folder), []
        self.weights = str(self.folder / "weights.npz")
        np.savez(self.weights, **task.weights())
        self.pythons = {}
        for one in contenders(self.folder):
            python = python_with(one.package, pythons) if one.package else sys.executable
            if python is None:
                say(f"{one.name}: left out, no Python given has {one.package}")
            elif one.name not in left_out:
                self.found.append(one)
                self.pythons[one.name] = python

    @contextlib.contextmanager
    def workers(self, training):
        """dict from name to `Worker`."""
        with contextlib.ExitStack() as stack:
            running = {}
            for place, one in enumerate(self.found):
                own = one.training if training else one.decoding
                if own is None:
                    continue
                say(f"{one.name}: starting")
                settings = self.task.settings(weights=self.weights, **own)
                log = self.folder / f"{place}-{training}.log"
                worker = Worker(self.pythons[one.name], one.module, settings, log)
                running[one.name] = stack.enter_context(worker)
            yield running

    def run(self, repeats, works=(*DECODING, TRAIN)):
        """seconds by work and name, MiB by name of decoding and of training, tokens by name."""
        seconds, memory, shown = {}, ({}, {}), {}
        for training in (False, True):
            chosen = [work for work in works if (work == TRAIN) == training]
            if not chosen:
                continue
            with self.workers(training) as running:
                for work in chosen:
                    seconds[work] = self._seconds(running, work, repeats)
                    for name, found in seconds[work].items():
                        say(f"{work}: {name} {self.task.tokens(work) / np.median(found):.0f}/s")
                for name, worker in running.items():
                    if SHOW in worker.works:
                        _, shown[name] = worker.do(SHOW)
                    _, memory[training][name] = worker.do(MEMORY)
        return seconds, memory, shown

    def _seconds(self, running, work, repeats):
        """dict from name to float (repeats,)."""
        spent = {name: [] for name in running}

        def turn(name):
            return lambda: spent[name].append(running[name].do(work)[0])

        waited = in_turns({name: turn(name) for name in running}, repeats)
        if not self.processor_time:
            return waited
        return {name: np.array(found[1:]) for name, found in spent.items()}

    def shown(self, seconds, memory):
        """The table."""
        rows = []
        for one in self.found:
            rates = [self._rate(seconds.get(work, {}), work, one.name) for work in HEAD[1:5]]
            held = (found.get(one.name) for found in memory)
            rows.append([one.name, *rates, *("" if m is None else f"{m:.0f}" for m in held)])
        return table(HEAD, rows)

    def _rate(self, seconds, work, name):
        if name not in seconds:
            return ""
        rate = self.task.tokens(work) / np.median(seconds[name])
        if name == OURS or OURS not in seconds:
            return f"{rate:.0f}"
        return f"{rate:.0f} ({ratio(seconds[OURS], seconds[name]):.2f})"


def agreement(shown):
    """Lines that say for how many sentences the contenders say what keras-attn does."""
    lines = []
    for name, found in shown.items():
        if name != OURS and OURS in shown:
            same = {
                work: np.mean([a == b for a, b in zip(shown[OURS][work], found[work])])
                for work in (GREEDY, BEAM)
            }
            shares = ", ".join(f"{work} {share:.0%}" for work, share in same.items())
            lines.append(f"{name} says what {OURS} does: {shares}")
    return "\n".join(lines)


def main(arguments=None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", metavar="PYTHON", nargs="+", default=[], help="for peers")
    parser.add_argument("--repeats", type=int, default=7, help="turns (default: 7)")
    parser.add_argument("--leave-out", metavar="NAME", nargs="+", default=[], help="contenders")
    parser.add_argument(
        "--works", nargs="+", choices=(*DECODING, TRAIN), default=(*DECODING, TRAIN)
    )
    parser.add_argument("--threads", type=int, default=cores(), help="default: all cores")
    parser.add_argument("--processor-time", action="store_true", help="instead of the clock's")
    known = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        race = Race(
            Task(cores=known.threads),
            folder,
            known.peer_python,
            known.leave_out,
            known.processor_time,
        )
        seconds, memory, shown = race.run(known.repeats, known.works)
    clock = "processor time" if known.processor_time else "the clock's time"
    print(f"{known.threads} threads, {known.repeats} turns, {clock}\n")
    print(race.shown(seconds, memory), end="\n\n")
    print(agreement(shown))


if __name__ == "__main__":
    main()
