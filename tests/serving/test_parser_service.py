"""The parser's service and its export: every answer a tree over exactly the words, no XLA."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import ERROR, SCORE, SOURCE, TAGS, TEXT
from keras_attn.decoding import Greedy
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.export import graph_ops, unservable_ops
from keras_attn.serving.readers.reasons import EMPTY
from keras_attn.serving.writers import BracketWriter
from keras_attn.text.bracket_text import parse_tree
from keras_attn.text.linearization import chain_counts, linearize
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.trees import depth, leaves
from tests.serving.registry import BY_NAME
from tests.serving.tiny_parser_service import (
    CHAIN,
    DEEPEST,
    LONGEST_SENTENCE,
    SYMBOLS,
    parser_service,
)

SENTENCES = BY_NAME["trees"].columns[SOURCE]
GOOD = [row for row, reason in enumerate(BY_NAME["trees"].errors) if not reason]


@pytest.fixture(scope="module")
def service(service_named):
    return service_named("trees")


@pytest.fixture(scope="module")
def version(version_named):
    return version_named("trees")


@pytest.fixture(scope="module")
def saved(saved_named):
    return saved_named("trees")


def words_of(sentence):
    text = sentence.replace("(", "-LRB-").replace(")", "-RRB-")
    return [part.decode() for part in tf.strings.split(text).numpy()]


def test_every_answer_is_a_tree_over_the_words(saved):
    answers = saved.ask("explain", source=SENTENCES)
    for row in GOOD:
        each_answer, words = answers[row], words_of(SENTENCES[row])
        assert [w.decode() for w in each_answer["source_pieces"] if w] == [*words, "</s>"]
        tags = [tag.decode() for tag in each_answer[TAGS] if tag]
        assert (np.diff(each_answer[SCORE]) <= 0).all() and (each_answer[SCORE] < 0).all()
        for text, symbols in zip(each_answer[TEXT], each_answer["pieces"]):
            tree = parse_tree(text.decode())
            assert [leaf.word for leaf in leaves(tree)] == words
            assert [leaf.tag for leaf in leaves(tree)] == tags
            assert linearize(tree).symbols == [w.decode() for w in symbols if w]
            assert set(linearize(tree).symbols) <= set(SYMBOLS)
            assert max(chain_counts([tree]), default=0) <= CHAIN and depth(tree) <= DEEPEST
        np.testing.assert_allclose(
            each_answer["weights"].sum(-1), each_answer["tokens"] != 0, atol=1e-5
        )
        assert not each_answer["weights"][..., len(words) + 1 :].any()


def test_attention_of_every_head(saved):
    answer, bad = saved.ask("attention", source=[b"the cell grows", b""])
    best = saved.ask("serving_default", source=[b"the cell grows"])[0][TEXT][0]
    assert answer[TEXT] == best and bad[TEXT] == b"" and bad[ERROR].decode() == EMPTY
    symbols = [text.decode() for text in answer["pieces"] if text]
    assert symbols == [*linearize(parse_tree(best.decode())).symbols, "</s>"]
    assert answer["encoder_weights"].shape == (2, 2, 4, 4)
    cross = answer["cross_weights"][..., : len(symbols), :]
    np.testing.assert_allclose(cross.sum(-1), 1, atol=1e-5)
    assert not any(bad[key].any() for key in bad if key.endswith("weights"))


def test_what_is_exported(version, saved):
    assert not unservable_ops(version) and "PyFunc" not in graph_ops(version)
    metadata = read_metadata(version)
    assert metadata["max_unary_chain"] == CHAIN and metadata["max_depth"] == DEEPEST
    assert metadata["max_source"] == LONGEST_SENTENCE and metadata["word_pieces"] == 3
    with pytest.raises(ValueError, match="Expected a SavedModel with a signature 'score'"):
        saved.ask("score", source=["a"], target=["b"])


@pytest.mark.systems
def test_greedy_and_too_little_room():
    service = parser_service(Greedy())
    text = service.answer(tf.constant(SENTENCES[:1]))[TEXT][0, 0].numpy().decode()
    assert [leaf.word for leaf in leaves(parse_tree(text))] == ["the", "cell", "grows"]
    with pytest.raises(ValueError, match=r"max_length >= max_source \+ 2 = 14. Received: .*=13"):
        parser_service(max_length=13)


def test_a_label_without_its_closing_bracket(service):
    symbols = SymbolTable(["XX", "(NP", ")NP", "(VP"])
    with pytest.raises(ValueError, match=r"Expected symbols with \)VP\. Received"):
        BracketWriter(symbols, service.writer.tags, CHAIN, DEEPEST)
