"""The complexity table of "Attention is all you need", measured: four kinds of layers by n and d.

Run as `python -m benchmarks.layer_complexity --out complexity.png`. Prints a table of milliseconds
and peak memory of one forward pass over one sequence of n positions of width d (float32, in a
graph), each measured in a process of its own, beside the numbers of operations that the paper's
Table 1 says, sequential operations and path length; and draws time by n, with the table's growth as
dashed lines through the last point. The layers are single-headed self-attention, the same
restricted to r neighbors on each side, a GRU and a convolution of width k, without projections
around them. Memory is what the process' peak rises by from a pass over a short sequence.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.restricted_attention import Cost, peak
from benchmarks.timing import table
from keras_attn.cores import cores

LENGTHS, WIDTHS = (64, 256, 1024, 4096, 16384), (64, 256, 1024)
RADIUS, KERNEL = 64, 3
SHORT = 5


class Kind(NamedTuple):
    """A kind of layer, as in the paper's table.

    Attributes:
        order: its operations, in words.
        operations: multiplications of n and d.
        sequential: operations that have to wait for each other.
        path: longest path between two positions.
    """

    order: str
    operations: Callable[[int, int], float]
    sequential: Callable[[int], int]
    path: Callable[[int], int]


KINDS = {
    "self-attention": Kind("n²d", lambda n, d: 2 * n * n * d, lambda n: 1, lambda n: 1),
    "restricted": Kind(
        "rnd",
        lambda n, d: 2 * min(n, 2 * RADIUS + 1) * n * d,
        lambda n: 1,
        lambda n: math.ceil(n / RADIUS),
    ),
    "recurrent": Kind("nd²", lambda n, d: 6 * n * d * d, lambda n: n, lambda n: n),
    "convolution": Kind(
        "knd²",
        lambda n, d: KERNEL * n * d * d,
        lambda n: 1,
        lambda n: math.ceil(n / (KERNEL // 2)),
    ),
}
COMMAND = ["-m", "benchmarks.layer_complexity"]


def layer(kind: str, width: int) -> Callable:
    """A function of inputs float (1, n, d)."""
    from keras_attn.layers import ContextGRUCell, MaskedConvolution
    from keras_attn.ops.attend import attend
    from keras_attn.ops.recurrent import masked_recurrence
    from keras_attn.ops.restricted_attention import restricted_attention
    from keras_attn.ops.scores import scaled_dot_score

    if kind == "self-attention":
        return lambda inputs: attend(scaled_dot_score(inputs, inputs), inputs)[0]
    if kind == "restricted":
        return lambda inputs: restricted_attention(
            inputs[:, None], inputs[:, None], inputs[:, None], RADIUS
        )[0]
    if kind == "convolution":
        return MaskedConvolution(width, KERNEL)
    cell = ContextGRUCell(width)
    cell.build((None, width))

    def recurrent(inputs):
        state = cell.state_of([inputs[:, 0] * 0])
        return masked_recurrence(cell.step, cell.project(inputs), state)[0]

    return recurrent


def measure(kind: str, length: int, width: int, repeats: int) -> Cost:
    """The cost in this process, which should be a fresh one."""
    import tensorflow as tf

    run = tf.function(layer(kind, width), reduce_retracing=True)
    random = np.random.default_rng(0)
    for size in (SHORT, SHORT + 2):
        run(tf.zeros((1, size, width)))
    inputs = tf.constant(random.normal(size=(1, length, width)), "float32")
    before, seconds = peak(), []
    for _ in range(repeats):
        begin = time.perf_counter()
        run(inputs).numpy()
        seconds.append(time.perf_counter() - begin)
    return Cost(min(seconds), peak() - before)


def in_its_own_process(kind: str, length: int, width: int, repeats: int) -> Cost:
    """As `measure`."""
    command = [sys.executable, *COMMAND, "--one", kind, "--repeats", str(repeats)]
    command += ["--lengths", str(length), "--widths", str(width)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def shown(costs: dict[tuple[int, int], dict[str, Cost]]) -> str:
    """The measured table."""
    head = ["n", "d", *(f"{kind} O({KINDS[kind].order}), ms" for kind in KINDS)]
    head += [f"{kind}, MiB" for kind in KINDS]
    rows = []
    for (length, width), kinds in costs.items():
        times = [
            f"{1000 * kinds[name].seconds:.1f} ({kind.operations(length, width) / 1e6:,.0f}M)"
            for name, kind in KINDS.items()
        ]
        rows.append(
            [f"{length:,}", f"{width:,}", *times, *(f"{kinds[kind].memory:.0f}" for kind in KINDS)]
        )
    return table(head, rows)


def waits(lengths: Sequence[int]) -> str:
    """The table of sequential operations and path lengths."""
    head = ["n", *(f"{kind}: sequential, path" for kind in KINDS)]
    rows = [
        [f"{n:,}", *(f"{kind.sequential(n):,}, {kind.path(n):,}" for kind in KINDS.values())]
        for n in lengths
    ]
    return table(head, rows)


def draw(costs: dict[tuple[int, int], dict[str, Cost]], path: Path) -> None:
    """Time by n, a panel for each d, as a PNG."""
    from matplotlib.figure import Figure

    lengths = sorted({length for length, _ in costs})
    widths = sorted({width for _, width in costs})
    figure = Figure(figsize=(4.2 * len(widths), 3.8), layout="constrained")
    panels = figure.subplots(1, len(widths), sharey=True, squeeze=False)[0]
    for axes, width in zip(panels, widths):
        for color, (name, kind) in enumerate(KINDS.items()):
            seconds = [costs[length, width][name].seconds for length in lengths]
            operations = np.array([kind.operations(length, width) for length in lengths])
            label = f"{name}, O({kind.order})"
            axes.plot(lengths, seconds, marker="o", color=f"C{color}", label=label)
            growth = seconds[-1] * operations / operations[-1]
            axes.plot(lengths, growth, "--", color=f"C{color}", linewidth=0.8)
        axes.set(xlabel="n (positions)", xscale="log", yscale="log", title=f"d = {width}")
        axes.set_xticks(lengths, [str(length) for length in lengths], minor=False)
        axes.minorticks_off()
    panels[0].set_ylabel("seconds of a pass")
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def main(arguments=None) -> None:
    """Prints both tables and draws the curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="PNG to write")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, metavar="N")
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS, metavar="D")
    parser.add_argument("--repeats", type=int, default=5, help="passes (default: 5)")
    parser.add_argument("--one", choices=tuple(KINDS), help=argparse.SUPPRESS)
    known = parser.parse_args(arguments)
    if known.one:
        print(json.dumps(measure(known.one, known.lengths[0], known.widths[0], known.repeats)))
        return
    costs = {
        (length, width): {
            kind: in_its_own_process(kind, length, width, known.repeats) for kind in KINDS
        }
        for width in known.widths
        for length in known.lengths
    }
    print(f"{cores()} cores, r = {RADIUS}, k = {KERNEL}; in brackets multiplications\n")
    print(f"{shown(costs)}\n\n{waits(known.lengths)}")
    if known.out:
        draw(costs, known.out)


if __name__ == "__main__":
    main()
