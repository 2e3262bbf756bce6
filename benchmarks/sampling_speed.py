"""How fast pictures are read through affine maps, beside torch and kornia.

Run as `python -m benchmarks.sampling_speed --peer-python PYTHON…`, Pythons with torch, or torch and
kornia; a peer that none of them has is left out. A work goes from θ to pictures of the same size,
bilinearly with zeros outside, or on to the gradients to the pictures and θ, five times. Each
contender is a process of its own for each size, with the same number of threads and channels last;
torch reads by `affine_grid` and `grid_sample`, kornia by `warp_affine`.

Times are milliseconds a call, medians over the turns; in brackets the median over the turns of the
time by keras-attn's under XLA. MiB are the most that the process held, the interpreter and the
libraries with it. This module needs NumPy alone.
"""

from dataclasses import dataclass, field

import numpy as np

from benchmarks.race import OURS, Contender, Race, Results, megabytes, race_command
from benchmarks.timing import ratio, table

FORWARD, GRADIENTS = "forward", "with gradients"
CALLS = 5


@dataclass(frozen=True)
class Task:
    """Every picture read through an affine map of its own, bilinearly, with zeros outside.

    Attributes:
        cores: int. Threads that a contender may use.
        shapes: list of (B, H, W, C).
    """

    cores: int = 2
    shapes: list[tuple[int, ...]] = field(
        default_factory=lambda: [(32, 64, 64, 32), (32, 224, 224, 3), (8, 512, 512, 3)]
    )

    def sizes(self):
        """dict from a size's name to its shape."""
        return {"×".join(map(str, shape)): tuple(shape) for shape in self.shapes}

    def works(self, size):
        """Names of the works of a size."""
        return [f"{size}, {kind}" for kind in (FORWARD, GRADIENTS)]

    def items(self, work):
        """Calls of a work."""
        return CALLS

    def arrays(self, size):
        """images float32 (B, H, W, C), θ (B, 2, 3), and what gradients begin with, as images."""
        random, shape = np.random.default_rng(1), self.sizes()[size]
        images, upstream = (random.normal(size=shape).astype("float32") for _ in range(2))
        theta = np.array([[0.9, 0.1, 0.05], [-0.1, 0.8, 0.1]])
        theta = theta + 0.05 * random.normal(size=(shape[0], 2, 3))
        return images, theta.astype("float32"), upstream


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


def measured(task, options, folder) -> tuple[Race, Results]:
    """The race and its results."""
    race = Race(task, contenders(task), options, folder)
    return race, race.run({size: task.works(size) for size in task.sizes()})


def compare(task, options, folder) -> str:
    """The table."""
    race, results = measured(task, options, folder)
    head = ("what", *results.seconds, *(f"{size}, MiB" for size in results.memory))
    return table(head, [_row(name, results) for name, *_ in race.contenders])


def _row(name, results):
    cells = []
    for seconds in results.seconds.values():
        cell = f"{1000 * np.median(seconds[name]) / CALLS:.1f}"
        beside = "" if name == OURS else f" ({ratio(seconds[name], seconds[OURS]):.2f})"
        cells.append(cell + beside)
    return [name, *cells, *(megabytes(results, size, name) for size in results.memory)]


if __name__ == "__main__":
    race_command(__doc__, Task, compare)
