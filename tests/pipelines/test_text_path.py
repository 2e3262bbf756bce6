"""The whole path from text to text by the command line, on a toy language."""

import io
import json
import re
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.saved.c_session import c_error
from keras_attn.saved.loading import load
from keras_attn.serving.declared import read_metadata
from keras_attn.training import AverageModel
from keras_attn.training.model_file import read_model_file
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.experiment import Callbacks
from keras_attn_pipelines.recipes.translator_transformer import RECIPE
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.runs.warm_start import WarmStart
from keras_attn_pipelines.tasks.seq2seq.work import Seq2SeqWork
from tests.pipelines.explored import explored
from tests.pipelines.saved_evaluation import check_saved_evaluation
from tests.pipelines.toy_language import TINY, write_folder

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

LANGUAGES = ["--source-column", "en", "--target-column", "de"]
CHOICES = [
    "--hidden-dim",
    "14",
    "--intermediate-dim",
    "11",
    "--num-heads",
    "2",
    "--num-layers",
    "1",
]
CHOICES += ["--vocabulary-size", "310", "--vocabulary", "separate", "--lengths", "7", "13", "23"]
CHOICES += ["--batch-tokens", "230", "--epochs", "2", "--beam-width", "2", "--monitor", "val_loss"]
CHOICES += [
    "--schedule",
    "inverse_square_root",
    "--scheduled-sampling-rate",
    "0.5",
    "--average",
    "2",
]
NEW = ["train", "translator-transformer", "--data"]


def command(data, out, *more):
    return [*NEW, str(data), "--out", str(out), *LANGUAGES, *CHOICES, *more]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = write_folder(tmp_path_factory.mktemp("data") / "toy", train=61)
    with (folder / "train.en").open("a") as english, (folder / "train.de").open("a") as german:
        english.write("one " * 30 + "\n")
        german.write("eins\n")
    return folder


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    assert main(command(data, out)) == 0
    return Run(out)


@pytest.fixture(scope="module")
def model(run, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved_models") / "toy"
    arguments = ["export", str(run.folder), str(folder), "--data", str(data), "--n-best", "2"]
    assert main(arguments) == 0
    return folder


@pytest.fixture(scope="module")
def loaded(model):
    return load(model)


def test_train_leaves_a_run_directory(run):
    description = run.description
    assert description["recipe"] == "translator_transformer"
    assert description["parts"]["task"]["type"] == "seq2seq.Seq2Seq"
    assert description["records"] == {"train": 62, "dev": 7} and description["unit"] == "pairs"
    assert run.experiment().model.sizes.num_layers == 1
    assert sorted(run.vocabularies()) == ["source_tokenizer", "tokenizer"]
    lines = (run.folder / "history.csv").read_text().splitlines()
    assert len(lines) == 3 and "val_bleu_lowercase" in lines[0].split(",")
    assert list((run.folder / "tensorboard" / "attention").glob("events*"))
    (skipped,) = (run.folder / "skipped.txt").read_text().splitlines()
    assert (
        "train.en:62: pair of 31 pieces and 2 pieces, ends included, too long for any batch"
        in skipped
    )


@pytest.mark.slow
def test_a_single_epoch_has_no_mean(run, data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Seq2SeqWork, "callbacks", lambda *given: Callbacks())
    experiment = run.experiment().replaced({"monitor": "val_loss", "epochs": 1})
    train(experiment, data, tmp_path / "again", verbose=0)
    said = capsys.readouterr().out
    assert "mean of" not in said and "training ran for 1 epoch\n" in said


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1, 30], ids=["better", "worse"])
def test_the_mean_of_epochs_is_kept_if_it_is_better(
    factor, run, data, tmp_path, capsys, monkeypatch
):
    trained = weights(run.model())
    mean = [factor * weight for weight in trained]
    monkeypatch.setattr(AverageModel, "mean", lambda *given: mean)
    monkeypatch.setattr(Seq2SeqWork, "callbacks", lambda *given: Callbacks())
    experiment = run.experiment().replaced({"learning_rate": 1e-9, "monitor": "val_loss"})
    again = train(experiment, data, tmp_path / "again", verbose=0)
    assert "mean of the last 2 epochs: val_loss" in capsys.readouterr().out
    kept = again.description["kept"]
    assert kept["monitor"] == "val_loss" and kept["value"] > 0
    if factor == 1:
        assert kept["epoch"] == "mean of the last 2"
        for weight, expected in zip(weights(again.model()), trained, strict=True):
            np.testing.assert_allclose(weight, expected, rtol=1e-5)
    else:
        assert kept["epoch"] in (1, 2) and weights(again.model())[0].any()
    assert not list(again.folder.glob("mean*")) and not list(again.folder.glob("new-*"))


def test_evaluate(run, data, tmp_path, capsys):
    out = tmp_path / "scores.json"
    ask = ["evaluate", str(run.folder), "--data", str(data), "--split", "test_toy"]
    assert main([*ask, "--json", str(out)]) == 0
    table = capsys.readouterr().out
    assert "| BLEU | chrF | BLEU, lower case | exact match |" in table
    assert "5 pairs of test_toy, beam 2" in table and "case:lc|eff:no|tok:13a" in table
    loads = json.loads(out.read_text())
    assert len(loads["texts"]) == 5 and 0 <= loads["scores"]["bleu"] <= 100
    service, pairs = run.service(2), run.experiment().source.split(data, "test_toy")
    alone = [service.answer(tf.constant([pair.source]))["text"][0, 0] for pair in pairs]
    assert [value["text"] for value in loads["texts"]] == [text.numpy().decode() for text in alone]
    assert [value["source"] for value in loads["texts"]] == [pair.source for pair in pairs]
    assert loads["signatures"]["chrf"].startswith("chrF2|nrefs:1")
    assert main([*ask[:-1], "train"]) == 0
    printed = capsys.readouterr()
    assert "62 pairs of train" in printed.out
    assert "a source of 31 pieces, its end included (expected at most 23)" in printed.err


def test_a_saved_model_is_evaluated_as_its_run(run, model, data, tmp_path, capsys):
    check_saved_evaluation(run, model, data, tmp_path, capsys)


def test_card_and_metadata(model, run, data):
    card = (model / "README.md").read_text()
    assert card.startswith("# toy, version 1\n") and "Transformer of 1 + 1 layers" in card
    assert "toy: pairs 62 train, 7 dev." in card and "| BLEU |" in card
    assert f"keras-attn evaluate {run.folder} --data {data} --split dev --beam-width 2" in card
    metadata = read_metadata(model / "1")
    assert metadata["parts"] == run.description["parts"] and metadata["max_source"] == 23


def test_no_limit_of_pixels_for_texts(run, tmp_path, capsys):
    assert main(["export", str(run.folder), str(tmp_path / "new"), "--max-pixels", "7"]) == 2
    expected = "Expected max_pixels only for a model that takes pictures. Received: max_pixels=7"
    assert expected in capsys.readouterr().err and not (tmp_path / "new").exists()


def test_predict(model, tmp_path, capsys, monkeypatch):
    assert main(["predict", str(model), "one two", "seven"]) == 0
    direct = capsys.readouterr().out
    rows = [line.split("\t") for line in direct.splitlines()]
    assert [row[:2] for row in rows] == [["one two", "1"], ["", "2"], ["seven", "1"], ["", "2"]]
    assert all(len(row) == 4 and float(row[2]) < 0 for row in rows)
    asked = {}
    for order in (["--json", "one two", "seven"], ["one two", "--json", "seven"]):
        assert main(["predict", str(model), *order]) == 0
        asked[order[0]] = capsys.readouterr().out
    assert asked["--json"] == asked["one two"] and len(asked["--json"].splitlines()) == 2
    with pytest.raises(SystemExit):
        main(["predict", str(model), "one two", "--none", "seven"])
    assert "unknown arguments: --none" in capsys.readouterr().err
    path = tmp_path / "sentences.txt"
    path.write_bytes(b"\xef\xbb\xbfone two\r\nseven\n")
    assert main(["predict", str(model), "--file", str(path)]) == 0
    assert capsys.readouterr().out == direct
    stream = types.SimpleNamespace(buffer=io.BytesIO(b"one two\nseven\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    assert main(["predict", str(model), "-"]) == 0
    assert capsys.readouterr().out == direct
    path.write_bytes(b"one two\n\n\xff\nseven")
    assert main(["predict", str(model), "--file", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == direct
    assert f"{path}:2: an empty text\n{path}:3: not UTF-8" in printed.err
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"seven\n\n")))
    assert main(["predict", str(model), "-", " "]) == 2
    assert "line 2: an empty text\n' ': an empty text" in capsys.readouterr().err
    assert main(["predict", str(model)]) == 2
    assert "Expected inputs or --file FILE" in capsys.readouterr().err


def answers_of(capsys, folder, *flags):
    assert main(["predict", str(folder), "one two", "three", "--json", *flags]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_predict_of_a_run(run, model, capsys):
    exported = answers_of(capsys, model, "--n-best", "1")
    answers = answers_of(capsys, run.folder)
    assert [answer["text"] for answer in answers] == [answer["text"] for answer in exported]
    (best, _), wide = answers, answers_of(capsys, run.folder, "--beam-width", "5", "--n-best", "3")
    assert len(best["text"]) == 1 and len(wide[0]["text"]) == len(set(wide[0]["text"])) == 3
    assert wide[0]["score"] == sorted(wide[0]["score"], reverse=True)
    draw = ("--sample", "--n-best", "3", "--temperature", "2", "--seed")
    first, again, other = (answers_of(capsys, run.folder, *draw, seed) for seed in "778")
    assert first == again != other and len(first[0]["text"]) == 3
    greedy = answers_of(capsys, run.folder, "--beam-width", "1")
    cold = answers_of(capsys, run.folder, "--sample", "--temperature", "1e-4", "--top-p", "0.9")
    assert [answer["text"] for answer in cold] == [answer["text"] for answer in greedy]


@pytest.mark.parametrize(
    ("of_run", "flags", "message"),
    [
        (False, ["--sample"], "Expected a run directory for --sample"),
        (False, ["--beam-width", "3"], "Expected a run directory for --beam-width"),
        (False, ["--n-best", "3"], "Expected n_best between 1 and 2"),
        (True, ["--top-p", "0.5"], "Expected --sample beside --top-p"),
        (True, ["--sample", "--beam-width", "3"], "Expected --sample or --beam-width"),
        (True, ["--n-best", "3"], "n_best <= width=2"),
    ],
)
def test_searches_that_there_are_not(run, model, of_run, flags, message, capsys):
    assert main(["predict", str(run.folder if of_run else model), "one", *flags]) == 2
    assert message in capsys.readouterr().err


def test_align(model, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv").write_text("one two\teins zwei\n\teins\nseven\tsieben\n")
    Path("gold").write_text("0-0 1-1\n\n0-0\n")
    asked = ["align", "pairs.tsv", "--attention", str(model), "--gold", "gold"]
    assert main([*asked, "--out", "links"]) == 0
    said, noted = capsys.readouterr()
    lines = Path("links").read_text().splitlines()
    assert len(lines) == 3 and lines[1] == ""
    assert "no links: pair 2: " in noted and "1 of 3 pairs have an empty sentence" in noted
    assert said.startswith("3 pairs: AER") and "lowest: " in said
    heads = [line for line in said.splitlines() if line.startswith("head ")]
    assert len(heads) == 2
    assert main([*asked, "--layer", "1", "--head", "2", "--reading"]) == 0
    (rate,) = (line.split()[-1] for line in heads if line.startswith("head 2"))
    assert f"AER {rate}" in capsys.readouterr().err
    other = ["--backward-attention", str(model), "--symmetrization"]
    for more in ([], [*other, "union"]):
        capsys.readouterr()
        assert main([*asked, *more, "--scores", "--show", "1"]) == 0
        scored, said = capsys.readouterr()
        scores = [float(link.split(":")[1]) for link in scored.split()]
        assert scores and all(0 < score <= 1 for score in scores)
        assert "pair 1\n" in said and "■" in said and "pair 2\n" not in said
    capsys.readouterr()
    assert main([*asked, *other, "forward"]) == 0
    assert capsys.readouterr().out.splitlines() == lines
    assert main(["align", "pairs.tsv", "--attention", str(model), *other, "backward"]) == 0
    backward = capsys.readouterr().out.splitlines()
    Path("turned.tsv").write_text("eins zwei\tone two\neins\t\nsieben\tseven\n")
    assert main(["align", "turned.tsv", "--attention", str(model)]) == 0
    turned = capsys.readouterr().out.splitlines()
    assert [set(line.split()) for line in backward] == [
        {"-".join(reversed(link.split("-"))) for link in line.split()} for line in turned
    ]
    record = {"src_words": ["one\u00a0two", "five"], "tgt_words": ["eins"]}
    Path("joined.jsonl").write_text(json.dumps(record) + "\n")
    assert main(["align", "joined.jsonl", "--attention", str(model)]) == 0
    output, noted = capsys.readouterr()
    assert output == "\n" and "no links: pair 1: a word with white space in it" in noted
    for wrong, message in (
        (["--layer", "5"], "Expected a layer of 1 to 1. Received: 5"),
        (["--load", "kept"], "with --attention. Received: --load"),
        (["--attention", "none"], "Expected a SavedModel"),
    ):
        capsys.readouterr()
        assert main([*asked, *wrong]) == 2
        assert message in capsys.readouterr().err
    for number in ("0", "1"):
        assert main(["align", "pairs.tsv", "--head", number]) == 2
        assert "Expected --attention with --head. Received: none" in capsys.readouterr().err


def test_score(model, capsys):
    ask = ["score", str(model), "--source", "one two", "--target"]
    assert main([*ask, "zwei eins"]) == 0
    source, score, target = capsys.readouterr().out.rstrip("\n").split("\t")
    assert (source, target) == ("one two", "zwei eins") and float(score) < 0
    assert main([*ask, "eins " * 40]) == 2
    assert "a target of 41 pieces" in capsys.readouterr().err
    assert main(["score", str(model), "--image", "x.png", "--caption", "a"]) == 2
    message = "Expected --source and --target. Received: --image and --caption"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("where.png", []),
        ("where.svg", []),
        ("heads.png", ["--heads", "encoder"]),
        ("heads.svg", ["--heads", "decoder"]),
        ("cross.svg", ["--heads", "cross"]),
        ("word.png", ["--word", "two", "--layer", "1"]),
    ],
)
def test_explain(model, tmp_path, name, flags):
    out = tmp_path / name
    assert main(["explain", str(model), "one $ two ☂", "--out", str(out), *flags]) == 0
    if name.endswith("png"):
        with Image.open(out) as image:
            assert image.format == "PNG" and image.width > 200
    else:
        assert "<svg" in out.read_text()
    if name == "where.svg":
        alignment, cross, encoder, decoder = explored(model, "one $ two ☂", tmp_path)["views"]
        assert (alignment["rows"], alignment["columns"]) == (cross["rows"], cross["columns"])
        assert cross["columns"] == encoder["rows"] == ["one", "$", "two", "☂", "</s>"]
        assert decoder["columns"] == ["<s>", *cross["rows"][:-1]]
        for view in (cross, encoder):
            np.testing.assert_allclose(view["sums"], 1, atol=0.1)


@pytest.mark.parametrize(
    ("asked", "name", "wanted", "message"),
    [
        (" ", "x.png", {}, "' ': an empty text"),
        ("one", "x.jpg", {}, "Expected a .png, .svg or .pdf file"),
        (
            "one two",
            "x.png",
            {"heads": "all"},
            "Expected heads=cross, encoder, decoder, or a word with an optional layer",
        ),
        ("one two", "x.png", {"word": "ten"}, "Expected a word of 'one two'. Received: 'ten'"),
        ("one two", "x.png", {"word": "two", "layer": 9}, "Received: layer=9"),
        ("one two", "x.png", {"word": "two", "layer": 0}, "Received: layer=0"),
        ("one two", "x.png", {"layer": 1}, "Received: heads=None, word=None, layer=1"),
        ("one two", "x.png", {"word": ""}, "Expected a word of 'one two'. Received: ''"),
        (
            "one two",
            "x.png",
            {"word": "two", "heads": "cross"},
            "Received: heads='cross', word='two', layer=None",
        ),
    ],
)
def test_pictures_that_there_are_not(loaded, asked, name, wanted, message, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)):
        loaded.explain(asked, **wanted).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_picture_that_there_is_not_ends_in_a_line(model, tmp_path, capsys):
    out = tmp_path / "heads.png"
    assert main(["explain", str(model), "one", "--out", str(out), "--heads", "all"]) == 2
    assert "keras-attn: Expected heads=cross" in capsys.readouterr().err and not out.exists()


@pytest.mark.parametrize(
    "error",
    [
        tf.errors.ResourceExhaustedError(None, None, "OOM when allocating"),
        c_error(tf.errors.RESOURCE_EXHAUSTED, "OOM when allocating"),
    ],
)
def test_no_memory_ends_in_a_line(error, monkeypatch, capsys):
    def grow(command):
        raise error

    monkeypatch.setattr("keras_attn_pipelines.commands.Recipes.run", grow)
    assert main(["recipes"]) == 2
    assert "keras-attn: out of memory; smaller batches" in capsys.readouterr().err


def weights(model):
    return [np.array(weight) for weight in model.get_weights()]


def test_a_saved_model_gives_the_runs_weights_and_tokenizers(run, model, data, tmp_path, capsys):
    source = WarmStart.read(model)
    for weight, other in zip(weights(source.model), weights(run.model()), strict=True):
        np.testing.assert_array_equal(weight, other)
    assert sorted(source.vocabularies) == ["source_tokenizer", "tokenizer"]
    made = source.adapted(RECIPE, {"epochs": 1})
    assert made.task.vocabulary == "separate" and made.model.sizes.hidden_dim == 14
    out = ["--data", str(data), "--out", str(tmp_path / "out")]
    assert main(["train", "scenes", "--from", str(model), *out]) == 2
    assert (
        "Expected a recipe whose task is seq2seq.Seq2Seq, such as translator_transformer, with"
        in capsys.readouterr().err
    )


@pytest.mark.slow
def test_lora_trains_updates_which_answers_have_merged(run, data, tmp_path, capsys):
    out = tmp_path / "tuned"
    more = ["--from", str(run.folder), "--epochs", "1", "--lora", "2"]
    assert main([*NEW, str(data), "--out", str(out), *LANGUAGES, *more]) == 0
    said = capsys.readouterr().out
    trained, whole = re.search(r"LoRA of rank 2: ([\d,]+) of ([\d,]+) weights", said).groups()
    assert 0 < int(trained.replace(",", "")) < 0.5 * int(whole.replace(",", ""))
    kept = read_model_file(out / "model.keras")
    before, after = weights(run.model()), weights(Run(out).model())
    changed = {
        weight.name
        for weight, one, other in zip(run.model().weights, before, after, strict=True)
        if np.any(one != other)
    }
    assert changed and all(name.endswith("_kernel") for name in changed)
    assert len(kept.weights) > len(after) == len(before)
    assert main(["predict", str(out), "one two"]) == 0
    assert main([*NEW, str(data), "--out", str(tmp_path / "x"), *LANGUAGES, *more[2:]]) == 2
    assert "Expected --from with --lora" in capsys.readouterr().err


class Stop(Exception):
    """Ends a training in the middle of an epoch."""


def written(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_stopped_and_resumed_is_uninterrupted(data, tmp_path, monkeypatch):
    values = {**TINY, "batch_tokens": 230, "epochs": 2, "monitor": "val_loss"}
    recipe = RECIPE.replaced(values)
    monkeypatch.setattr(Seq2SeqWork, "callbacks", lambda *given: Callbacks())
    options = {"verbose": 0, "precision": "float32"}
    whole = train(recipe, data, tmp_path / "whole", **options)

    def stop(callback, batch, logs=None):
        save(callback, batch, logs)
        if callback.model.optimizer.iterations == 5:
            raise Stop

    from keras_attn.training.resume import Checkpoint

    save = Checkpoint.on_train_batch_end
    options["checkpoint_seconds"] = 0.0
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "on_train_batch_end", stop)
        with pytest.raises(Stop):
            train(recipe, data, tmp_path / "stopped", **options)
    kept = written(tmp_path / "stopped")
    fewer = write_folder(tmp_path / "fewer", train=59)
    with pytest.raises(
        ValueError, match=r"started with, {'train': 62, 'dev': 7}\. Received: {'train': 59"
    ):
        train(recipe, fewer, tmp_path / "stopped", **options)
    other = shutil.copytree(data, tmp_path / "other")
    lines = (data / "train.de").read_text().splitlines(keepends=True)
    for text in ((data / "train.de").read_text().replace("eins", "uno"), "".join(lines[::-1])):
        (other / "train.de").write_text(text)
        with pytest.raises(ValueError, match="as many others, or the same in another order"):
            train(recipe, other, tmp_path / "stopped", **options)
    with pytest.raises(
        ValueError, match=r"same precision\. .*'float32' instead of 'mixed_bfloat16'"
    ):
        train(recipe, data, tmp_path / "stopped", **{**options, "precision": "bfloat16"})
    with monkeypatch.context() as patch:
        patch.setattr(
            Run, "description", {**Run(tmp_path / "stopped").description, "backend": "jax"}
        )
        with pytest.raises(ValueError, match=r"same backend\. .*'jax' instead of 'tensorflow'"):
            train(recipe, data, tmp_path / "stopped", **options)
    assert written(tmp_path / "stopped") == kept
    stopped = train(recipe, data, tmp_path / "stopped", **options)
    assert len((stopped.folder / "history.csv").read_text().splitlines()) == 3
    for weight, other in zip(weights(whole.model()), weights(stopped.model()), strict=True):
        np.testing.assert_allclose(weight, other, atol=1e-5)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            ["--num-heads", "3"],
            "Expected hidden_dim divisible by num_heads. Received: hidden_dim=14",
        ),
        (["--source-lengths", "7", "13"], "Expected source_lengths to be increasing and >= 1"),
        (["--vocabulary", "none"], "one of shared, separate, pretrained. Received: vocabulary="),
        (["--monitor", "val_cider_d"], "monitor to be one of loss, token_accuracy, val_loss"),
        (["--batch-tokens", "-1"], "batch_tokens >= 0. Received: batch_tokens=-1"),
        (["--vocabulary-size", "100"], "Expected vocabulary_size > 260"),
        (
            ["--lengths", "1"],
            "at most 1 pieces and 1 pieces, ends included, the last of lengths. Received: none of",
        ),
        (["--seed", str(2**32)], f"between 0 and {2**32 - 1}. Received: seed={2**32}"),
        (["--target-column", "fr"], "such as train.en and train.fr. Received: "),
    ],
)
def test_bad_choices(data, choices, message, tmp_path, capsys):
    assert main(command(data, tmp_path / "run", *choices)) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_too_many_bad_records(tmp_path, capsys):
    folder = write_folder(tmp_path / "data", train=50)
    text = (folder / "train.de").read_text(encoding="utf-8").splitlines()
    text[3] = ""
    (folder / "train.de").write_text("\n".join(text), encoding="utf-8")
    assert main(command(folder, tmp_path / "run")) == 2
    message = capsys.readouterr().err
    assert "Expected at most 1.0% unusable records. Received: 1 of 50:" in message
    assert "train.en:4: empty target" in message and not (tmp_path / "run").exists()
