"""Peak memory of a training by the number of its records, which are read from shards.

Run as `python -m benchmarks.memory_by_records --out FOLDER [--counts N …]`. Pairs of texts are
generated, prepared in shards and trained on for an epoch by the recipe `translator_transformer`
with a small model, each in processes of their own. Prints the largest resident set of the training
process, the time of both and the ratio to the smallest number of records. Shards that are in
the folder already are taken as they are. A million records take about 170 MB of disk.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.timing import table

RECIPE = "translator_transformer"
COUNTS = (10_000, 1_000_000)
DEV, WORDS, SHORTEST, LONGEST = 500, 2000, 4, 9
SMALL = {
    "epochs": 1,
    "num_layers": 1,
    "hidden_dim": 32,
    "intermediate_dim": 64,
    "vocabulary_size": 2000,
    "batch_tokens": 4096,
    "lengths": (16, 32),
    "beam_width": 1,
    "precision": "float32",
}
HEAD = ("records", "preparing, s", "training, s", "peak memory, MB", "ratio")


def write_pairs(folder: Path, count: int) -> None:
    """Writes parallel files of random words and of the same words backwards."""
    draw = random.Random(count)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 8))) for _ in range(WORDS)]
    folder.mkdir()
    for name, rows in (("train", count), ("dev", DEV)):
        with (
            (folder / f"{name}.en").open("w", encoding="utf-8") as source,
            (folder / f"{name}.de").open("w", encoding="utf-8") as target,
        ):
            for _ in range(rows):
                text = draw.choices(words, k=draw.randint(SHORTEST, LONGEST))
                source.write(" ".join(text) + "\n")
                target.write(" ".join(reversed(text)) + "\n")


def run(*arguments) -> tuple[float, float]:
    """Runs keras-attn in a process of its own; its seconds and its largest resident set, in MB.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    command = [sys.executable, "-m", "keras_attn_pipelines", *map(str, arguments)]
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def measured(out: Path, count: int) -> tuple[float, float, float]:
    """Seconds of preparing, seconds of training and MB of its peak, for a number of records."""
    columns = ("--source-column", "en", "--target-column", "de")
    texts, shards, trained = (out / f"{name}_{count}" for name in ("texts", "shards", "run"))
    preparing = 0.0
    if not shards.is_dir():
        shutil.rmtree(texts, ignore_errors=True)
        write_pairs(texts, count)
        preparing, _ = run("prepare", RECIPE, "--data", texts, "--out", shards, *columns)
        shutil.rmtree(texts)
    shutil.rmtree(trained, ignore_errors=True)
    flags = []
    for name, value in SMALL.items():
        values = value if isinstance(value, tuple) else (value,)
        flags += [f"--{name.replace('_', '-')}", *values]
    training, peak = run("train", RECIPE, "--data", shards, "--out", trained, *flags)
    return preparing, training, peak


def compare(out, counts=COUNTS) -> str:
    """The table for some numbers of records, the smallest first."""
    out, rows, least = Path(out), [], 0.0
    out.mkdir(parents=True, exist_ok=True)
    for count in counts:
        preparing, training, peak = measured(out, count)
        least = least or peak
        cells = (f"{value:.0f}" for value in (preparing, training, peak))
        rows.append([f"{count:,}", *cells, f"{peak / least:.2f}"])
    return table(HEAD, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="folder for shards and runs")
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="of records")
    given = parser.parse_args()
    print(compare(given.out, given.counts))
