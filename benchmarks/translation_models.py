"""Translators of one task side by side: recurrent, convolutional, Transformer, in equal CPU time.

Run as `python -m benchmarks.translation_models --data FOLDER --out FOLDER`. FOLDER has pairs of
texts in English and German, such as Multi30k's train.en, train.de, val.en and so on; the test set
is `--test`. All learn the same tokenizer and have the same pairs, batches and search, and as many
epochs as fit into `--minutes` of CPU time on one thread, estimated before the training begins; the
learning rate falls to 0 in them, and the best epoch on val is kept. What has been trained before
in the folder is taken as it is, so that models can be trained one by one (`--only`). Where other
work takes time from the machine, the estimate is too low: `--epochs` says how many instead.

Writes the tables to FOLDER/table.md and a plot of BLEU by length of the source to
FOLDER/lengths.png. BLEU and chrF are sacreBLEU's on raw text; "Moses" is BLEU of lower-cased text
in Moses' tokens, as papers on Multi30k have it. Decoding speed is greedy, of all models in turns.
"""

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import trainings
from benchmarks.tensorflow_threads import set_threads
from benchmarks.timing import in_turns, over, table
from keras_attn_pipelines.recipes import translator_conv, translator_rnn, translator_transformer
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.prepared import prepare
from keras_attn_pipelines.runs.run import DESCRIPTION_FILE, HISTORY_FILE, Run
from keras_attn_pipelines.runs.train import train

RNN, CONV, TRANSFORMER = (
    module.RECIPE for module in (translator_rnn, translator_conv, translator_transformer)
)
PLANS: dict[str, tuple[Any, dict[str, Any]]] = {
    "LSTM without attention": (RNN, {"scope": "none"}),
    "LSTM, additive": (RNN, {}),
    "LSTM, dot, encoder in one direction": (RNN, {"score": "dot", "bidirectional": False}),
    "LSTM, multiplicative": (RNN, {"score": "multiplicative"}),
    "LSTM, multiplicative, local-m": (RNN, {"score": "multiplicative", "scope": "local-m"}),
    "LSTM, multiplicative, local-p": (RNN, {"score": "multiplicative", "scope": "local-p"}),
    "LSTM, additive, hard": (RNN, {"hard": True}),
    "ConvS2S": (CONV, {}),
    "Transformer": (TRANSFORMER, {"length_alpha": 0.6}),
}
COLUMNS = {"source_column": "en", "target_column": "de"}
STEPS, WARM_UP = 40, 20
SHARE = 0.93  # Of the time that the steps may take; the rest is for scoring on dev.
LENGTHS = (10, 15, 20)
BATCH, SENTENCES, TURNS = 32, 128, 5
RECORD, TRAINED = "measured.json", "trained.json"


def steps_seconds(experiment, data) -> tuple[float, int]:
    """CPU seconds of a training step, as a median, and the steps of an epoch."""
    prepared = prepare(experiment, data)
    stage = prepared.compile(prepared.build(), False).model
    batches = prepared.data.training(0).take(WARM_UP + STEPS)
    seconds = []
    for inputs, targets, weights in [*batches, *batches]:
        begin = time.process_time()
        stage.train_on_batch(inputs, targets, sample_weight=weights)
        seconds.append(time.process_time() - begin)
    return float(np.mean(seconds[WARM_UP + STEPS :])), prepared.data.steps


def trained(experiment, data, out, minutes: float, epochs: int | None = None) -> dict[str, Any]:
    """Trains for about `minutes` of CPU time, or for `epochs`, and returns what it took.

    An interrupted training goes on with the epochs that were planned for it; its time is
    extrapolated from that of the epochs that it still had to do.
    """
    run, done = Run(out), 0
    if (run.folder / DESCRIPTION_FILE).is_file():
        epochs = run.experiment().fit.epochs
        with contextlib.suppress(FileNotFoundError):
            done = len((run.folder / HISTORY_FILE).read_text().splitlines()) - 1
    elif epochs is None:
        seconds, steps = steps_seconds(experiment, data)
        epochs = max(2, int(60 * minutes * SHARE / (seconds * steps)))
    experiment = experiment.replaced({"epochs": epochs})
    options = {"name": "translator", "verbose": 2, "clock": time.process_time}
    run, spent = trainings.minutes_of(train, experiment, data, out, **options)
    spent *= epochs / max(1, epochs - done)
    return {"epochs": epochs, "minutes": spent, "parameters": int(run.model().count_params())}


def moses_bleu(texts, references) -> float:
    """BLEU of lower-cased texts in German tokens of Moses."""
    from sacrebleu.metrics import BLEU
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(lang="de")

    def tokens(text):
        return tokenizer.tokenize(text.lower(), return_str=True, escape=False)

    score = BLEU(tokenize="none", force=True).corpus_score(
        [tokens(text) for text in texts], [[tokens(text) for text in references]]
    )
    return float(score.score)


def by_length(facts, lengths=LENGTHS) -> dict[str, float]:
    """BLEU by the words of the source; in brackets the number of sentences."""
    from sacrebleu.metrics import BLEU

    scores, least = {}, 1
    for most in (*lengths, None):
        chosen = [
            fact for fact in facts if least <= len(fact["source"].split()) <= (most or float("inf"))
        ]
        if chosen:
            texts = [fact["text"] for fact in chosen]
            score = BLEU(force=True).corpus_score(texts, [[fact["reference"] for fact in chosen]])
            words = f"{least}–{most}" if most else f"≥ {least}"
            scores[f"{words} ({len(chosen)})"] = float(score.score)
        least = (most or 0) + 1
    return scores


def scored(run, data, split) -> dict[str, Any]:
    """Scores of a run on a split, with the recipe's search."""
    evaluation = evaluate(run, data, split, batch=BATCH)
    facts = evaluation.facts["texts"]
    texts, references = ([fact[key] for fact in facts] for key in ("text", "reference"))
    moses = {"moses": moses_bleu(texts, references)}
    return {**evaluation.scores, **moses, "lengths": by_length(facts)}


def measured(name, experiment, data, folder, test, *amount) -> dict[str, Any]:
    """Trains a model and scores it; the amount of training as of `trained`."""
    print(f"{name}: training", flush=True)
    # Written by itself for when scoring is interrupted.
    work = trained, experiment, data, folder / "run", *amount
    record = trainings.recorded(folder / TRAINED, *work)
    scores = {split: scored(Run(folder / "run"), data, split) for split in ("dev", test)}
    return {"name": name, "folder": folder.name, **record, **scores}


def compare(
    data, out, test: str, minutes: float, only=(), plans=None, sizes=None, epochs: int | None = None
) -> str:
    """Trains what has not been trained, and returns the tables of all that has.

    Args:
        data: folder of the pairs.
        out: folder of the runs.
        test: name of the test split.
        minutes: of CPU time for each model.
        only: names of the plans to train; all, if there are none.
        plans: dict from names to recipes and field values; None: `PLANS`.
        sizes: further field values of all.
        epochs: of each model, whatever time they take; None: as `minutes` has it.
    """
    import sacremoses  # noqa: F401 - its absence is to be known before the training.

    plans, out = plans or PLANS, Path(out)
    for number, (name, (recipe, values)) in enumerate(plans.items(), 1):
        if not only or name in only:
            experiment = recipe.replaced({**COLUMNS, **values, **(sizes or {})})
            folder = out / f"{number:02}"
            work = measured, name, experiment, data, folder, test, minutes, epochs
            trainings.recorded(folder / RECORD, *work)
    folders = sorted(path.parent for path in out.glob(f"*/{RECORD}"))
    records = [json.loads((folder / RECORD).read_text(encoding="utf-8")) for folder in folders]
    speeds = {} if only else _speeds(folders, data, test)
    text = tables(records, test, speeds)
    trainings.write(out / "table.md", f"{text}\n")
    draw(records, test, out / "lengths.png")
    return text


def _speeds(folders, data, test):
    """Sentences a second of each run by folder, decoded greedily, in turns."""
    import tensorflow as tf

    works = {}
    for folder in folders:
        run = Run(folder / "run")
        experiment = run.experiment()
        service = run.service(1, experiment.task.spec.judged, "float32", None)
        function, inputs = service.signatures()["serving_default"]
        graph = tf.function(function, input_signature=inputs, autograph=False)
        pairs = experiment.source.split(data, test)[:SENTENCES]
        sources = sorted((pair.source for pair in pairs), key=len)
        batches = [
            tf.constant(sources[start : start + BATCH]) for start in range(0, len(sources), BATCH)
        ]
        works[folder.name] = over(batches, graph)
    seconds = in_turns(works, TURNS) if works else {}
    return {name: SENTENCES / float(np.median(times)) for name, times in seconds.items()}


def tables(records, test, speeds) -> str:
    """The tables of the records."""
    head = ["model", "parameters", "epochs", "CPU minutes", "sentences/s"]
    for split in ("val", test):
        head += [f"{split} BLEU", "chrF", "Moses"]
    rows, longs = [], []
    for record in records:
        speed = speeds.get(record["folder"])
        row = [record["name"], f"{record['parameters']:,}", record["epochs"]]
        row += [f"{record['minutes']:.1f}", "" if speed is None else f"{speed:.0f}"]
        for split in ("dev", test):
            row += [f"{record[split][key]:.1f}" for key in ("bleu", "chrf", "moses")]
        rows.append(row)
        longs.append([record["name"], *(f"{x:.1f}" for x in record[test]["lengths"].values())])
    bins = list(records[0][test]["lengths"]) if records else []
    return f"{table(head, rows)}\n\n{table([f'{test} BLEU, words of the source', *bins], longs)}"


def draw(records, test, path):
    """Plots BLEU by length of the source."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    for place, record in enumerate(records):
        lengths = record[test]["lengths"]
        style = {"marker": "o", "linestyle": "--" if place % 2 else "-", "color": f"C{place}"}
        axes.plot(list(lengths), list(lengths.values()), label=record["name"], **style)
    axes.set_xlabel("words of the source (number of sentences)")
    axes.set_ylabel(f"BLEU on {test}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "folder of the pairs")
    parser.add_argument("--test", default="test_2016_flickr", help="name of the test split")
    parser.add_argument("--minutes", type=float, default=25.0, help="CPU minutes for each model")
    parser.add_argument("--epochs", type=int, help="epochs of each model, instead of --minutes")
    parser.add_argument("--only", nargs="+", default=(), choices=list(PLANS), metavar="MODEL")
    given = parser.parse_args()
    set_threads(1)  # So that CPU time is that of the work alone.
    print(
        compare(given.data, given.out, given.test, given.minutes, given.only, epochs=given.epochs)
    )
