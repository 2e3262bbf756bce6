"""Texts of algorithmic problems as vectors, and answers as texts."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text.sequence_forms import FORMS, PROBLEMS
from keras_attn.text.sequence_words import MOST_STEPS, AnswerWords, SourceWords

READ = {
    "copy": ("011 110", "011 11", 2),
    "repeat_copy": ("011 110 x12", "011 110", 25),
    "associative_recall": ("011 110 | 000 101 ? 011 110", "011 | 000", 2),
    "priority_sort": ("011:-0.25 110:0.7 101:0.0 x2", "011:0.5 110 x2", 2),
    "shortest_path": ("001-010 010-100 ? 001-100", "001-010 ? 001", 7),
}


def slow_vectors(problem, text, bits):
    """The vectors of a text, number by number."""
    paths = problem == "shortest_path"
    rows = []
    for word in [*text.split(), "end"]:
        row = np.zeros(bits * (2 if paths else 1) + 4)
        if word in ("|", "?", "end"):
            row[-3 + ("|", "?", "end").index(word)] = 1
        elif word[0] == "x":
            row[-4] = int(word[1:]) / 10
        else:
            for place, digit in enumerate(word.partition(":")[0].replace("-", "")):
                row[place] = int(digit)
            row[-4] = float(word.partition(":")[2] or 0)
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_sources_are_read_and_bad_ones_refused(problem):
    good, bad, steps = READ[problem]
    words = SourceWords(problem, 3, longest=5, longest_answer=7)
    texts = tf.constant([good, bad, "", f"  {good} ".replace(" ", "\t ")])
    read = tf.function(words.encode)(texts)
    expected = slow_vectors(problem, good, 3)
    assert expected.shape[1] == words.vocabulary_size
    for row in (0, 3):
        np.testing.assert_allclose(read.vectors[row].numpy(), expected, atol=1e-7)
    assert read.steps.numpy().tolist() == [steps, 0, 0, steps]
    assert read.vectors.row_lengths().numpy().tolist()[1:3] == [1, 1]
    reasons = [reason.decode() for reason in read.reasons.numpy()]
    assert reasons[0] == reasons[3] == ""
    assert reasons[1].startswith(f"expected {FORMS[problem].words}, of 3 bits each, such as")
    assert reasons[1].endswith(f"received: {bad}")
    example = FORMS[problem].example_of(3)
    assert not words.encode(tf.constant([example])).reasons.numpy()[0]


def test_what_is_longer_than_trained_on():
    words = SourceWords("repeat_copy", 1, longest=3, longest_answer=5)
    read = words.encode(tf.constant(["0 1 x2", "0 1 x3", "0 1 1 x1", "0 2"]))
    assert words.longer(read).numpy().tolist() == [0, 1, 1, 0]
    words = SourceWords("copy", 1, longest=3, longest_answer=3)
    read = words.encode(tf.constant(["0 " * 2047, "0 " * 2048]))
    reasons = [reason.decode() for reason in read.reasons.numpy()]
    assert reasons == ["", f"4097 steps in all (expected at most {MOST_STEPS})"]
    assert read.steps.numpy().tolist() == [2047, 0]


def test_answers_there_and_back():
    words = AnswerWords(3)
    texts = ["011 110 .", "001", ""]
    vectors = words.encode(tf.constant(texts))
    steps = vectors.row_lengths()
    decoded = words.decode(vectors.to_tensor(), steps).numpy()
    assert [text.decode() for text in decoded] == texts
    ended = words.decode(words.encode(tf.constant(["011 . 110"])).to_tensor(), [3])
    assert ended.numpy().tolist() == [b"011 ."]
    cut = words.decode(words.encode(tf.constant(["011 000 110"])).to_tensor(), [2])
    assert cut.numpy().tolist() == [b"011 000"]


def test_planning_steps_follow_the_end_without_input():
    plain, planning = (SourceWords("copy", 3, 5, 7, steps) for steps in (0, 2))
    texts = ["011 110", "1"]
    short, long = plain.encode(texts), planning.encode(texts)
    assert long.vectors.row_lengths().numpy().tolist() == [5, 3]
    assert long.steps.numpy().tolist() == short.steps.numpy().tolist() == [2, 0]
    for row in range(2):
        expected = np.pad(short.vectors[row].numpy(), [(0, 2), (0, 0)])
        np.testing.assert_array_equal(long.vectors[row].numpy(), expected)
    longer = planning.longer(planning.encode(["011 " * 5, "011 " * 6]))
    assert longer.numpy().tolist() == [0, 1]


def test_settings_are_kept(tmp_path):
    words = SourceWords("copy", 5, 7, 11, planning_steps=3)
    words.save(tmp_path / "words")
    loaded = SourceWords.load(tmp_path / "words")
    assert loaded.equals(words) and not loaded.equals(SourceWords("copy", 5, 7, 11))
    assert not loaded.equals(AnswerWords(5))
    with pytest.raises(ValueError, match=r"Expected settings of words in .*sequence_words\.json"):
        AnswerWords.load(tmp_path / "words")
    with pytest.raises(ValueError, match=r"Expected settings of words in .*No such file"):
        AnswerWords.load(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("copies", 3, 5, 7), "Expected one of copy, .*Received: problem='copies'"),
        (("copy", 0, 5, 7), r"Expected bits >= 1\. Received: bits=0"),
        (("copy", 3, True, 7), r"Expected longest >= 1, an int\. Received: longest=True"),
        (("copy", 3, 5, 0), r"Expected longest_answer >= 1\. Received: longest_answer=0"),
        (("copy", 3, 5, 7, -1), r"Expected planning_steps >= 0\. Received: planning_steps=-1"),
    ],
)
def test_bad_settings(arguments, message):
    with pytest.raises(ValueError, match=message):
        SourceWords(*arguments)
