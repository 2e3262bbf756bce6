"""A process that does named works on request, for measuring other software in turns.

It needs Python alone, so that a peer's process can import it wherever the peer is installed. The
first line of standard input is a JSON object, its settings; each further line is the name of a
work, which is answered with one line of JSON: the seconds of processor time that it took, of all
threads and of the processes that it waited for, and what it returned. Whatever else is printed goes
to standard error.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.processes import peak, processor_seconds

MEMORY = "memory"
ROOT = Path(__file__).resolve().parents[1]


def serve(make, kind=None, set_threads=None):
    """Answers standard input until it ends.

    Args:
        make: function of the settings, as keyword arguments, to a dict of functions by name; what
            they return is JSON.
        kind: class of the setting `task`, which `make` gets first; None: there is no task.
        set_threads: function of the threads that the task allows, or None.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.readline())
    tasks = [kind(**settings.pop("task"))] if kind else []
    if set_threads:
        set_threads(tasks[0].cores)
    works = make(*tasks, **settings)
    _answer(answers, sorted(works))
    for line in sys.stdin:
        name, begin = line.strip(), processor_seconds()
        answer = peak() if name == MEMORY else works[name]()
        _answer(answers, (processor_seconds() - begin, answer))


def _answer(answers, answer):
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


class Worker:
    """A process that serves, to be used as a context.

    Args:
        python: path of the interpreter.
        module: name of a module of this repository that calls `serve`.
        settings: JSON object.
        log: path of the file for its standard error.

    Raises:
        RuntimeError: the process ended, with the end of its standard error.
    """

    def __init__(self, python, module, settings, log):
        self.log = Path(log)
        with self.log.open("w") as errors:
            self.process = subprocess.Popen(
                [python, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
            )
        self.works = self._ask(json.dumps(settings))

    def do(self, work):
        """Seconds of processor time that a work took, and what it returned."""
        return self._ask(work)

    def _ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.process.wait()
            end = self.log.read_text()[-2000:]
            raise RuntimeError(f"Expected an answer to {line[:40]!r}. Received: {end}")
        return json.loads(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
