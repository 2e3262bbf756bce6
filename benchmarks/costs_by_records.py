"""What a training costs by the number of its records, which are read from shards, and of workers.

Run as `python -m benchmarks.costs_by_records --out FOLDER [--counts N …] [--workers N …]`. Pairs of
texts are generated, prepared in shards and trained on for an epoch by the recipe
`translator_transformer` with a small model, each in processes of their own; several workers train
together, on this machine. Prints processor seconds of preparing and of training, of all processes,
those of training for each 10,000 records, and the largest resident set of a training process with
its ratio to that of the first row. Shards that are in the folder already are taken as they are. A
million records take about 170 MB of disk.
"""

import argparse
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

from benchmarks.timing import printed, table
from tests import workers

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
HEAD = (
    "records",
    "workers",
    "preparing, s",
    "training, s",
    "for 10,000",
    "peak memory, MB",
    "ratio",
)


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


def run(out: Path, count: int, *arguments) -> tuple[float, float]:
    """Runs keras-attn in `count` processes that train together, or in one.

    Returns:
        processor seconds of all, and the largest resident set in MB.

    Raises:
        subprocess.CalledProcessError: one failed.
    """
    seconds, peak = 0.0, 0.0
    running = workers.start("keras_attn_pipelines", *[arguments] * count, folder=out / "printed")
    while running:
        for process in list(running):
            number, status, usage = os.wait4(process.pid, os.WNOHANG)
            if not number:
                continue
            running.remove(process)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds += usage.ru_utime + usage.ru_stime
            peak = max(peak, usage.ru_maxrss / 1024)
            if process.returncode:
                for other in running:
                    other.kill()
                    other.wait()
                raise subprocess.CalledProcessError(process.returncode, process.args)
        time.sleep(0.1)
    return seconds, peak


def measured(out: Path, count: int, together: int) -> tuple[float, float, float]:
    """Seconds of preparing, seconds of training and MB of its peak, for a number of records.

    Args:
        out: folder for shards and runs.
        count: int. Records.
        together: int. Workers.
    """
    columns = ("--source-column", "en", "--target-column", "de")
    texts, shards, trained = (out / f"{name}_{count}" for name in ("texts", "shards", "run"))
    preparing = 0.0
    if not shards.is_dir():
        shutil.rmtree(texts, ignore_errors=True)
        write_pairs(texts, count)
        preparing, _ = run(out, 1, "prepare", RECIPE, "--data", texts, "--out", shards, *columns)
        shutil.rmtree(texts)
    shutil.rmtree(trained, ignore_errors=True)
    flags = ["--strategy", "multiworker" if together > 1 else "one"]
    for name, value in SMALL.items():
        values = value if isinstance(value, tuple) else (value,)
        flags += [f"--{name.replace('_', '-')}", *values]
    training, peak = run(out, together, "train", RECIPE, "--data", shards, "--out", trained, *flags)
    return preparing, training, peak


def compare(out, counts=COUNTS, together=(1,)) -> str:
    """The table for numbers of records and of workers, whose rows are printed as they come."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)

    def rows():
        least = 0.0
        for count in counts:
            for number in together:
                preparing, training, peak = measured(out, count, number)
                least = least or peak
                each = training / count * 10_000
                cells = (
                    f"{value:.0f}" if value else "" for value in (preparing, training, each, peak)
                )
                yield [f"{count:,}", number, *cells, f"{peak / least:.2f}"]

    return table(HEAD, list(printed(rows())))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="folder for shards and runs")
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="of records")
    parser.add_argument("--workers", type=int, nargs="+", default=[1], help="that train together")
    given = parser.parse_args()
    print(compare(given.out, given.counts, given.workers))
