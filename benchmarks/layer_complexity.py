"""The complexity table of "Attention is all you need", measured: four kinds of layers by n and d.

Run as `python -m benchmarks.layer_complexity --out complexity.png`. Prints a table of milliseconds
and peak memory of one forward pass over one sequence of n positions of width d (float32, in a
graph), each measured in a process of its own, beside the numbers of operations that the paper's
Table 1 says, sequential operations and path length; and draws time by n, with the table's growth as
dashed lines through the last point. The layers are single-headed self-attention, the same
restricted to r neighbors on each side, a GRU and a convolution of width k, without projections
around them. Memory is what the process' peak rises by from a pass over a short sequence.

`--kinds` measures others, such as self-attention under the mask of the restricted one, and what
came after the paper; `--memory` draws the memory below the time.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.processes import in_its_own_process, peak
from benchmarks.timing import table
from keras_attn.cores import cores
from keras_attn.ops.linear_attention import CHUNK

LENGTHS, WIDTHS = (64, 256, 1024, 4096, 16384), (64, 256, 1024)
RADIUS, KERNEL, LATENTS = 64, 3, 64
RESTRICTED, MASKED = "restricted", "self-attention, masked"
LINEAR, QUERIES, DIFFERENCE = "linear", "latent queries", "differential"


class Cost(NamedTuple):
    """Of one pass.

    Attributes:
        seconds: the fastest of the repeats.
        memory: MiB.
    """

    seconds: float
    memory: float


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
    RESTRICTED: Kind(
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
    MASKED: Kind("n²d", lambda n, d: 2 * n * n * d, lambda n: 1, lambda n: math.ceil(n / RADIUS)),
    LINEAR: Kind(
        "nd²",
        lambda n, d: 2 * n * d * (d + min(n, CHUNK)),
        lambda n: math.ceil(n / CHUNK),
        lambda n: 1,
    ),
    QUERIES: Kind("mnd", lambda n, d: 2 * LATENTS * n * d, lambda n: 1, lambda n: 1),
    DIFFERENCE: Kind("n²d", lambda n, d: 3 * n * n * d, lambda n: 1, lambda n: 1),
}
PAPER = ("self-attention", RESTRICTED, "recurrent", "convolution")
"""Those of the paper's table."""


def layer(kind: str, width: int) -> Callable:
    """A function of inputs float (1, n, d)."""
    import keras

    from keras_attn.layers import ContextGRUCell, MaskedConvolution
    from keras_attn.ops.attend import attend
    from keras_attn.ops.differential_attention import differential_attention
    from keras_attn.ops.linear_attention import LinearSums, causal_linear_attention
    from keras_attn.ops.masks import sliding_window_mask
    from keras_attn.ops.recurrent import masked_recurrence
    from keras_attn.ops.restricted_attention import restricted_attention
    from keras_attn.ops.scores import scaled_dot_score

    if kind == "self-attention":
        return lambda inputs: attend(scaled_dot_score(inputs, inputs), inputs)[0]
    if kind == MASKED:

        def masked(inputs):
            length = keras.ops.shape(inputs)[1]
            mask = sliding_window_mask(length, length, RADIUS + 1)
            return attend(scaled_dot_score(inputs, inputs), inputs, mask)[0]

        return masked
    if kind == RESTRICTED:
        return lambda inputs: restricted_attention(
            inputs[:, None], inputs[:, None], inputs[:, None], RADIUS
        )[0]
    if kind == LINEAR:
        sums = LinearSums(keras.ops.zeros((1, 1, width, width)), keras.ops.zeros((1, 1, width)))
        return lambda inputs: causal_linear_attention(*[inputs[:, None]] * 3, sums)[0]
    if kind == QUERIES:
        latents = keras.random.normal((1, LATENTS, width))
        return lambda inputs: attend(scaled_dot_score(latents, inputs), inputs)[0]
    if kind == DIFFERENCE:
        return lambda inputs: differential_attention(*[inputs[:, None]] * 3, scale=0.8)[0]
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
    for size in (5, 7):
        run(tf.zeros((1, size, width)))
    inputs = np.random.default_rng(0).normal(size=(1, length, width))
    inputs = tf.constant(inputs, "float32")
    before, seconds = peak(), []
    for _ in range(repeats):
        begin = time.perf_counter()
        run(inputs).numpy()
        seconds.append(time.perf_counter() - begin)
    return Cost(min(seconds), peak() - before)


def costs_table(costs: dict[tuple[int, int], dict[str, Cost]]) -> str:
    """The measured table."""
    names = list(next(iter(costs.values())))
    head = ["n", "d", *(f"{name} O({KINDS[name].order}), ms" for name in names)]
    head += [f"{name}, MiB" for name in names]
    rows = []
    for (length, width), kinds in costs.items():
        cells = [
            f"{1000 * cost.seconds:.1f} ({KINDS[name].operations(length, width) / 1e6:,.0f}M)"
            for name, cost in kinds.items()
        ]
        cells += [f"{cost.memory:.0f}" for cost in kinds.values()]
        rows.append([f"{length:,}", f"{width:,}", *cells])
    return table(head, rows)


def waits_table(lengths: Sequence[int], names: Sequence[str] = PAPER) -> str:
    """The table of sequential operations and path lengths."""
    head, kinds = ["n", *(f"{name}: sequential, path" for name in names)], [KINDS[x] for x in names]
    rows = [
        [f"{n:,}", *(f"{kind.sequential(n):,}, {kind.path(n):,}" for kind in kinds)]
        for n in lengths
    ]
    return table(head, rows)


def draw(costs: dict[tuple[int, int], dict[str, Cost]], path: Path, memory: bool = False) -> None:
    """Time by n, and on demand memory, a panel for each d, as a PNG."""
    from matplotlib.figure import Figure

    lengths, widths = (sorted(set(sizes)) for sizes in zip(*costs))
    grid = 1 + memory, len(widths)
    rows, columns = grid if len(widths) > 1 else grid[::-1]
    figure = Figure(figsize=(4.2 * columns, 3.8 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharey=len(widths) > 1 and "row", squeeze=False)
    panels = panels.reshape(grid)
    labels = ("seconds of a pass", 1e-6), ("MiB of a pass, at least 1", 1.0)
    for place, (label, least) in enumerate(labels[: 1 + memory]):
        for axes, width in zip(panels[place], widths):
            for color, name in enumerate(costs[lengths[0], width]):
                kind, style = KINDS[name], {"color": f"C{color}"}
                values = [max(costs[n, width][name][place], least) for n in lengths]
                axes.plot(lengths, values, marker="o", label=f"{name}, O({kind.order})", **style)
                if place == 0:
                    operations = np.array([kind.operations(n, width) for n in lengths])
                    growth = values[-1] * operations / operations[-1]
                    axes.plot(lengths, growth, "--", linewidth=0.8, **style)
            axes.set(xlabel="n (positions)", xscale="log", yscale="log", title=f"d = {width}")
            axes.set_xticks(lengths, [str(length) for length in lengths], minor=False)
            axes.minorticks_off()
        panels[place][0].set_ylabel(label)
    panels[0][0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="PNG to write")
    parser.add_argument("--kinds", nargs="+", default=PAPER, choices=tuple(KINDS))
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, metavar="N")
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS, metavar="D")
    parser.add_argument("--repeats", type=int, default=5, help="passes (default: 5)")
    parser.add_argument("--memory", action="store_true", help="draw memory, too")
    given = parser.parse_args()
    costs = {
        (length, width): {
            kind: in_its_own_process(measure, kind, length, width, given.repeats)
            for kind in given.kinds
        }
        for width in given.widths
        for length in given.lengths
    }
    sizes = f"r = {RADIUS}, k = {KERNEL}, m = {LATENTS}"
    print(f"{cores()} cores, {sizes}; in brackets multiplications\n")
    print(f"{costs_table(costs)}\n\n{waits_table(given.lengths, given.kinds)}")
    if given.out:
        draw(costs, given.out, given.memory)
