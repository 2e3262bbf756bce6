"""Facts into sentences: order planning and copying, each left out, beside a linearized translator.

Run as `python -m benchmarks.facts_to_sentences --data FOLDER --out FOLDER`. FOLDER has sets of
facts with texts, such as those of webnlg. Trains `webnlg_graph` without slots, so that names are
copied in pieces: with both parts, without link-based attention and without copying. Then trains the
Transformer of `translator_transformer`, as large and as long, on the facts as one line of text.
What has been trained before in the folder is taken as it is. Writes the table to FOLDER/table.md
and prints it: sacreBLEU and chrF against all references, the shares of `fact_metrics`, and minutes
of training.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import tensorflow as tf

from keras_attn.serving.readers.facts import readable_facts
from keras_attn.whole_file import whole_file
from keras_attn_pipelines.recipes.webnlg_graph import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.tasks.data_to_text.evaluation import text_scores
from keras_attn_pipelines.tasks.seq2seq import Seq2Seq, TextPairs, Transformer

PIECES = {"slots": 0, "made_up_names": 0.3}
SYSTEMS = {
    "planning and copying": {},
    "without links": {"content_least": 1.0, "content_most": 1.0},
    "without copying": {"copies": False},
}
LINEAR = "linearized translator"
HEADS = "system", "BLEU", "chrF", "order", "mentioned", "copied", "minutes"
SHARES = ("order", "mentioned", "copied")


def linearized(facts) -> str:
    """Facts in their given order as one line of text."""
    parts = readable_facts(tf.constant([list(fact) for fact in facts])).numpy().tolist()
    return " ; ".join(" | ".join(part.decode() for part in fact) for fact in parts)


def write_pairs(data, folder: Path) -> Path:
    """Writes the facts of train and dev as pairs of texts: all texts of train, the first of dev."""
    folder.mkdir(exist_ok=True)
    for split in ("train", "dev"):
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for record in RECIPE.source.split(data, split):
                texts = list(record.texts if split == "train" else record.texts[:1])
                pair = {"source": linearized(record.facts), "target": texts}
                file.write(json.dumps(pair) + "\n")
    return folder


def translator():
    """The recipe of the linearized translator: everything but the task as in `webnlg_graph`."""
    task, sizes = RECIPE.task, RECIPE.model.sizes
    pairs = Seq2Seq(
        vocabulary_size=task.vocabulary_size, lengths=task.source_lengths, search=task.search
    )
    return replace(RECIPE, source=TextPairs(), task=pairs, model=Transformer(sizes=sizes))


def answered(name: str, data, out: Path, values) -> tuple[list[str], float]:
    """A system's texts for dev in order, and minutes of training."""
    begin, folder = time.monotonic(), out / name.replace(" ", "_")
    if name == LINEAR:
        experiment, data = translator(), write_pairs(data, out / "pairs")
    else:
        experiment = RECIPE.replaced({**PIECES, **SYSTEMS[name]})
    known = {key: value for key, value in values.items() if key in experiment.values()}
    run = train(experiment.replaced(known), data, folder, name=folder.name, verbose=0)
    minutes = (time.monotonic() - begin) / 60
    report = json.loads(evaluate(run, data, "dev").json())
    return [row["text"] for row in report["texts"]], minutes


def measured(name: str, data, out: Path, values) -> dict:
    """Scores of a system on dev; trained where that is not done."""
    path = out / f"{name.replace(' ', '_')}.json"
    if not path.is_file():
        texts, minutes = answered(name, data, out, values)
        scores = text_scores(texts, RECIPE.source.split(data, "dev"))
        with whole_file(path) as partial:
            partial.write_text(json.dumps({**scores, "minutes": minutes}), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def compare(data, out, values=None) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        data: folder of sets of facts.
        out: folder of the runs.
        values: values of fields in all trainings that have them.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    rows = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
    for name in (*SYSTEMS, LINEAR):
        scores = measured(name, data, out, values or {})
        cells = [f"{scores[key]:.1f}" for key in ("bleu", "chrf")]
        cells += [f"{100 * scores[key]:.1f}%" for key in SHARES]
        rows.append(f"| {name} | {' | '.join(cells)} | {scores['minutes']:.0f} |")
        print(rows[-1], flush=True)
    text = "\n".join(rows)
    with whole_file(out / "table.md") as partial:
        partial.write_text(f"{text}\n", encoding="utf-8")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--epochs", type=int, help="of every system; default: the recipe's")
    parsed = parser.parse_args()
    values = {"epochs": parsed.epochs} if parsed.epochs else {}
    print(compare(parsed.data, parsed.out, values))


if __name__ == "__main__":
    main()
