"""How much of an accelerator training and decoding use, beside transformers on torch.

Run as `python -m benchmarks.accelerator`. Each side is a process of its own, one after the other:
keras-attn on JAX, keras-attn on PyTorch, and transformers on torch, each in float32 and in bfloat16
(training: mixed precision). A side whose packages are missing is left out. Only Keras, NumPy and
JAX or PyTorch are needed, and nothing is downloaded: weights and data are random.

- training: a step with Adam and dropout of the base and the big Transformer, a ViT-B/16, and a
  captioner of a ViT-B/16 with a decoder of 6 layers.
- greedy, beam 4: the base Transformer writes 32 answers of 32 and of 512 tokens; transformers with
  its static cache.

Rates are medians, of steps that follow each other without waiting. The share is that of a work's
matrix products, counted from the sizes, in the rate of one large product that the same framework
reaches in the same precision. Memory is the device's: what the compiled program needs on JAX, and
the peak of the allocator on PyTorch; empty where it is not known.

`--minutes` (default: 8) is the time of all sides together; what does not fit is left out and named.
`--toy` takes tiny sizes, for a CPU. The table goes to standard output, the same figures as JSON to
`--out`.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import table

ROOT = Path(__file__).resolve().parents[1]
FLOAT32, BFLOAT16 = "float32", "bfloat16"
PRECISIONS = (BFLOAT16, FLOAT32)
SPECIAL = 4
"""Ids of padding, unknown, start and end, as in `keras_attn.contracts`."""
SAMPLES = 3


class Side(NamedTuple):
    """Who does the works.

    Attributes:
        module: run as a process; it prints a JSON object for each work.
        packages: that it needs.
        environment: variables of its process.
        share: of the time, at most, that it takes together with those before it.
    """

    module: str
    packages: tuple[str, ...]
    environment: dict[str, str]
    share: float


KERAS = "benchmarks.accelerator_keras"
SIDES = {
    "keras-attn, JAX": Side(KERAS, ("keras", "jax"), {"KERAS_BACKEND": "jax"}, 0.5),
    "keras-attn, PyTorch": Side(KERAS, ("keras", "torch"), {"KERAS_BACKEND": "torch"}, 0.75),
    "transformers, PyTorch": Side(
        "benchmarks.accelerator_torch", ("torch", "transformers"), {}, 1.0
    ),
}
"""By name, in the order in which they run."""


@dataclass(frozen=True)
class Widths:
    """Of a Transformer's layers.

    Attributes:
        layers, units, hidden, heads: int. `layers` of encoder and of decoder.
    """

    layers: int
    units: int
    hidden: int
    heads: int

    def layer(self, tokens, memory=0, keys=0):
        """Operations of a layer for some tokens that see `keys` positions each, and of attention
        to a memory, without its projection."""
        each = 2 * (4 * self.units**2 + 2 * self.units * self.hidden) + 4 * keys * self.units
        cross = 2 * 2 * self.units**2 + 4 * memory * self.units if memory else 0
        return tokens * (each + cross)

    def memory(self, positions):
        """Operations that make keys and values of a memory."""
        return 2 * 2 * positions * self.units**2


@dataclass(frozen=True)
class Task:
    """Sizes.

    Attributes:
        base, big, vision, captioner: `Widths`; the captioner's are its decoder's.
        vocabulary: int.
        pairs, length: int. Sentence pairs of a training step and tokens of each side.
        size, patch: int. Pixels of pictures' and patches' sides.
        pictures, captioned, caption: int. Pictures of a training step, of the captioner's, and
            tokens of their captions.
        batch, source, answers: int, int, tuple of int. Sentences and tokens when decoding.
        square: int. Rows of the matrices whose product is the measure.
    """

    base: Widths = Widths(6, 512, 2048, 8)
    big: Widths = Widths(6, 1024, 4096, 16)
    vision: Widths = Widths(12, 768, 3072, 12)
    captioner: Widths = Widths(6, 768, 3072, 12)
    vocabulary: int = 32000
    pairs: int = 256
    length: int = 64
    size: int = 224
    patch: int = 16
    pictures: int = 256
    captioned: int = 128
    caption: int = 32
    batch: int = 32
    source: int = 32
    answers: tuple[int, ...] = (32, 512)
    square: int = 8192

    @classmethod
    def of(cls, values):
        """The inverse of `dataclasses.asdict`, after JSON."""
        widths = {k: Widths(**v) for k, v in values.items() if isinstance(v, dict)}
        return cls(**{**values, **widths, "answers": tuple(values["answers"])})

    @property
    def cells(self):
        """Tokens of a picture, with that of its class."""
        return (self.size // self.patch) ** 2 + 1

    def pairs_of_tokens(self):
        """Sources and targets to train on, int32 (pairs, length) each."""
        return self._tokens((2, self.pairs, self.length))

    def captions(self):
        """int32 (captioned, caption)."""
        return self._tokens((self.captioned, self.caption))

    def sources(self):
        """int32 (batch, source)."""
        return self._tokens((self.batch, self.source))

    def _tokens(self, shape):
        return np.random.default_rng(0).integers(SPECIAL, self.vocabulary, shape, "int32")

    def images(self, count):
        """uint8 (count, size, size, 3)."""
        random = np.random.default_rng(1)
        return random.integers(0, 256, (count, self.size, self.size, 3), "uint8")

    def seen(self):
        """Operations of a picture's encoder."""
        patches = 2 * (self.cells - 1) * 3 * self.patch**2 * self.vision.units
        return patches + self.vision.layers * self.vision.layer(self.cells, keys=self.cells)

    def written(self, widths, tokens, memory):
        """Operations of a decoder on the tokens of one example, all at once."""
        layer = widths.layer(tokens, memory, tokens) + widths.memory(memory)
        return widths.layers * layer + 2 * tokens * widths.units * self.vocabulary

    def answered(self, length, beams):
        """Operations of an answer, a token at a time: half of it is seen on average."""
        widths, steps = self.base, length * beams
        step = widths.layer(steps, self.source, length / 2)
        read = widths.layer(self.source, keys=self.source) + widths.memory(self.source)
        return widths.layers * (step + read) + 2 * steps * widths.units * self.vocabulary

    def works(self) -> "dict[str, Work]":
        """What every side does, in this order."""
        text, works = self.pairs * self.length, {}
        for name, widths in (("Transformer base", self.base), ("Transformer big", self.big)):
            read = widths.layers * widths.layer(self.length, keys=self.length)
            step = 3 * self.pairs * (read + self.written(widths, self.length, self.length))
            works[f"training, {name}"] = Work("tokens", text, step, ("translator", widths))
        for length in self.answers:
            for strategy, beams in (("greedy", 1), ("beam 4", 4)):
                works[f"{strategy}, {length} tokens"] = Work(
                    "tokens",
                    self.batch * length,
                    self.batch * self.answered(length, beams),
                    ("answers", beams, length),
                )
        step = 3 * self.pictures * self.seen()
        works["training, ViT-B/16"] = Work("pictures", self.pictures, step, ("classifier",))
        caption = self.written(self.captioner, self.caption, self.cells)
        step = 3 * self.captioned * (self.seen() + caption)
        works["training, captioner"] = Work("pictures", self.captioned, step, ("captioner",))
        return works


TOY = Task(
    base=Widths(1, 8, 16, 2),
    big=Widths(1, 16, 32, 2),
    vision=Widths(1, 12, 24, 3),
    captioner=Widths(1, 12, 24, 3),
    vocabulary=29,
    pairs=3,
    length=7,
    size=32,
    pictures=2,
    captioned=2,
    caption=5,
    batch=2,
    source=5,
    answers=(3, 11),
    square=64,
)


class Work(NamedTuple):
    """What is measured.

    Attributes:
        unit, items: of which a work makes so many.
        operations: of its matrix products.
        kind: name of a function of a side, and its arguments.
    """

    unit: str
    items: int
    operations: float
    kind: tuple


def seconds_of(run: Callable[[], object], wait: Callable[[], object], budget: float) -> float:
    """Median seconds of a run among runs that follow each other.

    Args:
        run: starts what is measured.
        wait: waits until the device has done all of it.
        budget: seconds that measuring may take, without what compiles first.
    """

    def taken(count):
        begin = time.perf_counter()
        for _ in range(count):
            run()
        wait()
        return (time.perf_counter() - begin) / count

    taken(1)
    once = taken(1)
    if once > budget:
        return once
    count = int(np.clip(budget / SAMPLES / once, 1, 100))
    return float(np.median([taken(count) for _ in range(SAMPLES)]))


class Measured(NamedTuple):
    """What a side says of a work, beside its name and precision.

    Attributes:
        seconds: of one.
        memory: MiB, or None.
    """

    seconds: float
    memory: float | None


def serve(measure: Callable[[str, tuple, float], Measured], device: str) -> None:
    """Does the works as a side: prints a JSON object for each, as soon as it is done.

    Args:
        measure: function of precision, kind (`("product",)` for the measure) and budget.
        device: its name.
    """
    task, budget = Task.of(json.loads(sys.argv[1])), float(sys.argv[2])
    print(json.dumps({"device": device}), flush=True)
    kinds = {"matmul": ("product",), **{name: work.kind for name, work in task.works().items()}}
    for name, kind in kinds.items():
        for precision in PRECISIONS:
            try:
                answer = measure(precision, kind, budget)._asdict()
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
            print(json.dumps({"work": name, "precision": precision, **answer}), flush=True)


def answers_of(side: Side, task: Task, budget: float, until: float) -> Iterator[dict[str, Any]]:
    """What a side prints, until its end or a moment of `time.monotonic`, when it is ended."""
    command = [sys.executable, "-m", side.module, json.dumps(asdict(task)), str(budget)]
    environment = {
        **os.environ,
        **side.environment,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "HF_HUB_OFFLINE": "1",
    }
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        timer = threading.Timer(max(0.0, until - time.monotonic()), process.kill)
        timer.start()
        try:
            for text in process.stdout:
                if text.startswith("{"):
                    yield json.loads(text)
        finally:
            timer.cancel()
            process.kill()


def measure(
    task: Task, sides: Sequence[str], minutes: float, budget: float
) -> list[dict[str, object]]:
    """A row for each side, work and precision: what was measured, or why not."""
    begin, rows, works = time.monotonic(), [], task.works()
    for name in sides:
        side, found = SIDES[name], {}
        missing = [package for package in side.packages if not importlib.util.find_spec(package)]
        if missing:
            print(f"{name}: left out, {', '.join(missing)} missing", file=sys.stderr)
            continue
        until, device = begin + 60 * minutes * side.share, ""
        for answer in answers_of(side, task, budget, until):
            device = answer.pop("device", device)
            if answer:
                print(f"{name}: {answer}", file=sys.stderr, flush=True)
                found[answer.pop("work"), answer.pop("precision")] = answer
        in_time = time.monotonic() < until
        reason = {"error": "the process ended" if in_time else "no time left"}
        product = 2 * task.square**3
        for precision in PRECISIONS:
            once = found.get(("matmul", precision), {}).get("seconds")
            rate = product / once if once else None
            for work, (unit, items, operations, _) in works.items():
                row = {"side": name, "device": device, "work": work, "precision": precision}
                answer = found.get((work, precision), reason)
                if "seconds" in answer:
                    seconds = answer["seconds"]
                    answer |= {"unit": unit, "rate": items / seconds}
                    share = operations / seconds / rate if rate else None
                    answer |= {"matmul_rate": rate, "share": share}
                rows.append({**row, **answer})
    return rows


def costs_table(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each work and precision, three columns for each side."""
    sides = list(dict.fromkeys(row["side"] for row in rows))
    found = {(row["side"], row["work"], row["precision"]): row for row in rows}
    heads = [f"{side}{what}" for side in sides for what in ("", ", of matmul", ", MiB")]
    lines = []
    for work, precision in dict.fromkeys((row["work"], row["precision"]) for row in rows):
        cells = []
        for side in sides:
            row = found[side, work, precision]
            if "error" in row:
                cells += ["–", "", ""]
                continue
            share, memory = row["share"], row["memory"]
            cells.append(f"{row['rate']:,.0f} {row['unit']}/s")
            cells.append("" if share is None else f"{share:.1%}")
            cells.append("" if memory is None else f"{memory:,.0f}")
        lines.append([work, precision, *cells])
    return table(["work", "precision", *heads], lines)


def errors_of(rows: Sequence[dict[str, Any]]) -> str:
    """What was not measured, a line each."""
    missing = [row for row in rows if "error" in row]
    names = ("side", "work", "precision", "error")
    return "\n".join(", ".join(str(row[name]) for name in names) for row in missing)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--minutes", type=float, default=8.0, help="of all sides (default: 8)")
    parser.add_argument("--budget", type=float, default=3.0, help="seconds of a work (default: 3)")
    parser.add_argument("--toy", action="store_true", help="tiny sizes")
    parser.add_argument("--out", type=Path, default=Path("accelerator.json"))
    given = parser.parse_args()
    rows = measure(TOY if given.toy else Task(), given.sides, given.minutes, given.budget)
    given.out.write_text(json.dumps(rows, indent=1) + "\n")
    devices = ", ".join(dict.fromkeys(f"{row['device']} ({row['side']})" for row in rows))
    print(f"{devices}\n\n{costs_table(rows)}\n\n{errors_of(rows)}".strip())
