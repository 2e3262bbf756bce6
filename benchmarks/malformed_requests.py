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
import json
import os
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from benchmarks.processes import in_its_own_process, resident
from benchmarks.timing import table
from keras_attn.saved.session import SavedSession
from keras_attn.whole_file import made_folder
from tests.serving.attack import Attack
from tests.serving.valid_requests import valid_rows

HEAD = (
    *("model", "requests", "refused as a whole", "malformed rows", "with a reason", "reasons"),
    *("valid rows", "wrong neighbors", "RSS after a tenth, MB", "at the end, MB"),
)
VALID = 12
"""Valid rows of a signature; a request has one to three of them."""


def attacked(saved_model, requests: int, seed: int, log) -> dict[str, Any]:
    """Counts, reasons and megabytes after so many requests to a model.

    Its own process is meant to call this: standard error goes to the file `log` from then on.
    """
    with Path(log).open("w") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    model = SavedSession(saved_model)
    attack = Attack(model, valid_rows(model.folder, VALID), seed)
    early = resident()
    for number in range(1, requests + 1):
        attack.request()
        if number == max(1, requests // 10):
            early = resident()
    counts, reasons = dict(attack.counts), dict(attack.reasons.most_common())
    return {"counts": counts, "reasons": reasons, "early": early, "late": resident()}


def row_of(name: str, result: dict[str, Any] | None) -> list[str]:
    """A model's row of the table."""
    if result is None:
        return [name, "crashed", *[""] * (len(HEAD) - 2)]
    counts = collections.Counter(result["counts"])
    keys = ("requests", "refused", "malformed", "reasoned")
    megabytes = [f"{result[key]:.0f}" for key in ("early", "late")]
    numbers = [*(counts[key] for key in keys), len(result["reasons"])]
    return [name, *map(str, [*numbers, counts["valid"], counts["wrong"]]), *megabytes]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("saved_models", nargs="+", help="folders of SavedModels")
    parser.add_argument("--requests", type=int, default=10_000, help="to each (default: 10000)")
    parser.add_argument("--out", required=True, help="folder for the reasons")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    out, rows = made_folder(given.out), []
    for path in map(Path, given.saved_models):
        log = out / f"{path.name}.log"
        try:
            result = in_its_own_process(attacked, path, given.requests, given.seed, log)
        except BrokenProcessPool:
            result = None
        (out / f"{path.name}.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
        rows.append(row_of(path.name, result))
        print(f"{path.name}: {'crashed' if result is None else 'answered'}", file=sys.stderr)
    print(table(HEAD, rows))
