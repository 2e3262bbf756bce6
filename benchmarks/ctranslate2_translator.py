"""CTranslate2 in `transformer_speed`: the model of `torch_translator`, converted."""

import json
import subprocess
import sys

import ctranslate2

from benchmarks.translation_task import BEAM, GREEDY, SHOW, SINGLE, Task
from benchmarks.worker import serve


def make(settings):
    """The works."""
    task, folder = Task(**settings["task"]), settings["folder"]
    program = [sys.executable, "-m", "benchmarks.ctranslate2_conversion"]
    given = [json.dumps(settings["task"]), settings["weights"], folder]
    subprocess.run([*program, *given], check=True)  # torch would count in this process' memory.
    translator = ctranslate2.Translator(
        folder, compute_type=settings["kind"], intra_threads=task.cores, inter_threads=1
    )
    source = [list(map(str, row)) for row in task.sources().tolist()]

    def tokens(rows, beams):
        results = translator.translate_batch(
            source[:rows], beam_size=beams, max_decoding_length=task.target
        )
        return [list(map(int, result.hypotheses[0])) for result in results]

    return {
        GREEDY: lambda: len(tokens(task.batch, 1)[0]),
        BEAM: lambda: len(tokens(task.batch, 4)[0]),
        SINGLE: lambda: len(tokens(1, 1)[0]),
        SHOW: lambda: {GREEDY: tokens(task.batch, 1), BEAM: tokens(task.batch, 4)},
    }


if __name__ == "__main__":
    serve(make)
