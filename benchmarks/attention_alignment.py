"""Word alignment by the attention of translators that are trained on the sentences alone.

Run as `python -m benchmarks.attention_alignment PAIRS.jsonl --dev DEV.jsonl --out FOLDER`. Both
files have `src_words`, `tgt_words` and `alignment` on each line. Trains each translator on PAIRS
from source to target, keeps the epoch with the lowest loss on DEV, lets the translator read the
pairs again with their targets given, and links each target word with the source word that it
attends to most. Which layer, head and step are taken is chosen by the gold links of DEV; the error
rates are those of PAIRS. What has been trained before in the folder is taken as it is.
"""

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks import trainings
from benchmarks.timing import table
from benchmarks.translation_models import CONV, RNN, TRANSFORMER
from benchmarks.word_alignment import TOLERANCE
from keras_attn.alignment import alignment_scores, read_gold, read_pairs
from keras_attn.whole_file import made_folder, move_folder, whole_folder
from keras_attn_pipelines.runs.export import export
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.saved.attention_word_links import Attended

PLANS: dict[str, tuple[Any, dict[str, Any]]] = {
    "LSTM, additive": (RNN, {}),
    "LSTM, multiplicative, local-p": (RNN, {"score": "multiplicative", "scope": "local-p"}),
    "ConvS2S": (CONV, {}),
    "Transformer": (TRANSFORMER, {}),
}
COLUMNS = {"source_column": "source", "target_column": "target"}
SYMMETRIZATIONS = ("forward", "intersection")
HEAD = ("translator", "CPU minutes", "attention", "step", *SYMMETRIZATIONS, "mean of all, forward")
RECORD = "minutes.json"


def write_pairs(files, folder) -> Path:
    """Writes the words of pairs, separated by spaces, as a folder of texts, unless it is there."""
    folder = Path(folder)
    if not folder.is_dir():
        with whole_folder(folder.parent) as partial:
            for split, file in files.items():
                for name, side in zip(COLUMNS.values(), read_pairs(file)):
                    text = "".join(f"{' '.join(words)}\n" for words in side)
                    (partial / f"{split}.{name}").write_text(text, encoding="utf-8")
            move_folder(partial, folder)
    return folder


def translator(plan, data, out, epochs: int) -> tuple[Path, float]:
    """An exported translator, and the CPU minutes of its training."""
    recipe, values = plan
    values = {**values, **COLUMNS, "epochs": epochs, "monitor": "val_loss", "seed": 0}
    experiment = recipe.replaced(values)
    options = {"name": "translator", "verbose": 2, "clock": time.process_time}

    def minutes():
        return trainings.minutes_of(train, experiment, str(data), out / "run", **options)[1]

    spent, saved = trainings.recorded(out / RECORD, minutes), out / "saved_model"
    if not saved.is_dir():
        export(Run(out / "run"), saved)
    return saved, spent


def row(name, folder, minutes, files) -> list[str]:
    """A row of the table: the choice by the gold links of dev, and the rates of the pairs."""
    read, gold = {}, {}
    for split, file in files.items():
        pairs = read_pairs(file)
        gold[split] = read_gold(file, *pairs, TOLERANCE)[0]
        read[split] = Attended.of(pairs, folder, every=True)
    rates = read["val"].rates(gold["val"], "forward")
    best = min(rates, key=lambda choice: rates[choice])
    links = [read["train"].links(*best, each) for each in SYMMETRIZATIONS]
    mean = min(rates, key=lambda choice: (choice.layer or 0, choice.head or 0, rates[choice]))
    links.append(read["train"].links(*mean, "forward"))
    scores = [alignment_scores(each, gold["train"]).aer for each in links]
    return [name, f"{minutes:.1f}", best.name, best.step, *(f"{aer:.3f}" for aer in scores)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", metavar="PAIRS.jsonl")
    parser.add_argument("--dev", required=True, metavar="DEV.jsonl")
    parser.add_argument("--out", required=True, help="folder, new or with some of the trainings")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--only", nargs="*", choices=PLANS, default=list(PLANS))
    given = parser.parse_args()
    files, out = {"train": given.pairs, "val": given.dev}, made_folder(given.out)
    data, rows = write_pairs(files, out / "data"), []
    for number, (name, plan) in enumerate(PLANS.items(), 1):
        if name in given.only:
            saved, minutes = translator(plan, data, out / f"{number:02}", given.epochs)
            rows.append(row(name, saved, minutes, files))
            print(table(HEAD, rows), flush=True)
