"""Bracket scores: those of EVALB on damaged trees, and cases counted by hand."""

import json
import random
import shutil

import pytest

from keras_attn.evaluation.brackets import (
    SentenceBrackets,
    Unscored,
    compare_brackets,
)
from keras_attn.text.bracket_text import bracket_text, parse_tree
from keras_attn.text.trees import leaves
from keras_attn_pipelines.data.readers.tree_reader import read_trees
from tests.evaluation.damaged_trees import damaged
from tests.golden.make_brackets import GOLDEN, OK, evalb_answer, pairs

ANSWERS = json.loads(GOLDEN.read_text(encoding="utf-8"))
CASES = ANSWERS["pairs"]
TRUE = "(S (NP (DT the) (NN cell)) (VP (VBZ grows) (ADVP (RB well))) (. .))"


def compare(parsed, true):
    return compare_brackets([parse_tree(parsed)], [parse_tree(true)])


def counts(parsed, true):
    """Matched, true, parsed and crossing brackets, words, correct tags."""
    (sentence,) = compare(parsed, true).sentences
    return sentence[1:]


def check(report, rows, scores):
    """A report against what `evalb_answer` gave; EVALB prints two decimals."""
    expected = [(index, *row[1:]) for index, row in enumerate(rows) if row[0] == OK]
    assert [tuple(sentence) for sentence in report.sentences] == expected
    unscored = sorted(entry.sentence for entry in (*report.errors, *report.skipped))
    assert unscored == [index for index, row in enumerate(rows) if row[0] != OK]
    assert report.scores() == pytest.approx(scores, abs=0.00501)
    assert len(expected) > len(rows) / 3 and any(row[4] for row in rows)


def test_equals_evalb_on_golden_pairs():
    trees = ([parse_tree(case[side]) for case in CASES] for side in ("parsed", "true"))
    report = compare_brackets(*trees)
    expected = [case["evalb"] for case in CASES]
    check(report, expected, ANSWERS["scores"])
    skipped = [index for index, row in enumerate(expected) if row[0] == 2]
    assert [sentence.sentence for sentence in report.skipped] == skipped


def needs_evalb():
    if not shutil.which("evalb"):
        pytest.skip("needs the program evalb on the PATH")


def real_pairs(folder, seed):
    """(parsed, true): the dev trees that EVALB can read, and damaged copies."""
    path = folder / "craft-treebank" / "dev.mrg.gz"
    if not path.is_file():
        pytest.skip(f"needs {path}; set KERAS_ATTN_DATA to the data folder")
    source = random.Random(seed)
    trees = (pair.target for pair in read_trees(path).pairs)
    true = [tree for tree in trees if readable(tree)]
    return [damaged(tree, source, share=source.choice([0, 0.05, 0.1])) for tree in true], true


def readable(tree):
    """Whether EVALB reads a tree as it is: without Unicode spaces."""
    return all(len(leaf.word.split()) == 1 for leaf in leaves(tree))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_equals_evalb_on_generated_pairs(seed):
    needs_evalb()
    parsed, true = pairs(seed, 200)
    check(compare_brackets(parsed, true), *evalb_answer(parsed, true))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_equals_evalb_on_a_damaged_treebank(data_folder, seed):
    needs_evalb()
    parsed, true = real_pairs(data_folder, seed)
    check(compare_brackets(parsed, true), *evalb_answer(parsed, true))


def test_equal_trees():
    report = compare(TRUE, TRUE)
    percent = dict.fromkeys(["precision", "recall", "f1", "exact", "no_crossing", "tagging"], 100)
    assert report.scores() == percent | {"crossing": 0}
    assert report.sentences == [SentenceBrackets(0, 4, 4, 4, 0, 4, 4)]


@pytest.mark.parametrize(
    ("parsed", "expected"),
    [
        ("(S (NP (DT the) (NN cell)) (VP (VBZ grows) (PRT (RB well))) (. .))", (4, 4, 4, 0, 4, 4)),
        ("(S (NX (DT the) (NN cell)) (VP (VBZ grows) (ADVP (RB well))) (. .))", (3, 4, 4, 0, 4, 4)),
        ("(S (NP-SBJ (DT the) (NN cell)) (VP=2 (VBZ grows) (ADVP (RB well))))", (4, 4, 4, 0, 4, 4)),
        ("(S (DT the) (NX (NN cell) (VBZ grows)) (ADVP (NN well)) (. .))", (2, 4, 3, 1, 4, 3)),
        ("(TOP (S (NP (DT the) (NN cell)) (VBZ grows) (RB well) (. .)))", (2, 4, 2, 0, 4, 4)),
        ("(S (NP (DT the) (NN cell)) (VP (VBZ grows) (RB well) (X (. .))))", (3, 4, 3, 0, 4, 4)),
    ],
)
def test_counts_by_evalbs_rules(parsed, expected):
    assert counts(parsed, TRUE) == expected


def test_repeated_labels_match_as_often_as_they_stand():
    three, two = "(NP (NP (NP (NN a))))", "(NP (NP (NN a)))"
    assert counts(three, two)[:3] == (2, 2, 3)
    assert counts(three, three)[:3] == (3, 3, 3)


def test_scores_are_of_all_brackets_together():
    other = "(S (NP (NN cells) (NNS grow)))"
    report = compare_brackets(
        [parse_tree(TRUE), parse_tree("(X (VP (NN cells) (VB grow)))")],
        [parse_tree(TRUE), parse_tree(other)],
    )
    assert report.scores() == pytest.approx(
        {
            **{"precision": 400 / 6, "recall": 400 / 6, "f1": 400 / 6, "exact": 50},
            **{"crossing": 0, "no_crossing": 100, "tagging": 500 / 6},
        }
    )


def test_crossing_is_a_mean_of_sentences():
    true = "(S (X (NN a) (NN b)) (X (NN c) (NN d)))"
    crossed = "(S (NN a) (X (NN b) (X (NN c) (NN d))))"
    trees = [parse_tree(crossed), parse_tree(true)]
    scores = compare_brackets(trees, [parse_tree(true)] * 2).scores()
    assert (scores["crossing"], scores["no_crossing"]) == (0.5, 50)
    assert scores["precision"] == scores["recall"] == pytest.approx(500 / 6)


def test_other_words_are_errors_and_no_tree_is_skipped():
    parsed = ["(NP (NN a))", "(NP (NN b) (NN c))", None, "(NP (. .))", "(NP (NN x))"]
    parsed = [text and parse_tree(text) for text in parsed]
    report = compare_brackets(parsed, [parse_tree("(NP (NN a))")] * 5)
    assert [sentence.sentence for sentence in report.sentences] == [0]
    assert report.errors == [Unscored(1, "2 words for 1"), Unscored(4, "word 'x' for 'a'")]
    assert report.skipped == [Unscored(2, "no tree"), Unscored(3, "no words that count")]
    assert report.scores()["f1"] == 100


def test_punctuation_with_another_tag_is_another_length():
    report = compare(TRUE.replace("(. .)", "(NN .)"), TRUE)
    assert report.errors == [Unscored(0, "5 words for 4")]


def test_equivalent_tags_are_the_same():
    assert counts("(S (PRT up))", "(S (ADVP up))") == (1, 1, 1, 0, 1, 1)


def test_nothing_to_divide_by_is_zero():
    report = compare("(NN a)", "(NN a)")
    assert report.sentences == [SentenceBrackets(0, 0, 0, 0, 0, 1, 1)]
    assert report.scores()["f1"] == 0 and report.scores()["exact"] == 100
    assert set(compare("(NN a)", "(NN b)").scores().values()) == {0}


@pytest.mark.parametrize("count", [0, 2])
def test_as_many_trees_on_both_sides(count):
    with pytest.raises(ValueError, match=rf"at least one. Received: {count} parsed, [01] true"):
        compare_brackets([parse_tree(TRUE)] * count, [parse_tree(TRUE)] * min(count, 1))


def test_a_long_chain_of_constituents():
    text = "(NN a)"
    for _ in range(150):
        text = f"(NP {text} (NN b))"
    assert counts(text, text) == (150, 150, 150, 0, 151, 151)
    assert bracket_text(parse_tree(text)) == text
