"""What a training step of each recipe costs, and what comes before the first.

Run as `taskset -c 1 python -m benchmarks.training_steps [RECIPE…]`. Each recipe trains an epoch, or
100 steps, in a process of its own, with the sizes and batches that it has by default, on a few
made-up records of all its lengths, with an encoder of random weights. Seconds of processor time:

- import: of what `keras-attn train` imports.
- data: reading, learning vocabularies, encoding.
- build: the model, its optimizer and the callbacks, up to the first step.
- first step: traced, compiled and run.
- other shapes: what the first steps of the other shapes of batches take longer than the median of
  the steps that met their shape before. XLA compiles each of them.
- to the first step: data, build and first step.
- again: the same of another process, which finds what XLA compiled before; only where XLA is on.

And of the steps that met their shape before:

- ms a step: their median.
- GFLOP a step: the mean of their matrix products and convolutions, a multiplication and an addition
  as two (`step_operations`).
- GFLOP/s, and its share of the rate at which the same process multiplies two 2048×2048 matrices.
"""

import argparse
import contextlib
import math
import os
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.processes import in_its_own_process
from benchmarks.timing import printed, table
from keras_attn_pipelines.compilation import compiling

HEAD = (
    "recipe",
    "shapes",
    "import",
    "data",
    "build",
    "first step",
    "other shapes",
    "to the first step",
    "again",
    "ms a step",
    "GFLOP a step",
    "GFLOP/s",
    "of matmul",
)
SQUARES, TURNS = 5, 3
"""Products of the largest matrices in a turn, and turns, whose median is the machine's rate."""

STEPS = 100
"""At most so many steps are trained, enough to meet each shape."""


class Seconds(NamedTuple):
    """What one recipe takes, see the module; in seconds, `shapes` is a number.

    Attributes:
        multiplied: floating-point operations of a mean step.
        rate: of them in a second.
        best: of them in a second, of the largest matrices.
        uses_xla: whether steps are compiled.
    """

    shapes: int
    imports: float
    data: float
    build: float
    first: float
    others: float
    step: float
    multiplied: float
    rate: float
    best: float
    uses_xla: bool

    @property
    def to_first_step(self) -> float:
        """Without imports."""
        return self.data + self.build + self.first


class EnoughSteps(Exception):
    """Ends a training."""


def measured(name: str, cache: str) -> Seconds:
    """Trains a recipe for STEPS or an epoch, in this process, which has done nothing else.

    Args:
        name: of the recipe.
        cache: folder in place of the user's cache.
    """
    os.environ["XDG_CACHE_HOME"] = cache
    with compiling():
        return _measured(name)


def _measured(name):
    from benchmarks.recipe_data import written
    from keras_attn_pipelines.recipes import load_recipe
    from keras_attn_pipelines.runs.fitting import Fitting
    from keras_attn_pipelines.runs.prepared import prepare
    from keras_attn_pipelines.runs.run import Run
    from keras_attn_pipelines.runs.train import Workers, jit_compile_for, strategy_named

    experiment = _without_downloads(load_recipe(name))
    times = [time.process_time()]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        place = written(name, data)
        times.append(time.process_time())
        prepared = prepare(experiment, place, cache=Path(folder) / "cache")
        times.append(time.process_time())
        built = prepared.build()
        stage = prepared.compile(built, jit_compile_for("one", built.small_steps)).model
        out = Path(folder) / "run"
        out.mkdir()
        workers = Workers(strategy_named("one"))
        fitting = Fitting(prepared, Run(out), built.model, stage, 1e9, workers, 0)
        fitting.restore()
        clock = _clock(min(STEPS, prepared.data.steps))
        fitting.progress = [clock]
        with contextlib.suppress(EnoughSteps):
            fitting.fit()
        batches = list(prepared.data.training(0).take(len(clock.seconds)))
        return _seconds(times, clock, batches, stage, built.small_steps)


def _without_downloads(experiment):
    from benchmarks.made_up import RandomEncoder
    from keras_attn_pipelines.experiment.picture_encoders import EfficientNetLite0

    if isinstance(getattr(experiment.model, "encoder", None), EfficientNetLite0):
        return replace(experiment, model=replace(experiment.model, encoder=RandomEncoder()))
    return experiment


def _clock(steps):
    """A callback that takes the time of each step, and stops after so many of them."""
    import keras

    class Clock(keras.callbacks.Callback):
        changes_model = False

        def on_train_begin(self, logs=None):
            self.begin, self.seconds = time.process_time(), []
            self.last = self.begin

        def on_train_batch_end(self, batch, logs=None):
            now = time.process_time()
            self.seconds.append(now - self.last)
            self.last = now
            if len(self.seconds) == steps:
                raise EnoughSteps

    return Clock()


def _shapes(batch):
    from keras import tree

    return tuple(tuple(tensor.shape) for tensor in tree.flatten(batch))


def _seconds(times, clock, batches, stage, uses_xla):
    from benchmarks.step_operations import counted, operations

    seconds, shapes = np.array(clock.seconds), list(map(_shapes, batches))
    first = {shape: shapes.index(shape) for shape in shapes}
    places, met = list(first.values()), np.ones(len(seconds), bool)
    met[places] = False
    step = float(np.median(seconds[met])) if met.any() else math.nan
    multiplied = {
        shape: operations(counted(partial(stage.train_step, batches[place])))
        for shape, place in first.items()
    }
    done = np.array([multiplied[shape] for shape in shapes])[met]
    return Seconds(
        shapes=len(places),
        imports=times[0],
        data=times[2] - times[1],
        build=clock.begin - times[2],
        first=float(seconds[0]),
        others=max(0.0, float(sum(seconds[place] - step for place in places[1:]))),
        step=step,
        multiplied=float(np.mean(done)) if met.any() else math.nan,
        rate=float(np.sum(done) / np.sum(seconds[met])) if met.any() else math.nan,
        best=_best_rate(),
        uses_xla=uses_xla,
    )


def _best_rate():
    from benchmarks.step_operations import square

    product = square()

    def seconds():
        begin = time.process_time()
        product.run(SQUARES)
        return time.process_time() - begin

    return SQUARES * product.operations / np.median([seconds() for _ in range(TURNS)])


def compare(names) -> str:
    """The table, whose rows are printed as they come."""
    return table(HEAD, list(printed(_row(name) for name in names)))


def _row(name):
    with tempfile.TemporaryDirectory() as cache:
        seconds = in_its_own_process(measured, name, cache)
        again = in_its_own_process(measured, name, cache) if seconds.uses_xla else None
    cells = [f"{value:.1f}" for value in seconds[1:6]]
    ends = [f"{each.to_first_step:.1f}" if each else "" for each in (seconds, again)]
    steps = [
        f"{1000 * seconds.step:.0f}",
        f"{seconds.multiplied / 1e9:.2f}",
        f"{seconds.rate / 1e9:.1f}",
        f"{seconds.rate / seconds.best:.0%}",
    ]
    steps = ["" if math.isnan(seconds.step) else cell for cell in steps]
    return [name, seconds.shapes, *cells, *ends, *steps]


if __name__ == "__main__":
    from keras_attn_pipelines.recipes import recipe_names

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipes", nargs="*", help="names (default: all)")
    print(compare(parser.parse_args().recipes or recipe_names()))
