"""How fast pictures are read through affine maps, beside torch and kornia.

Run as `python -m benchmarks.sampling_speed --peer-python PYTHON…`, Pythons with torch, or torch and
kornia; a peer that none of them has is left out. A work goes from θ to pictures of the same size,
bilinearly with zeros outside, or on to the gradients to the pictures and θ, five times. Each
contender is a process of its own for each size, with the same number of threads and channels last;
torch reads by `affine_grid` and `grid_sample`, kornia by `warp_affine`.

Times are milliseconds a call, medians over the turns; in brackets the median over the turns of the
time by keras-attn's under XLA. MiB are the most that the process held, the interpreter and the
libraries with it.
"""

import argparse
import tempfile

import numpy as np

from benchmarks.race import OURS, Contender, Race
from benchmarks.sampling_task import CALLS, Task
from benchmarks.timing import ratio, table
from keras_attn.cores import cores


def contenders(task) -> list[Contender]:
    """All that there are."""

    def sizes(**more):
        return {size: {"size": size, **more} for size in task.sizes()}

    ours, torch = "benchmarks.our_sampling", "benchmarks.torch_sampling"
    return [
        Contender(OURS, None, ours, sizes(jit=True)),
        Contender(f"{OURS}, no XLA", None, ours, sizes(jit=False)),
        Contender("torch", "torch", torch, sizes(kornia=False)),
        Contender("kornia", "kornia", torch, sizes(kornia=True)),
    ]


def compare(task, pythons, repeats) -> str:
    """The table."""
    phases = {size: task.works(size) for size in task.sizes()}
    with tempfile.TemporaryDirectory() as folder:
        race = Race(task, folder, contenders(task), pythons)
        seconds, memory, _ = race.run(repeats, phases)
    head = ("what", *seconds, *(f"{size}, MiB" for size in memory))
    return table(head, list(_rows(race, seconds, memory)))


def _rows(race, seconds, memory):
    for contender in race.contenders:
        name, cells = contender.name, []
        for own in seconds.values():
            cell = f"{1000 * np.median(own[name]) / CALLS:.1f}"
            beside = "" if name == OURS else f" ({ratio(own[name], own[OURS]):.2f})"
            cells.append(cell + beside)
        yield [name, *cells, *(f"{held[name]:.0f}" for held in memory.values())]


def main(arguments=None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", metavar="PYTHON", nargs="+", default=[], help="for peers")
    parser.add_argument("--repeats", type=int, default=7, help="turns (default: 7)")
    parser.add_argument("--threads", type=int, default=cores(), help="default: all cores")
    known = parser.parse_args(arguments)
    markdown = compare(Task(known.threads), known.peer_python, known.repeats)
    print(f"{known.threads} threads, {known.repeats} turns\n\n{markdown}")


if __name__ == "__main__":
    main()
