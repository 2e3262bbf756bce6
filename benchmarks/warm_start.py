"""What a warm start gives: a captioner that never met a subject, and 200 pictures of it.

From a folder of captioned pictures with a split (Flickr8k), all pictures whose captions name the
subject are set apart. A captioner is trained on the rest, and goes on with 200 of the subject's
training pictures (170 to train, 30 to pick the epoch); the subject's dev pictures measure. Beside
it: the same captioner as it was, and one that was trained on the 200 alone.

    python -m benchmarks.warm_start --data flickr8k --out bench

Stopped, it goes on with the same command.
"""

import argparse
import csv
import re
import shutil
from pathlib import Path

import numpy as np

from keras_attn_pipelines.recipes.flickr8k import RECIPE as FLICKR8K
from keras_attn_pipelines.recipes.own_pictures import RECIPE as OWN_PICTURES
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.runs.warm_start import WarmStart

SHOWN = ("bleu_1", "bleu_4", "cider_d")


def compare(data, out, subject, count, cache=None) -> str:
    """Trains and measures; returns the table."""
    others, own = set_apart(data, Path(out), subject, count)
    source = _trained(FLICKR8K, others, Path(out) / "source", "flickr8k", cache)
    warm = WarmStart.read(source.folder)
    runs = {
        "as it was": source,
        f"{count} pictures, warm start": _trained(
            warm.adapted(OWN_PICTURES, {}), own, Path(out) / "warm", "own_pictures", cache, warm
        ),
        f"{count} pictures, from scratch": _trained(
            FLICKR8K.replaced({"epochs": 30, "patience": 30, "warmup_steps": 20}),
            own,
            Path(out) / "scratch",
            "flickr8k",
            cache,
        ),
    }
    lines = ["| captioner | BLEU-1 | BLEU-4 | CIDEr-D |", "| --- | --- | --- | --- |"]
    for name, run in runs.items():
        scores = evaluate(run, own, "test").scores
        lines.append(" | ".join([f"| {name}", *(f"{scores[key]:.3f}" for key in SHOWN)]) + " |")
    return "\n".join(lines)


def set_apart(data, out, subject, count):
    """Two data folders: the pictures whose captions do not name the subject, and `count` that do.

    Returns:
        the two paths; the second has a split "test" of the subject's dev pictures.
    """
    read = FLICKR8K.source.read(data).splits
    names = re.compile(rf"\b({subject})\b", re.IGNORECASE)
    splits = {"others": {}, "own": {}}
    for split, records in read.items():
        for record in records:
            kind = "own" if any(names.search(caption) for caption in record.captions) else "others"
            splits[kind].setdefault(split, []).append(record)
    chosen = np.random.default_rng(0).permutation(len(splits["own"]["train"]))[:count]
    train = [splits["own"]["train"][place] for place in chosen]
    held = count * 3 // 20
    splits["own"] = {"train": train[held:], "dev": train[:held], "test": splits["own"]["dev"]}
    return tuple(_written(out / kind, parts) for kind, parts in splits.items())


def _written(folder, splits):
    """A data folder of the project's form."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    with (folder / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption"])
        for record in (record for records in splits.values() for record in records):
            name = record.path.name
            writer.writerows([name, caption] for caption in record.captions)
            if not (folder / "images" / name).is_file():
                shutil.copyfile(record.path, folder / "images" / name)
    for split, records in splits.items():
        text = "".join(f"{record.path.name}\n" for record in records)
        (folder / f"{split}.txt").write_text(text, encoding="utf-8")
    return folder


def _trained(recipe, data, out, name, cache, source=None):
    run = Run(out)
    if out.exists() and run.description.get("ended"):
        return run
    return train(recipe, data, out, name, cache=cache, source=source)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="data folder with a split")
    parser.add_argument("--out", required=True, help="folder for data, runs and scores")
    parser.add_argument("--subject", default="dogs?|puppy|puppies", help="regular expression")
    parser.add_argument("--count", type=int, default=200, help="pictures of one's own")
    parser.add_argument("--cache", help="folder of the feature cache")
    given = parser.parse_args()
    print(compare(given.data, given.out, given.subject, given.count, given.cache))
