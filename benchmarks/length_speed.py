"""How the rate of a Transformer's decoding falls with the length of its answers.

Run as `python -m benchmarks.length_speed --peer-python PYTHON…`, as `transformer_speed`, whose
contenders and works of decoding these are, for answers of 16 to 1,024 tokens to 20 source tokens.
A table for each work has target tokens a second by length, medians over the turns, and in brackets
the median over the turns of the contender's rate by keras-attn's.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.race import Race, race_command
from benchmarks.timing import table
from benchmarks.transformer_speed import DECODE, contenders
from benchmarks.translation_task import DECODING, Task
from keras_attn.whole_file import made_folder

LENGTHS = (16, 32, 64, 128, 256, 512, 1024)


def compare(task, options, folder, lengths=LENGTHS) -> str:
    """A table for each work; weights are written to the folder."""
    weights, rates = str(Path(folder) / "weights.npz"), {}
    np.savez(weights, **task.weights())
    for length in lengths:
        place = made_folder(Path(folder) / str(length))
        chosen = contenders(place, weights)
        race = Race(replace(task, target=length), chosen, options, place)
        results = race.run({DECODE: DECODING})
        for work in results.seconds:
            for name, *_ in race.contenders:
                cells = rates.setdefault(work, {}).setdefault(name, [])
                cells.append(race.rate(results.seconds[work], work, name))
    head = ("what", *map(str, lengths))
    tables = {
        work: table(head, [[name, *cells] for name, cells in by_name.items()])
        for work, by_name in rates.items()
    }
    return "\n\n".join(f"{work}:\n\n{made}" for work, made in tables.items())


if __name__ == "__main__":
    race_command(__doc__, Task, compare, repeats=3, works=DECODING)
