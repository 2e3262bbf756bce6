"""The right-branching baseline."""

import pytest

from keras_attn.evaluation.brackets import compare_brackets
from keras_attn.evaluation.right_branching import RightBranching
from keras_attn.text.bracket_text import bracket_text, parse_tree
from keras_attn.text.trees import Leaf, leaves
from keras_attn_pipelines.data.readers.tree_reader import read_trees

TREES = [
    "(S (NP (DT the) (NN cell)) (VP (VB grows) (PP (IN in) (NP (DT a) (NN dish)))))",
    "(S (NP (NN growth)) (VP (VB is) (PP (IN in) (X (NN part)) (. .))))",
    "(FRAG (X (DT the) (NN end)))",
]


def learned(texts=TREES):
    return RightBranching.learn([parse_tree(text) for text in texts])


def test_learns_the_most_frequent_labels():
    parser = learned()
    assert parser == RightBranching("S", "NP", {"DT": "NP", "IN": "PP", "VB": "VP"})


def test_of_equals_the_first_in_the_alphabet():
    assert learned(["(S (Y (A a) (B b)) (X (A a) (B b)))", "(R (C c))"]) == RightBranching(
        "R", "X", {"A": "X"}
    )


def test_every_constituent_reaches_to_the_end():
    tree = learned().parse(["we", "see", "it", "grow", "."], ["PRP", "VB", "PRP", "IN", "."])
    assert bracket_text(tree) == "(S (PRP we) (VP (VB see) (NP (PRP it) (PP (IN grow) (. .)))))"
    assert bracket_text(learned().parse(["a", "b"], ["A", "B"])) == "(S (A a) (B b))"
    assert bracket_text(learned().parse(["a"], ["A"])) == "(S (A a))"


def test_a_sentence_longer_than_python_calls():
    words, tags = [f"w{i}" for i in range(3000)], ["NN"] * 3000
    tree = learned().parse(words, tags)
    assert [leaf.word for leaf in leaves(tree)] == words
    assert compare_brackets([tree], [tree]).scores()["f1"] == 100


@pytest.mark.parametrize("words, tags", [([], []), (["a"], []), (["a"], ["X", "Y"])])
def test_as_many_tags_as_words(words, tags):
    with pytest.raises(ValueError, match=r"as many tags as words, and at least one. Received: "):
        learned().parse(words, tags)


def test_nothing_to_learn_from():
    for trees in ([], [Leaf("NN", "a")], [parse_tree("(S (NP (NN a)) (VB b))")]):
        with pytest.raises(ValueError, match=r"constituents of several words. Received: none"):
            RightBranching.learn(trees)


@pytest.mark.slow
def test_scores_on_a_treebank(data_folder):
    folder = data_folder / "craft-treebank"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}; set KERAS_ATTN_DATA to the data folder")
    files = (read_trees(folder / f"{name}.mrg.gz") for name in ("train", "dev"))
    train, dev = ([pair.target for pair in file.pairs] for file in files)
    parser = RightBranching.learn(train)
    sentences = [leaves(tree) for tree in dev]
    parsed = [parser.parse([w.word for w in own], [w.tag for w in own]) for own in sentences]
    scores = compare_brackets(parsed, dev).scores()
    assert scores["f1"] == pytest.approx(20.92, abs=0.005)
