"""The whole path of a data-to-text model by the command line, on made-up people."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from keras_attn.saved.loading import load
from keras_attn.serving.declared import read_metadata
from keras_attn_pipelines.cli import main
from tests.pipelines.explored import explored
from tests.pipelines.logged_pictures import pictures_of
from tests.pipelines.saved_evaluation import check_saved_evaluation
from tests.recipes.registry import MANY

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

ASKED = json.dumps({"triples": [["Ada_Low", "birthYear", "1815"], ["Ada_Low", "field", "sums"]]})
LONG = json.dumps(MANY)


@pytest.fixture(scope="module")
def data(recipes):
    return Path(recipes.data("webnlg_graph"))


@pytest.fixture(scope="module")
def run(recipes):
    return recipes.run("webnlg_graph")


@pytest.fixture(scope="module")
def model(recipes):
    return recipes.model("webnlg_graph")


def test_it_learns_and_draws(run):
    rows = [row.split(",") for row in (run.folder / "history.csv").read_text().splitlines()]
    losses = [float(row[rows[0].index("loss")]) for row in rows[1:]]
    assert losses[-1] < 0.8 * losses[0]
    assert {"val_bleu", "val_chrf", "val_mentioned", "val_copied"} <= set(rows[0])
    assert len(pictures_of(run)) == len(losses) * 3
    skipped = (run.folder / "skipped.txt").read_text()
    assert "train.jsonl:61: a set of 50 facts (expected at most 5)" in skipped


def test_evaluate(run, model, data, tmp_path, capsys):
    out = tmp_path / "scores.json"
    command = ["evaluate", str(run.folder), "--data", str(data), "--split", "test"]
    assert main([*command, "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    for heading in ("BLEU", "chrF", "order", "facts mentioned", "values copied", "nrefs:var"):
        assert heading in printed, heading
    scores = json.loads(out.read_text())
    assert len(scores["texts"]) == 7
    check_saved_evaluation(run, model, data, tmp_path, capsys)


def test_the_card_and_the_metadata(model):
    card = (model / "1" / "README.md").read_text()
    expected = (
        "a Transformer over graphs of 1 + 1 layers, width 14, with link-based attention, with"
    )
    assert expected in card and "facts (strings [B, n, 3]" in card and "values copied" in card
    metadata = read_metadata(model / "1")
    assert (metadata["n_best"], metadata["max_facts"], metadata["max_source"]) == (2, 5, 130)


def test_predict_reads_json_lines(model, tmp_path, capsys):
    lines = [ASKED, "[]", LONG, '{"triples": [["Ada_Low", "field"]]}', "{", ASKED]
    (tmp_path / "asked.jsonl").write_text("\n".join(lines) + "\n")
    command = ["predict", str(model), "--file", str(tmp_path / "asked.jsonl")]
    assert main(command) == 2
    printed = capsys.readouterr()
    answers = printed.out.splitlines()
    assert len(answers) == 4 and answers[:2] == answers[2:]
    assert answers[0].startswith(f"{ASKED}\t1\t-") and answers[1].startswith("\t2\t-")
    for line, reason in ((2, "no facts"), (3, "50 facts"), (4, "2 parts"), (5, "malformed JSON")):
        assert any(
            f"asked.jsonl:{line}: " in row and reason in row for row in printed.err.splitlines()
        ), (line, reason)
    assert main(["predict", str(model), ASKED, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["facts"] == ASKED and len(answer["text"]) == 2


def test_explain_draws_facts_and_links(model, tmp_path, capsys):
    for arguments in ([], ["--heads", "links"]):
        out = tmp_path / "facts.png"
        assert main(["explain", str(model), ASKED, "--out", str(out), *arguments]) == 0
        with Image.open(out) as picture:
            assert picture.size[0] > 100
    facts, words, links = explored(model, ASKED, tmp_path)["views"]
    assert facts["columns"] == ["Ada_Low | birthYear | 1815", "Ada_Low | field | sums"]
    assert links["rows"] == ["(first)", *facts["columns"]] and words["rows"][-1] == "</s>"
    occluded = tmp_path / "occluded.png"
    assert main(["explain", str(model), ASKED, "--out", str(occluded), "--by", "occlusion"]) == 0
    for view in (facts, words, links):
        np.testing.assert_allclose(view["sums"], 1, atol=0.05)
    assert main(["explain", str(model), LONG, "--out", str(tmp_path / "a.png")]) == 2
    assert "a set of 50 facts (expected at most 5)" in capsys.readouterr().err
    assert main(["explain", str(model), ASKED, "--out", str(out), "--word", "Ada"]) == 2


def test_score(model, capsys):
    said = ["--target", "Ada Low came in 1815 and works on sums."]
    assert main(["score", str(model), "--facts", ASKED, *said]) == 0
    assert float(capsys.readouterr().out.split("\t")[1]) == pytest.approx(
        load(model).score(ASKED, said[1]), abs=0.006
    )
    assert main(["score", str(model), "--source", "a", *said]) == 2
    assert "Expected --facts and --target" in capsys.readouterr().err


def test_bounds_of_the_content_are_in_order(tmp_path, data, capsys):
    command = ["train", "webnlg_graph", "--data", str(data), "--out", str(tmp_path / "run")]
    assert main([*command, "--content-least", "0.9"]) == 2
    assert "Expected content_least <= content_most" in capsys.readouterr().err
    assert main([*command, "--source-lengths", "7"]) == 2
    assert "Expected source_lengths to be increasing" in capsys.readouterr().err
