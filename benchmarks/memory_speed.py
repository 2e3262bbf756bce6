"""How fast networks with a writable memory train, beside torch and `keras.layers.RNN`.

Run as `python -m benchmarks.memory_speed` in an environment with torch. A training step copies 20
words of 8 bits, 41 steps of the cell, with an LSTM controller of 100 units and a memory of
128 × 20. Each contender is a process of its own with the same number of threads; a turn does one
training step with each of them.

- keras-attn: `MemoryRNN` under XLA, as the recipes train.
- `keras.layers.RNN`: the same cell in Keras' loop, under XLA, as a graph, and eagerly.
- torch: the papers' equations in plain torch.

Rates are training steps a second, medians over the turns; in brackets the median over the turns of
the contender's rate by keras-attn's. Where other programs keep the processors busy, `--threads 1
--processor-time` still compares: seconds are those that a process itself computed.
"""

import argparse
import sys
import tempfile

from benchmarks.memory_task import Task
from benchmarks.race import OURS, Contender, Race
from benchmarks.timing import table
from keras_attn.cores import cores


def contenders(task) -> list[Contender]:
    """All that there are."""

    def phases(**more):
        return {name: {"work": name, **own, **more} for name, own in task.phases().items()}

    ours, loop = "benchmarks.our_memory", "`keras.layers.RNN`"
    return [
        Contender(OURS, None, ours, phases(loop="MemoryRNN", jit=True)),
        Contender(f"{OURS}, no XLA", None, ours, phases(loop="MemoryRNN", jit=False)),
        Contender(f"{loop}, XLA", None, ours, phases(loop="RNN", jit=True)),
        Contender(f"{loop}, no XLA", None, ours, phases(loop="RNN", jit=False)),
        Contender(f"{loop}, eager", None, ours, phases(loop="RNN", jit=None)),
        Contender("torch", "torch", "benchmarks.torch_memory", phases()),
    ]


def compare(task, repeats, left_out=(), processor_time=False) -> str:
    """The table."""
    with tempfile.TemporaryDirectory() as folder:
        race = Race(task, folder, contenders(task), (sys.executable,), left_out, processor_time)
        works = list(task.phases())
        seconds, _, _ = race.run(repeats, {work: [work] for work in works})
    rows = [
        [contender.name, *(race.rate(seconds, work, contender.name, 1) for work in works)]
        for contender in race.contenders
    ]
    return table(("what", *works), rows)


def main(arguments=None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="turns (default: 7)")
    parser.add_argument("--batches", type=int, nargs="+", default=(16, 64), help="batch sizes")
    parser.add_argument("--leave-out", metavar="NAME", nargs="+", default=[], help="contenders")
    parser.add_argument("--threads", type=int, default=cores(), help="default: all cores")
    parser.add_argument("--processor-time", action="store_true", help="instead of the clock's")
    known = parser.parse_args(arguments)
    task = Task(known.threads, tuple(known.batches))
    text = compare(task, known.repeats, known.leave_out, known.processor_time)
    clock = "processor time" if known.processor_time else "the clock's time"
    print(f"{known.threads} threads, {known.repeats} turns, {clock}\n\n{text}")


if __name__ == "__main__":
    main()
