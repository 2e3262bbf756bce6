"""Restricted self-attention beside full attention under the same band mask, by sequence length.

Run as `python -m benchmarks.restricted_attention --out restricted.png`. Prints a table of seconds
and peak memory of one forward pass (a head of 64, one sequence, float32, in a graph), each
measured in a process of its own, and draws it as curves. Memory is what the process' peak
rises by from the pass on a short sequence to the pass on the long one.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.timing import table
from keras_attn.cores import cores

LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
FULL, RESTRICTED = "full", "restricted"
UNITS = 64
MEBI = 2**20


class Cost(NamedTuple):
    """Of one pass.

    Attributes:
        seconds: the fastest of the repeats.
        memory: MiB.
    """

    seconds: float
    memory: float


def peak() -> float:
    """MiB that this process has held at most."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / MEBI


def measure(kind: str, length: int, radius: int, repeats: int) -> Cost:
    """The cost in this process, which should be a fresh one."""
    import tensorflow as tf

    from keras_attn.ops.attend import attend
    from keras_attn.ops.restricted_attention import band_mask, restricted_attention
    from keras_attn.ops.scores import scaled_dot_score

    @tf.function(reduce_retracing=True)
    def context(inputs):
        if kind == RESTRICTED:
            return restricted_attention(inputs, inputs, inputs, radius)[0]
        mask = band_mask(tf.shape(inputs)[2], radius)
        return attend(scaled_dot_score(inputs, inputs), inputs, mask)[0]

    random = np.random.default_rng(0)
    for size in (3, 5):
        context(tf.zeros((1, 1, size, UNITS)))
    inputs = tf.constant(random.normal(size=(1, 1, length, UNITS)), "float32")
    before, seconds = peak(), []
    for _ in range(repeats):
        begin = time.perf_counter()
        context(inputs).numpy()
        seconds.append(time.perf_counter() - begin)
    return Cost(min(seconds), peak() - before)


def in_its_own_process(kind: str, length: int, radius: int, repeats: int) -> Cost:
    """As `measure`."""
    command = [sys.executable, "-m", "benchmarks.restricted_attention", "--one", kind]
    command += ["--lengths", str(length), "--radius", str(radius), "--repeats", str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def compare(lengths: Sequence[int], radius: int, repeats: int) -> dict[str, list[Cost]]:
    """Costs of both kinds, by length."""
    costs: dict[str, list[Cost]] = {FULL: [], RESTRICTED: []}
    for length in lengths:
        for kind, kind_costs in costs.items():
            kind_costs.append(in_its_own_process(kind, length, radius, repeats))
    return costs


def shown(lengths: Sequence[int], costs: dict[str, list[Cost]]) -> str:
    """The table."""
    head = ("n", "full, ms", "restricted, ms", "full, MiB", "restricted, MiB")
    rows = [
        (
            f"{length:,}",
            *(f"{1000 * cost.seconds:.1f}" for cost in pair),
            *(f"{cost.memory:.0f}" for cost in pair),
        )
        for length, *pair in zip(lengths, costs[FULL], costs[RESTRICTED])
    ]
    return table(head, rows)


def draw(lengths: Sequence[int], costs: dict[str, list[Cost]], path: Path) -> None:
    """Both curves over the length, as a PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    for axes, name, unit in zip(figure.subplots(1, 2), Cost._fields, ("s", "MiB")):
        for kind, kind_costs in costs.items():
            axes.plot(
                lengths,
                [max(getattr(cost, name), 1e-6) for cost in kind_costs],
                marker="o",
                label=kind,
            )
        axes.set(xlabel="n (positions)", ylabel=unit, xscale="log", yscale="log")
        axes.set_title({"seconds": "time of a pass", "memory": "peak memory of a pass"}[name])
        axes.set_xticks(lengths, [str(length) for length in lengths], minor=False)
        axes.minorticks_off()
        axes.legend()
    figure.savefig(path)


def main(arguments=None) -> None:
    """Prints the table and draws the curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="PNG to write")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, metavar="N")
    parser.add_argument("--radius", type=int, default=64, help="default: 64")
    parser.add_argument("--repeats", type=int, default=3, help="passes (default: 3)")
    parser.add_argument("--one", choices=(FULL, RESTRICTED), help=argparse.SUPPRESS)
    known = parser.parse_args(arguments)
    if known.one:
        print(json.dumps(measure(known.one, known.lengths[0], known.radius, known.repeats)))
        return
    costs = compare(known.lengths, known.radius, known.repeats)
    print(f"{cores()} cores, radius {known.radius}\n\n{shown(known.lengths, costs)}")
    if known.out:
        draw(known.lengths, costs, known.out)


if __name__ == "__main__":
    main()
