"""A service's method as its decorator changes it."""

import inspect

import pytest
import tensorflow as tf

from keras_attn.serving.empty_batch import accepts_empty_batch


class Pairs:
    """Counts the rows that it has seen."""

    def __init__(self):
        self.seen = []

    @accepts_empty_batch
    def score(self, source, target, *, factor=3):
        """Lengths of pairs."""
        tf.debugging.assert_equal(tf.shape(source), tf.shape(target), "as many targets")
        self.seen.append(source.shape[0])
        lengths = tf.strings.length(source) + tf.strings.length(target)
        return {"length": factor * lengths, "rows": tf.zeros((tf.size(source), 5, 7))}


def test_a_row_stands_in_for_an_empty_batch_and_is_cut_off():
    pairs, none = Pairs(), tf.constant([], tf.string)
    answer = pairs.score(none, none)
    assert answer["length"].shape == (0,) and answer["rows"].shape == (0, 5, 7)
    answer = pairs.score(["a", "bb"], ["ccc", ""], factor=2)
    assert answer["length"].numpy().tolist() == [8, 4] and pairs.seen == [1, 2]


def test_inputs_of_different_lengths_stay_different():
    for source, target in (([], ["a"]), (["a"], []), ([], ["a", "b"])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="as many targets"):
            Pairs().score(tf.constant(source, tf.string), tf.constant(target, tf.string))


def test_in_a_graph_of_any_batch():
    batch = tf.TensorSpec((None,), tf.string)
    score = tf.function(Pairs().score, [batch, batch], autograph=False)
    for count in (0, 2):
        texts = tf.fill((count,), "abc")
        assert score(texts, texts)["length"].numpy().tolist() == [18] * count


def test_the_method_keeps_its_name_and_signature():
    assert Pairs.score.__doc__ == "Lengths of pairs."
    assert list(inspect.signature(Pairs.score).parameters) == ["self", "source", "target", "factor"]
