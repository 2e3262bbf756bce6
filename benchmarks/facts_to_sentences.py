"""Facts into sentences: order planning and copying, each left out, beside a linearized translator.

Run as `python -m benchmarks.facts_to_sentences --data FOLDER --out FOLDER`. FOLDER has sets of
facts with texts, such as those of webnlg. Trains `webnlg_graph` without slots, so that names are
copied in pieces: with both parts, without link-based attention and without copying. Then trains the
Transformer of `translator_transformer`, as large and as long, on the facts as one line of text.
What has been trained before in the folder is taken as it is. Writes the table to FOLDER/table.md
and prints it: sacreBLEU and chrF against all references, the shares of `fact_metrics`, and minutes
of training.
"""

import json
from dataclasses import replace
from pathlib import Path

import tensorflow as tf

from benchmarks import trainings
from keras_attn.serving.readers.facts import readable_facts
from keras_attn_pipelines.recipes.webnlg_graph import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.tasks.data_to_text.work import text_scores
from keras_attn_pipelines.tasks.seq2seq import Seq2Seq, TextPairs, Transformer

PIECES = {"slots": 0, "made_up_names": 0.3}
SYSTEMS = {
    "planning and copying": {},
    "without links": {"content_least": 1.0, "content_most": 1.0},
    "without copying": {"copies": False},
}
LINEAR = "linearized translator"
HEADS = "system", "BLEU", "chrF", "order", "mentioned", "copied", "minutes"


def linearized(facts) -> str:
    """Facts in their given order as one line of text."""
    parts = readable_facts(tf.constant([list(fact) for fact in facts])).numpy().tolist()
    return " ; ".join(" | ".join(part.decode() for part in fact) for fact in parts)


def write_pairs(data, folder: Path) -> Path:
    """Writes the facts of train and dev as pairs of texts: all texts of train, the first of dev."""
    for split, count in (("train", None), ("dev", 1)):
        pairs = [
            {"source": linearized(record.facts), "target": list(record.texts[:count])}
            for record in RECIPE.source.split(data, split)
        ]
        trainings.write_lines(folder / f"{split}.jsonl", pairs)
    return folder


def translator():
    """The recipe of the linearized translator: everything but the task as in `webnlg_graph`."""
    task, sizes = RECIPE.task, RECIPE.model.sizes
    pairs = Seq2Seq(pieces=task.pieces, lengths=task.source_lengths, search=task.search)
    return replace(RECIPE, source=TextPairs(), task=pairs, model=Transformer(sizes=sizes))


def measured(name: str, data, out: Path, values) -> dict:
    """Trains a system, and returns its scores on dev and the minutes that it took."""
    experiment, given = RECIPE.replaced({**PIECES, **SYSTEMS.get(name, {})}), data
    if name == LINEAR:
        experiment, given = translator(), write_pairs(data, out / "pairs")
    values = {key: value for key, value in values.items() if key in experiment.values()}
    experiment, stem = experiment.replaced(values), trainings.file_stem(name)
    run, minutes = trainings.minutes_of(train, experiment, given, out / stem, stem, verbose=0)
    report = json.loads(evaluate(run, given, "dev").json())
    texts = [row["text"] for row in report["texts"]]
    return {**text_scores(texts, RECIPE.source.split(data, "dev")), "minutes": minutes}


def compare(data, out, values=None) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        data: folder of sets of facts.
        out: folder of the runs.
        values: values of fields in all trainings that have them.
    """
    return trainings.write_table(out, HEADS, _rows(data, Path(out), values or {}))


def _rows(data, out, values):
    for name in (*SYSTEMS, LINEAR):
        path = out / f"{trainings.file_stem(name)}.json"
        scores = trainings.recorded(path, measured, name, data, out, values)
        yield [name, *trainings.fact_cells(scores), f"{scores['minutes']:.0f}"]


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "folder of sets of facts", "every system")
    given = parser.parse_args()
    print(compare(given.data, given.out, trainings.given_values(epochs=given.epochs)))
