"""Words stay whole, whatever stands in them."""

import tensorflow as tf

from keras_attn.contracts import END_ID, UNKNOWN_ID
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text.words import split_words, word_pieces

END = [END_ID, 0, 0]


def test_each_word_by_itself():
    tokenizer = Tokenizer.learn(["the cells grow", "a cell"], 275)
    sentences = tf.constant(["the  \xa0 cell\u2009x\t", "", "a"])
    words = split_words(sentences)
    assert [[text.decode() for text in row] for row in words.to_list()] == [
        ["the", "\xa0", "cell\u2009x"],
        [],
        ["a"],
    ]
    own = [row[:3] for row in tokenizer.encode(["the", "cell x", "a"]).to_list()]
    padded = [row + [0] * (3 - len(row)) for row in own]
    expected = [[padded[0], [UNKNOWN_ID, 0, 0], padded[1], END], [END], [padded[2], END]]
    assert word_pieces(words, tokenizer, 3).to_list() == expected
    signature = [tf.TensorSpec([None], tf.string)]
    graph = tf.function(lambda rows: word_pieces(split_words(rows), tokenizer, 3), signature)
    assert graph(sentences).to_list() == expected
    assert graph(tf.constant(["", " "])).to_list() == [[END], [END]]
