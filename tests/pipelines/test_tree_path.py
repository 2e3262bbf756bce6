"""The whole path from sentences to trees by the command line, on a toy treebank."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.contracts import ERROR, SCORE, TEXT
from keras_attn.saved.loading import load
from keras_attn.serving.declared import read_metadata
from keras_attn.text.bracket_text import bracket_text, parse_tree
from keras_attn.text.trees import Leaf, Tree, leaves
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.data.readers.tree_reader import TreePair
from keras_attn_pipelines.recipes.parser_transformer import RECIPE
from keras_attn_pipelines.runs.warm_start import WarmStart
from keras_attn_pipelines.tasks.parsing.work import TreeScores, unusable
from tests.pipelines.encoded import encoded
from tests.pipelines.explored import explored
from tests.pipelines.saved_evaluation import check_saved_evaluation
from tests.pipelines.toy_treebank import TINY, lines, pairs, written
from tests.recipes.registry import BY_NAME, CHAINED
from tests.recipes.shared import flags

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

CHOICES = flags(BY_NAME["parser_transformer"].values)
SCORES = RECIPE.task.spec.monitors
SENTENCE = "the small cell grows near the old gene ."


def command(data, out, *more):
    start = ["train", "parser-transformer", "--data", str(data), "--out", str(out)]
    return [*start, *CHOICES, *more]


@pytest.fixture(scope="module")
def data(recipes):
    return Path(recipes.data("parser_transformer"))


@pytest.fixture(scope="module")
def run(recipes):
    return recipes.run("parser_transformer")


@pytest.fixture(scope="module")
def model(recipes):
    return recipes.model("parser_transformer")


def test_train_leaves_a_run_directory(run, data):
    description = run.description
    assert description["recipe"] == "parser_transformer"
    assert description["records"] == {"train": 55, "dev": 18, "test": 0}
    assert sorted(run.vocabularies()) == ["source_tokenizer", "tags", "tokenizer"]
    assert run.vocabularies()["tokenizer"].names[0] == "XX"
    head, *rows = (run.folder / "history.csv").read_text().splitlines()
    wanted = {f"val_{key}" for key in SCORES} | {"val_tag_logits_token_accuracy"}
    assert len(rows) == 2 and wanted <= set(head.split(","))
    assert list((run.folder / "tensorboard" / "attention").glob("events*"))
    train, dev = data / "train.mrg", data / "dev.mrg"
    skipped = (run.folder / "skipped.txt").read_text().splitlines()
    assert skipped[:2] == [
        f"{train}:54: a tree with traces only",
        f"{train}:55: a chain of 4 constituents (expected at most 3): 'cell grows'",
    ]
    long = "pair of 18 words and 20 symbols, ends included, too long for any batch: 'cell cell"
    assert [
        value.startswith(f"{file}:{line}: {long}")
        for value, file, line in zip(skipped[2:], (train, train, dev), (56, 57, 18), strict=True)
    ] == [True] * 3


def test_evaluate(run, data, tmp_path, capsys):
    out = tmp_path / "scores.json"
    ask = ["evaluate", str(run.folder), "--data", str(data), "--json", str(out)]
    assert main(ask) == 0
    printed = capsys.readouterr()
    assert "| F1 | precision | recall | exact match | tagging | F1, true tags | " in printed.out
    assert "18 trees of dev, beam 2; " in printed.out and "EVALB" in printed.out
    assert "a sentence of 17 words (expected at most 16)" in printed.err
    loads = json.loads(out.read_text())
    assert loads["trees"] == len(loads["texts"]) == 18
    assert 0 <= loads["scores"]["f1"] <= 100 < 100 + loads["scores"]["right_branching_f1"]
    assert any("'cell cell" in value and "no tree" in value for value in loads["unscored"])
    for fact in loads["texts"]:
        if fact["text"]:
            words = [leaf.word for leaf in leaves(parse_tree(fact["text"]))]
            assert words == fact["source"].split(" ")
        assert [leaf.word for leaf in leaves(parse_tree(fact["reference"]))] == fact[
            "source"
        ].split()


def test_a_saved_model_is_evaluated_as_its_run(run, model, data, tmp_path, capsys):
    check_saved_evaluation(run, model, data, tmp_path, capsys)


def test_the_true_trees_score_full_marks():
    records = pairs(13)
    texts = [bracket_text(pair.target) for pair in records]

    def evaluated():
        answers = [{TEXT: np.array([text.encode()]), SCORE: np.zeros(1)} for text in texts]
        return RECIPE.work.evaluation(records, answers, {}, {"beam_width": 1})

    actual = evaluated()
    scores = dict(actual.scores)
    assert 0 < scores.pop("right_branching_f1") < 100
    assert scores.pop("crossing") == 0
    assert set(scores.values()) == {100.0} and not actual.facts["unscored"]
    texts[0], texts[1] = "", texts[2]
    actual = evaluated()
    assert len(actual.facts["unscored"]) == 2 and "no tree" in actual.facts["unscored"][0]
    assert actual.scores["f1"] == 100 and "2 of them could not be compared" in actual.table()


class Answers:
    """A service that answers with what it was given."""

    def __init__(self, texts):
        self.texts = texts

    def answer(self, source):
        texts = [self.texts[text.decode()] for text in source.numpy()]
        return {TEXT: tf.constant(texts)[:, None]}


def test_scores_after_an_epoch_count_every_sentence(monkeypatch):
    monkeypatch.setattr(tf, "function", lambda function, *_, **__: function)
    records = pairs(13)
    texts = {pair.source: bracket_text(pair.target).replace("(. .)", "(NN .)") for pair in records}
    logs = {}
    TreeScores(Answers(texts), records, SCORES, batch=5).on_epoch_end(0, logs)
    assert logs["val_f1"] == logs["val_exact"] == 100
    words = sum(len(pair.source.split()) for pair in records)
    assert logs["val_tagging"] == pytest.approx(100 * (1 - 13 / words))


def test_card_and_metadata(model, run, data):
    card = (model / "README.md").read_text()
    assert card.startswith(f"# {model.name}, version 1\n") and "constituency tree" in card
    assert "toy: pairs 55 train, 18 dev" in card and "| F1 |" in card
    assert f"keras-attn evaluate {run.folder} --data {data} --split dev --beam-width 2" in card
    metadata = read_metadata(model / "1")
    assert metadata["parts"] == run.description["parts"] and metadata["max_depth"] == 32


def test_predict(model, capsys):
    assert main(["predict", str(model), SENTENCE, "f(x) grows"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [SENTENCE, "", "f(x) grows", ""]
    for row, source in zip(rows, [SENTENCE, SENTENCE, "f(x) grows", "f(x) grows"]):
        words = [leaf.word for leaf in leaves(parse_tree(row[3]))]
        assert words == source.replace("(", "-LRB-").replace(")", "-RRB-").split()
    assert main(["predict", str(model), "", "cell " * 17, SENTENCE]) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith(SENTENCE) and "'': an empty text" in printed.err
    assert "a sentence of 17 words (expected at most 16)" in printed.err


@pytest.mark.parametrize(
    ("name", "given"),
    [("x.png", []), ("x.svg", []), ("c.png", ["--heads", "cross"]), ("w.png", ["--word", "gene"])],
)
def test_explain(model, tmp_path, name, given, capsys):
    out = tmp_path / name
    assert main(["explain", str(model), SENTENCE, "--out", str(out), *given]) == 0
    tree = parse_tree(capsys.readouterr().out.splitlines()[0])
    assert " ".join(leaf.word for leaf in leaves(tree)) == SENTENCE
    if name.endswith("png"):
        with Image.open(out) as image:
            assert image.format == "PNG" and image.width > 200
    else:
        assert "<svg" in out.read_text()
        brackets, *_ = explored(model, SENTENCE, tmp_path)["views"]
        assert brackets["columns"] == [*SENTENCE.split(), "</s>"]
        np.testing.assert_allclose(brackets["sums"], 1, atol=0.1)


@pytest.mark.slow
def test_a_saved_model_begins_another_training(model, run, data, tmp_path, capsys):
    source = WarmStart.read(model)
    assert source.experiment == run.experiment()
    assert sorted(source.vocabularies) == sorted(run.vocabularies())
    assert main(command(data, tmp_path / "more", "--from", str(model), "--epochs", "1")) == 0
    other = ["--from", str(model), "--word-pieces", "3"]
    assert main(command(data, tmp_path / "other", *other)) == 2
    assert "Expected word_pieces=8, as in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("train", "choices", "message"),
    [
        ("(S (NP (NN a))\n(NP (NN b))\n", [], r"tree that begins at {}/train.mrg:1"),
        ("(NP (-NONE- *))\n", [], "Expected trees with words in {}/train.mrg"),
        ("(NP (NN a)) (NP (NN b) c)\n", [], "{}/train.mrg:1, in the tree that begins in line 1"),
        ("(NP (NN a))\n(NP)\n", [], "at most 10.0% unusable records. Received: 1 of 2"),
        ("(NP (NN a))\n(NP (b) (NN c))\n", [], "without children, 'b': is a word or a tag"),
        ("(NN a)\n", [], "Expected trees with constituents. Received: words alone"),
        ("(NP (NN a))\n" + f"{CHAINED}\n" * 2, [], "unusable records. Received: 2 of 4"),
        ("(NP (NN a))\n", ["--max-unary-chain", "0"], "Expected max_unary_chain >= 1"),
        ("(NP (NN a))\n", ["--max-depth", "201"], "Expected max_depth between 1 and 200"),
        ("(NP (NN a))\n", ["--lengths", "5", "7", "18"], "last of source_lengths + 2"),
        (f"{CHAINED}\n", [], "at least one usable pair in the split 'train'"),
    ],
)
def test_bad_data_and_choices(tmp_path, capsys, train, choices, message):
    (tmp_path / "train.mrg").write_text(train)
    (tmp_path / "dev.mrg").write_text("(NP (NN a))\n")
    assert main(command(tmp_path, tmp_path / "run", *choices)) == 2
    assert message.format(tmp_path) in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_trees_that_the_search_would_never_write():
    task = RECIPE.replaced(TINY).task

    def reason(text):
        tree = parse_tree(text)
        return unusable(task, TreePair(" ".join(leaf.word for leaf in leaves(tree)), tree))

    assert reason("(S (NP (NN a)) (VP (VB b)))") == ""
    assert "33 constituents inside" in reason(bracket_text(zigzag(33))) and not reason(
        bracket_text(zigzag(32))
    )
    wide = "(S (S (N (V (D d)))) (T (U (V (W w)))))"
    assert reason(wide) == "16 symbols for 2 words (expected under 16)"
    assert "70000 bytes (expected at most 65536)" in reason(f"(NP (NN {'a' * 70000}))")


def zigzag(levels):
    """A tree of so many levels, a word beside each constituent."""
    node = Tree("NP", (Leaf("NN", "a"),))
    for _ in range(levels - 1):
        node = Tree("NP", (Leaf("NN", "a"), node))
    return node


def test_labels_and_tags_that_are_not_known(run, data, tmp_path, capsys):
    folder = written(tmp_path / "toy")
    with (folder / "dev.mrg").open("a") as dev:
        dev.write("(XP (ZZ a) (NN b))\n")
    lines = encoded(RECIPE.replaced(TINY), folder)[2].lines
    (line,) = (line for line in lines if "1 dev pairs have labels or tags that train lacks" in line)
    assert line.endswith("unknown labels or tags: XP, ZZ")
    with (folder / "train.mrg").open("a") as train:
        train.write("(XP (ZZ a) (NN b))\n")
    assert main(command(folder, tmp_path / "out", "--from", str(run.folder))) == 2
    message = capsys.readouterr().err
    assert "covered by the vocabularies. Received: 1, such as " in message
    assert "train.mrg:54: unknown labels or tags: XP, ZZ" in message
    assert not (tmp_path / "out").exists()


def test_vocabularies_that_are_missing_or_exchanged(run, data, tmp_path, capsys):
    damaged = shutil.copytree(run.folder, tmp_path / "damaged")
    symbols = damaged / "tokenizer" / "symbols.json"
    saved = symbols.read_text()
    symbols.write_text(json.dumps({"symbols": json.loads(saved)["symbols"][::-1]}))
    evaluate = ["evaluate", str(damaged), "--data", str(data)]
    assert main(evaluate) == 2
    assert "Expected the files that were saved in" in capsys.readouterr().err
    symbols.write_text(saved)
    shutil.rmtree(damaged / "tags")
    for arguments in (evaluate, command(data, tmp_path / "out", "--from", str(damaged))):
        assert main(arguments) == 2
        assert (
            f"Expected the files that were saved in {damaged / 'tags'}" in capsys.readouterr().err
        )


@pytest.mark.slow
def test_fewer_trees_than_asked_for(run, tmp_path, capsys):
    folder = tmp_path / "many"
    many = ["--beam-width", "30", "--n-best", "30", "--no-evaluate"]
    assert main(["export", str(run.folder), str(folder), *many]) == 0
    capsys.readouterr()
    assert main(["predict", str(folder), "cell"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert 0 < len(rows) <= 30 and all(parse_tree(row[3]) for row in rows)


def test_other_data_folders(tmp_path, capsys):
    source = RECIPE.source
    with pytest.raises(ValueError, match=r"Expected trees at .*no such file or folder"):
        source.read(tmp_path / "none")
    with pytest.raises(ValueError, match=r"Expected \.mrg, .* Received: nothing"):
        source.read(tmp_path)
    (tmp_path / "all.ptb").write_text("\n".join(lines(61)))
    splits = source.read(tmp_path).splits
    assert [len(splits[name]) for name in ("train", "dev", "test")] == [
        len(source.split(tmp_path, name)) for name in ("train", "dev", "test")
    ]
    assert sum(map(len, splits.values())) == 61 and splits["dev"] and splits["test"]
    alone = source.read(tmp_path / "all.ptb")
    assert alone.splits == splits and "read: trees in brackets" in alone.lines[0]
    (tmp_path / "all.mrg").write_text("(NN a)")
    with pytest.raises(ValueError, match=r"one file of each name .* all\.mrg and all\.ptb"):
        source.read(tmp_path)


def test_answers_of_sentences_that_cannot_be_parsed(model):
    answers = load(model).ask("serving_default", source=["", SENTENCE])
    assert answers[0][ERROR] == b"an empty text" and answers[0][TEXT].tolist() == [b"", b""]
    assert answers[1][ERROR] == b"" and answers[1][TEXT][0].startswith(b"(")
