"""Malformed requests to exported models through TensorFlow's C interface.

Run as `python -m benchmarks.malformed_requests --requests 10000 --out bench SAVED_MODEL…`. Every
model answers in a process of its own, in the session that TF Serving would run, requests to all of
its signatures. Most are of valid rows among malformed ones: damaged and hostile pictures, texts
that are not UTF-8, rows without end, at random places; the rest are malformed as a whole: types,
shapes, names and numbers of rows that the signature does not have. A *wrong neighbor* is a valid
row whose answer among malformed ones differs from its answer alone. A malformed row may happen to
be one that can be answered.

The folder of `--out` gets two files for each model: NAME.json has every kind of reason that it gave
and how often, NAME.log what its process wrote to standard error.
"""

import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import os
import re
import resource
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.malformations import malformed_request, malformed_row
from benchmarks.stand_in.c_model import CModel
from benchmarks.timing import table
from benchmarks.valid_requests import valid_rows
from keras_attn.contracts import ERROR
from keras_attn_pipelines.saved.servable import Servable

HEAD = (
    *("model", "requests", "refused as a whole", "malformed rows", "with a reason", "reasons"),
    *("valid rows", "wrong neighbors", "RSS after a tenth, MB", "at the end, MB"),
)
WHOLE = 0.2
"""Share of requests that are malformed as a whole."""
VALID = 12
"""Valid rows of a signature; a request has one to three of them."""
TOLERANCE = 1e-3


class Attack:
    """Asks a model about malformed rows, and counts what comes of it.

    Args:
        servable: the model.
        rows: dict from signature to valid rows, see `valid_rows`.
        seed: int.

    Raises:
        ValueError: a signature that answers none of its valid rows.
    """

    def __init__(self, servable: Servable, rows: dict[str, list[dict[str, Any]]], seed: int = 0):
        self._servable, self._random = servable, np.random.default_rng(seed)
        self._rows = {name: self._answered(name, own) for name, own in rows.items()}
        self.counts: collections.Counter[str] = collections.Counter()
        self.reasons: collections.Counter[str] = collections.Counter()

    def request(self) -> None:
        """Asks once."""
        signature = sorted(self._rows)[self._random.integers(len(self._rows))]
        self.counts["requests"] += 1
        if self._random.random() < WHOLE:
            self._as_a_whole(signature)
        else:
            self._among_others(signature)

    def _answered(self, signature, rows):
        """Pairs of a row and its answer alone, of rows that have one."""
        pairs = [(row, first(self._servable.outputs(signature, columns([row])))) for row in rows]
        if not (kept := [(row, answer) for row, answer in pairs if not answer[ERROR]]):
            raise ValueError(
                f"Expected a valid row of {signature}. Received: {pairs[0][1][ERROR]!r}"
            )
        return kept

    def _as_a_whole(self, signature):
        rows = [row for row, _ in self._rows[signature][:3]]
        asked = malformed_request(self._random, signature, columns(rows))
        try:
            self._servable.outputs(*asked)
        except Exception as error:  # Whatever it is, the process is still there.
            self.counts["refused"] += 1
            self.reasons[generic(f"{type(error).__name__}: {error}")] += 1

    def _among_others(self, signature):
        random, pairs = self._random, self._rows[signature]
        valid = [pairs[random.integers(len(pairs))] for _ in range(random.integers(1, 4))]
        bad = [malformed_row(random, pairs[random.integers(len(pairs))][0])]
        bad += [malformed_row(random, bad[0]) for _ in range(random.integers(3))]
        mixed = [*valid, *((row, None) for row in bad)]
        mixed = [mixed[place] for place in random.permutation(len(mixed))]
        outputs = self._servable.outputs(signature, columns([row for row, _ in mixed]))
        for place, (_, alone) in enumerate(mixed):
            answer = {key: value[place] for key, value in outputs.items()}
            if alone is not None:
                self.counts["valid"] += 1
                self.counts["wrong"] += not same(answer, alone)
            else:
                self.counts["malformed"] += 1
                self.counts["reasoned"] += bool(answer[ERROR])
                kind = answer[ERROR].decode(errors="replace").partition(": ")[0]
                self.reasons[generic(kind)] += 1


def columns(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Rows as the inputs of a signature."""
    return {key: stacked([row[key] for row in rows]) for key in rows[0]}


def stacked(values):
    """Values of bytes, or arrays of them in one shape, as an array of objects."""
    array = np.empty((len(values), *np.shape(values[0])), object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def first(outputs):
    """The first row of outputs."""
    return {key: value[0] for key, value in outputs.items()}


def same(answer: dict[str, Any], alone: dict[str, Any]) -> bool:
    """Whether an answer is that of the row alone, but for padding and rounding."""
    return all(_equal(np.asarray(answer[key]), np.asarray(alone[key])) for key in alone)


def _equal(value, other):
    shared = tuple(slice(min(sizes)) for sizes in zip(value.shape, other.shape))
    if value.dtype.kind != "f":
        return bool(np.array_equal(value[shared], other[shared]))
    return bool(np.allclose(value[shared], other[shared], atol=TOLERANCE, rtol=TOLERANCE))


def generic(reason: str) -> str:
    """A reason without the numbers and the names in it, so that equal ones can be counted."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", "…", re.sub(r"\d+", "N", reason.split("\n")[0]))[:160]


def resident() -> float:
    """Megabytes of memory that this process has now; its most so far where that is not known."""
    status = Path("/proc/self/status")
    if status.is_file():
        return int(re.search(r"VmRSS:\s+(\d+)", status.read_text())[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def attacked(saved_model, requests: int, seed: int, log) -> dict[str, Any]:
    """Counts, reasons and megabytes after so many requests to a model.

    Its own process is meant to call this: standard error goes to the file `log` from then on.
    """
    with Path(log).open("w") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    model = CModel(saved_model)
    attack = Attack(model, valid_rows(model.folder, VALID), seed)
    early = resident()
    for number in range(1, requests + 1):
        attack.request()
        if number == max(1, requests // 10):
            early = resident()
    counts, reasons = dict(attack.counts), dict(attack.reasons.most_common())
    return {"counts": counts, "reasons": reasons, "early": early, "late": resident()}


def in_its_own_process(saved_model, requests: int, seed: int, log) -> dict[str, Any] | None:
    """See `attacked`; None if the process crashed."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            return pool.submit(attacked, saved_model, requests, seed, log).result()
        except BrokenProcessPool:
            return None


def row_of(name: str, result: dict[str, Any] | None) -> list[str]:
    """A model's row of the table."""
    if result is None:
        return [name, "crashed", *[""] * (len(HEAD) - 2)]
    counts = collections.Counter(result["counts"])
    keys = ("requests", "refused", "malformed", "reasoned")
    megabytes = [f"{result[key]:.0f}" for key in ("early", "late")]
    numbers = [*(counts[key] for key in keys), len(result["reasons"])]
    return [name, *map(str, [*numbers, counts["valid"], counts["wrong"]]), *megabytes]


def main(arguments=None) -> None:
    """Prints the table, and writes the reasons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("saved_models", nargs="+", help="folders of SavedModels")
    parser.add_argument("--requests", type=int, default=10_000, help="to each (default: 10000)")
    parser.add_argument("--out", required=True, help="folder for the reasons")
    parser.add_argument("--seed", type=int, default=0)
    known = parser.parse_args(arguments)
    out = Path(known.out)
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for path in map(Path, known.saved_models):
        log = out / f"{path.name}.log"
        result = in_its_own_process(path, known.requests, known.seed, log)
        (out / f"{path.name}.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
        rows.append(row_of(path.name, result))
        print(f"{path.name}: {'crashed' if result is None else 'answered'}", file=sys.stderr)
    print(table(HEAD, rows))


if __name__ == "__main__":
    main()
