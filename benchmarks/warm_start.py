"""What a warm start gives: a captioner that never met a subject, and 200 pictures of it.

From a folder of captioned pictures with a split (Flickr8k), all pictures whose captions name the
subject are set apart. A captioner is trained on the rest, and goes on with 200 of the subject's
training pictures (170 to train, 30 to pick the epoch); the subject's dev pictures measure. Beside
it: the same captioner as it was, and one that was trained on the 200 alone.

    python -m benchmarks.warm_start --data flickr8k --out bench

Stopped, it goes on with the same command.
"""

import re
import shutil
from pathlib import Path

import numpy as np

from benchmarks.made_up import write_captions
from benchmarks.timing import table
from benchmarks.trainings import ended_run, training_parser, write
from keras_attn.whole_file import made_folder
from keras_attn_pipelines.recipes.flickr8k import RECIPE as FLICKR8K
from keras_attn_pipelines.recipes.own_pictures import RECIPE as OWN_PICTURES
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.warm_start import WarmStart

SUBJECT = "dogs?|puppy|puppies"
SCORES = {"BLEU-1": "bleu_1", "BLEU-4": "bleu_4", "CIDEr-D": "cider_d"}


def compare(data, out, subject, count, cache=None) -> str:
    """Trains and measures; returns the table."""
    out, usual = Path(out), {"cache": cache, "verbose": "auto"}
    others, pictures = set_apart(data, out, subject, count)
    source = ended_run(FLICKR8K, others, out / "source", "flickr8k", **usual)
    start = WarmStart.read(source.folder)
    adapted = start.adapted(OWN_PICTURES, {})
    longer = FLICKR8K.replaced({"epochs": 30, "patience": 30, "warmup_steps": 20})
    warm = ended_run(adapted, pictures, out / "warm", "own_pictures", source=start, **usual)
    scratch = ended_run(longer, pictures, out / "scratch", "flickr8k", **usual)
    runs = {
        "as it was": source,
        f"{count} pictures, warm start": warm,
        f"{count} pictures, from scratch": scratch,
    }
    rows = []
    for name, run in runs.items():
        scores = evaluate(run, pictures, "test").scores
        rows.append([name, *(f"{scores[key]:.3f}" for key in SCORES.values())])
    return table(("captioner", *SCORES), rows)


def set_apart(data, out, subject, count):
    """Two data folders: the pictures whose captions do not name the subject, and `count` that do.

    Returns:
        the two paths; the second has a split "test" of the subject's dev pictures.
    """
    read = FLICKR8K.source.read(data).splits
    names = re.compile(rf"\b({subject})\b", re.IGNORECASE)
    others, named = {}, {}
    for split, records in read.items():
        for record in records:
            has_subject = any(names.search(caption) for caption in record.captions)
            (named if has_subject else others).setdefault(split, []).append(record)
    chosen = np.random.default_rng(0).permutation(len(named["train"]))[:count]
    train, held_out = [named["train"][place] for place in chosen], count * 3 // 20
    few = {"train": train[held_out:], "dev": train[:held_out], "test": named["dev"]}
    return write_folder(out / "others", others), write_folder(out / "own", few)


def write_folder(folder, splits) -> Path:
    """Writes a data folder of the project's form."""
    records = [record for records in splits.values() for record in records]
    for record in records:
        copy = made_folder(folder / "images") / record.path.name
        if not copy.is_file():
            shutil.copyfile(record.path, copy)
    write_captions(
        folder, ((record.path.name, caption) for record in records for caption in record.captions)
    )
    for split, chosen in splits.items():
        write(folder / f"{split}.txt", "".join(f"{record.path.name}\n" for record in chosen))
    return folder


if __name__ == "__main__":
    parser = training_parser(__doc__, "data folder with a split")
    parser.add_argument("--subject", default=SUBJECT, help="regular expression")
    parser.add_argument("--count", type=int, default=200, help="pictures of one's own")
    parser.add_argument("--cache", help="folder of the feature cache")
    given = parser.parse_args()
    print(compare(given.data, given.out, given.subject, given.count, given.cache))
