"""What each system costs, beside what a user would take instead, in one table.

Run as `taskset -c 1 python -m benchmarks.costs --peer-python PYTHON…`, Pythons with torch and
transformers, CTranslate2 or keras-hub; a peer that none of them has is left out. It takes less than
an hour. The races are those of `transformer_speed`, `opus_mt_speed`, `seq2seq_speed`,
`training_rate`, `vision_speed`, `hub_captioner_speed`, `sampling_speed` and `memory_speed`, whose
texts say what is done; behind them comes the table of `training_steps`, for every recipe, whether
or not there is a peer.

Each contender is a process of its own, and a turn does a work with each of them. Rates are by
processor time, medians over the turns; the last column is the median over the turns of
keras-attn's rate by the other's, so above 1 keras-attn is faster.
"""

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import (
    hub_captioner_speed,
    memory_speed,
    opus_mt_speed,
    sampling_speed,
    seq2seq_speed,
    training_steps,
    transformer_speed,
    vision_speed,
)
from benchmarks.race import OURS, Options, Race, Results, python_with, say
from benchmarks.timing import answers_in_turns, printed, ratio, table
from benchmarks.translation_task import BEAM, DECODING, GREEDY, SINGLE, TRAIN, Task
from keras_attn.cores import cores

HEAD = ("system", "work", "a second", "keras-attn", "beside", "its rate", "times as fast")
LEFT_OUT = (
    "keras-attn, SavedModel",
    "keras-attn, XLA",
    "keras-attn, bfloat16",
    "keras-attn, int8",
    "keras-attn, no XLA",
    "keras-attn, ConvS2S",
    "keras-attn, Transformer",
    "transformers on torch, bfloat16",
    "CTranslate2, int8",
    "keras-hub, bfloat16",
    "`keras.layers.RNN`, no XLA",
    "`keras.layers.RNN`, eager",
    "keras.layers.LSTM without attention",
    "keras.layers.LSTM, attention after the loop",
)
"""Variants; what is left is what keras-attn does by default, and its peers in float32."""


class System(NamedTuple):
    """A race whose results are rows of the table.

    Attributes:
        measured: function of a task, `Options` and a folder to a `Race` and its `Results`.
        task: function of the threads to the sizes.
        works: names of the works of the race that are rows; None: all.
        unit: of which a rate counts so many a second.
    """

    measured: Callable[[Any, Options, Path], tuple[Race, Results]]
    task: Callable[..., Any]
    works: tuple[str, ...] | None
    unit: str


SYSTEMS: Mapping[str, System] = {
    "Transformer, 6 + 6 layers of width 512": System(
        transformer_speed.measured, Task, (TRAIN, *DECODING), "tokens"
    ),
    "Opus-MT's shape, 58,101 pieces": System(
        transformer_speed.measured, opus_mt_speed.OpusTask, (GREEDY, BEAM, SINGLE), "tokens"
    ),
    "LSTM with attention": System(
        seq2seq_speed.measured, partial(Task, **seq2seq_speed.SIZES), None, "tokens"
    ),
    "ViT-B/16, ViT-Ti/16 with a decoder": System(
        vision_speed.measured, vision_speed.Task, None, "pictures"
    ),
    "BLIP base": System(
        hub_captioner_speed.measured,
        hub_captioner_speed.Task,
        ("greedy, batch 1", "beam 4, batch 1"),
        "captions",
    ),
    "bilinear sampler": System(sampling_speed.measured, sampling_speed.Task, None, "calls"),
    "memory of 128 × 20": System(memory_speed.measured, memory_speed.Task, None, "steps"),
}
CAPTIONER, CAPTIONED = "LSTM with soft attention, captioning", 80
"""And its pictures."""


def rows_of(name: str, system: System, options: Options) -> Iterator[list[str]]:
    """Rows of a system: for each work one for each peer."""
    options = Options(
        options.repeats, options.pythons, LEFT_OUT, processor_time=True, works=system.works
    )
    with tempfile.TemporaryDirectory() as folder:
        race, results = system.measured(system.task(cores=cores()), options, Path(folder))
    for work, seconds in results.seconds.items():
        yield from _rows(name, work, system.unit, race.task.items(work), seconds)


def captioner_rows(options: Options, training) -> Iterator[list[str]]:
    """Rows of a captioner, a `Training` of `training_rate`."""

    def ours():
        begin = time.process_time()
        training.step()
        return time.process_time() - begin

    with contextlib.ExitStack() as stack:
        works = {OURS: ours}
        if python := python_with("torch", options.pythons):
            torch = stack.enter_context(training.peer(python))
            works["torch"] = lambda: torch()[0]
        seconds = answers_in_turns(works, options.repeats)
    arrays = {name: np.array(values) for name, values in seconds.items()}
    captions = sum(len(record.captions) for record in training.records)
    yield from _rows(CAPTIONER, TRAIN, "captions", captions, arrays)


def _rows(name, work, unit, items, seconds):
    ours = seconds[OURS]
    rate = _rate(items / np.median(ours))
    peers = {peer: times for peer, times in seconds.items() if not peer.startswith(OURS)}
    for peer, times in peers.items():
        cells = [peer, _rate(items / np.median(times)), f"{ratio(times, ours):.2f}"]
        yield [name, work, unit, rate, *cells]
    if not peers:
        yield [name, work, unit, rate, "", "", ""]


def _rate(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def compare(options: Options, systems: Mapping[str, System] = SYSTEMS) -> str:
    """The table, whose rows are printed as they come."""
    from benchmarks.made_up import UNTRAINED
    from benchmarks.training_rate import made_up

    def rows():
        for name, system in systems.items():
            try:
                yield from rows_of(name, system, options)
            except ValueError as error:
                say(f"{name}: left out. {error}")
        yield from captioner_rows(options, made_up(UNTRAINED, CAPTIONED))

    return table(HEAD, list(printed(rows())))


if __name__ == "__main__":
    from keras_attn_pipelines.recipes import recipe_names

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", metavar="PYTHON", nargs="+", default=[], help="for peers")
    parser.add_argument("--repeats", type=int, default=3, help="turns (default: 3)")
    given = parser.parse_args()
    costs = compare(Options(given.repeats, (*given.peer_python, sys.executable)))
    print(f"{cores()} threads, {given.repeats} turns\n\n{costs}\n")
    print(training_steps.compare(recipe_names()))
