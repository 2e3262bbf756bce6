"""Processor time of each recipe from the command to its first training step.

Run as `taskset -c 1 python -m benchmarks.first_step [RECIPE…]`. Each recipe trains an epoch, or
100 steps, in a process of its own, with the sizes and batches that it has by default, on a few
made-up records of all its lengths, with an encoder of random weights. Seconds of processor time:

- import: of what `keras-attn train` imports.
- data: reading, learning vocabularies, encoding.
- build: the model, its optimizer and the callbacks, up to the first step.
- first step: traced, compiled and run.
- other shapes: what the first steps of the other shapes of batches take longer than the median of
  the steps that met their shape before. XLA compiles each of them.
- a step: that median.
- to the first step: data, build and first step.
- again: the same of another process, which finds what XLA compiled before; only where XLA is on.
"""

import argparse
import contextlib
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.processes import in_its_own_process
from benchmarks.recipe_data import written
from benchmarks.timing import table
from benchmarks.trainings import printed
from keras_attn_pipelines.compilation import compiling

HEAD = (
    "recipe",
    "shapes",
    "import",
    "data",
    "build",
    "first step",
    "other shapes",
    "a step",
    "to the first step",
    "again",
)


STEPS = 100
"""At most so many steps are trained, enough to meet each shape."""


class Seconds(NamedTuple):
    """What one recipe takes, see the module; in seconds, `shapes` is a number."""

    shapes: int
    imports: float
    data: float
    build: float
    first: float
    others: float
    step: float
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
        clock = _clock(min(STEPS, prepared.data.steps))
        fitting.progress = [clock]
        with contextlib.suppress(EnoughSteps):
            fitting.fit()
    shapes = [_shapes(batch) for batch in prepared.data.training(0).take(len(clock.seconds))]
    return _seconds(times, clock, shapes, built.small_steps)


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


def _seconds(times, clock, shapes, uses_xla):
    seconds, first = np.array(clock.seconds), {}
    for place, shape in enumerate(shapes):
        first.setdefault(shape, place)
    places = list(first.values())
    step = float(np.median(np.delete(seconds, places))) if len(seconds) > len(places) else np.nan
    others = float(sum(seconds[place] - step for place in places[1:]))
    return Seconds(
        shapes=len(places),
        imports=times[0],
        data=times[2] - times[1],
        build=clock.begin - times[2],
        first=float(seconds[0]),
        others=others,
        step=step,
        uses_xla=uses_xla,
    )


def compare(names) -> str:
    """The table, whose rows are printed as they come."""
    return table(HEAD, list(printed(_row(name) for name in names)))


def _row(name):
    with tempfile.TemporaryDirectory() as cache:
        seconds = in_its_own_process(measured, name, cache)
        again = in_its_own_process(measured, name, cache) if seconds.uses_xla else None
    cells = [f"{value:.1f}" for value in seconds[1:6]]
    ends = [f"{each.to_first_step:.1f}" if each else "" for each in (seconds, again)]
    return [name, seconds.shapes, *cells, f"{seconds.step:.3f}", *ends]


if __name__ == "__main__":
    from keras_attn_pipelines.recipes import recipe_names

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipes", nargs="*", help="names (default: all)")
    print(compare(parser.parse_args().recipes or recipe_names()))
