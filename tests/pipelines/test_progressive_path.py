"""The whole path of a progressive language model: one domain, then another by three ways."""

import json
import math
import re

import numpy as np
import pytest
from PIL import Image

from keras_attn.contracts import ERROR, LABEL_SCORES, LABELS, SOURCE_PIECES, TOKEN_SCORES
from keras_attn.models import ProgressiveLanguageModel
from keras_attn.saved.loading import load
from keras_attn.serving.declared import read_metadata
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.data.readers.sentence_reader import Sentence, sentence_files
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.tasks.language_modeling import NextWord, Sentences
from tests.pipelines.labeled_texts import examples
from tests.pipelines.saved_evaluation import check_saved_evaluation

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

SIZES = "--embedding-dim 5 --hidden-dim 7 --memory-dim 3 --lengths 7 13 --batch-tokens 112"
CHOICES = [*SIZES.split(), "--epochs", "1"]


def written(folder, suffix="txt", extra=()):
    """Train, dev and test of made-up reviews, with more sentences in train."""
    folder.mkdir()
    for seed, (name, count) in enumerate((("train", 60), ("dev", 7), ("test", 5))):
        lines = [text for text, _ in examples(count, seed)]
        lines += extra if name == "train" else ()
        text = "".join(f"{line}\n\n" for line in lines)
        (folder / f"{name}.{suffix}").write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return written(tmp_path_factory.mktemp("data") / "first", "en")


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "second"
    return written(folder, extra=["a zebra saw a zebra"] * 3)


@pytest.fixture(scope="module")
def run(first, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "first"
    command = ["train", "progressive-memory", "--data", str(first), "--suffix", "en"]
    assert main([*command, "--slots", "5", "--out", str(out), *CHOICES]) == 0
    return Run(out)


@pytest.fixture(scope="module")
def grown(run, second, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "second"
    command = ["train", "progressive-memory", "--data", str(second), "--from", str(run.folder)]
    assert main([*command, "--slots", "5", "3", "--out", str(out), *CHOICES]) == 0
    return Run(out)


@pytest.fixture(scope="module")
def model(grown, second, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved_models") / "words"
    command = ["export", str(grown.folder), str(folder), "--data", str(second), "--n-best", "3"]
    assert main(command) == 0
    return folder


def test_the_second_domain_adds_words_and_slots(run, grown):
    before, after = (own.vocabularies()["words"].names for own in (run, grown))
    assert after[: len(before)] == before and {"zebra", "saw"} == set(after[len(before) :])
    assert isinstance(grown.model(), ProgressiveLanguageModel)
    assert grown.model().cell.bank.slots == (5, 3)
    assert grown.description["origin"]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (["--slots", "7"], r"Expected slots=\(5,\) and more. Received: slots=\(7,\)"),
        (["--slots", "5", "--hidden-dim", "3"], "Expected hidden_dim >= 7"),
        (["--slots", "0"], r"Expected slots >= 1. Received: slots=\(0,\)"),
        (["--slots", "5", "--memory-dim", "5"], "Expected memory_dim=3, as in"),
    ],
)
def test_what_cannot_grow(choices, message, run, second, tmp_path, capsys):
    command = ["train", "progressive-memory", "--data", str(second), "--from", str(run.folder)]
    given = ["--epochs", "1", "--lengths", "7", "13", "--hidden-dim", "7", *choices]
    assert main([*command, "--out", str(tmp_path / "run"), *given]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_evaluate(grown, model, second, tmp_path, capsys):
    out = tmp_path / "scores.json"
    command = ["evaluate", str(grown.folder), "--data", str(second), "--split", "test"]
    assert main([*command, "--json", str(out)]) == 0
    assert "| perplexity | nats a word | unknown words |" in capsys.readouterr().out
    scores = json.loads(out.read_text())["scores"]
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    log = (grown.folder / "history.csv").read_text().splitlines()
    check_saved_evaluation(grown, model, second, tmp_path, capsys)
    loss = json.loads((tmp_path / "run.json").read_text())["scores"]["loss"]
    place = log[0].split(",").index("val_loss")
    assert loss == pytest.approx(float(log[-1].split(",")[place]), abs=0.02)


def test_answers(model):
    saved = load(model)
    assert read_metadata(model / "1")["views"] == [view.to_plain() for view in saved.views]
    texts = ["The film is a", "", "zebra quagga", "film " * 13]
    rows = list(saved.answers(texts))
    reasons = [row[ERROR].decode() for row in rows]
    assert reasons[:3] == ["", "an empty text", ""]
    assert reasons[3] == "a sentence of 14 words, its end included (expected at most 13)"
    assert [piece.decode() for piece in rows[0][SOURCE_PIECES] if piece] == [
        *["the", "film", "is", "a"],
        "</s>",
    ]
    assert [piece.decode() for piece in rows[2][SOURCE_PIECES] if piece] == [
        "zebra",
        "<unk>",
        "</s>",
    ]
    for row in (rows[0], rows[2]):
        assert len(set(row[LABELS])) == 3 and all(row[LABELS])
        assert np.all(np.diff(row[LABEL_SCORES]) <= 0) and 0 < sum(row[LABEL_SCORES]) <= 1
        real = row[SOURCE_PIECES] != b""
        assert np.all(row[TOKEN_SCORES][real] < 0) and not row[TOKEN_SCORES][~real].any()
    for row in (rows[1], rows[3]):
        assert not any(row[LABELS]) and not row[TOKEN_SCORES].any()


def test_predict_and_explain(model, tmp_path, capsys):
    assert main(["predict", str(model), "the film is"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main(["predict", str(model), "the film is", "--n-best", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    out = tmp_path / "slots.png"
    assert main(["explain", str(model), "the film is", "--out", str(out)]) == 0
    with Image.open(out) as picture:
        assert picture.size[0] > 100
    assert main(["predict", str(model), "\udcff"]) == 2
    assert "not UTF-8" in capsys.readouterr().err


def test_files_of_sentences(tmp_path, first):
    assert sorted(sentence_files(first, ".EN")) == ["dev", "test", "train"]
    sentences = Sentences(suffix="en").read(first).splits["train"]
    assert [sentence.source for sentence in sentences] == [text for text, _ in examples(60)]
    assert sentences[1].line == 3
    with pytest.raises(ValueError, match=r"Expected files such as train\.txt in .*see --suffix"):
        sentence_files(first, "txt")
    with pytest.raises(ValueError, match=r"Expected sentences at .*no such file or folder"):
        sentence_files(tmp_path / "none", "txt")
    path = tmp_path / "mine.txt"
    path.write_bytes(b"a film\n\xff\n" * 3)
    with pytest.raises(ValueError, match=r"mine\.txt:2: not UTF-8"):
        Sentences().read(path)
    path.write_bytes(b" \n")
    with pytest.raises(ValueError, match=r"Expected a sentence on each line of .*none"):
        Sentences().read(path)
    path.write_bytes(b"".join(b"film number %d\n" % number for number in range(50)))
    assert set(Sentences().read(path).splits) == {"train", "dev", "test"}


def test_words_that_are_learned():
    work = NextWord(vocabulary_size=2, min_count=2).work()
    records = sentence_records("b b a a a c c c d")
    words = work.learn(records)
    assert words["words"].names == ("a", "c")
    extended = work.extend(words, sentence_records("d d e e e c f"))
    assert extended["words"].names == ("a", "c", "e", "d")
    with pytest.raises(ValueError, match="Expected words that occur at least 2 times"):
        work.learn(sentence_records("a b c"))


def sentence_records(*texts):
    return [Sentence(text) for text in texts]
