"""Sentences from tokens: rules, the same in Python and in the graph, and in answers."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_attn.contracts import ANSWER_PIECES, SENTENCES, TEXT
from keras_attn.serving.writers import TextWriter
from keras_attn.text import detokenize
from keras_attn.text.tokenizer import Tokenizer

SPACED = [
    ("a man on a skateboard .", "a man on a skateboard."),
    ("a man , a dog , and a ball .", "a man, a dog, and a ball."),
    ("the dog 's ball is n't red .", "the dog's ball isn't red."),
    ("they 're red , are n't they ?", "they're red, aren't they?"),
    ("a sign ( red ) says stop !", "a sign (red) says stop!"),
    ("what ? !", "what?!"),
]
QUOTES = [
    ("a sign that says `` stop '' .", 'a sign that says "stop".'),
    ('a shirt with " 7 " on it , torn .', 'a shirt with "7" on it, torn.'),
]
UNCHANGED = ["Bonjour !", "a red dog", "A dog, at 3.5 km.", "", "n't", "3 : 4", "wait . . .x"]


@pytest.mark.parametrize(("tokens", "sentence"), SPACED + QUOTES)
def test_rules(tokens, sentence):
    assert detokenize.detokenize([tokens]).numpy()[0].decode() == sentence
    if detokenize.are_spaced([tokens]):
        assert detokenize.detokenized(tokens) == sentence
    if (tokens, sentence) in SPACED and "(" not in tokens:
        assert detokenize.spaced(sentence) == tokens


@pytest.mark.parametrize("text", UNCHANGED[:-1])
def test_texts_that_are_no_tokens_stay(text):
    assert detokenize.detokenized(text) == text


@settings(max_examples=100, deadline=None)
@given(st.text("ab .,!?'\"`()nst…", max_size=30))
@example("a . . .")
@example('" . " . ')
def test_graph_and_python_agree(text):
    expected = detokenize._replaced(text, detokenize.RULES)
    assert detokenize.detokenize([text]).numpy()[0].decode() == expected
    assert detokenize.space([text]).numpy()[0].decode() == detokenize.spaced(text)


@pytest.mark.parametrize("is_spaced", [False, True])
def test_answers_are_sentences_and_are_scored_as_tokens(is_spaced, tmp_path):
    texts = ["a red dog .", "a dog , not red ."] if is_spaced else ["Un chien !", "Il dort."]
    Tokenizer.learn(texts, 300).save(tmp_path)
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.spaced == is_spaced
    writer = TextWriter(tokenizer, sentences=True)
    tokens = tokenizer.encode(texts).to_tensor()
    written = writer.write(tokens, None, None, None)
    sentences = [text.decode() for text in written[TEXT].numpy()]
    assert sentences == (["a red dog.", "a dog, not red."] if is_spaced else texts)
    assert (written[ANSWER_PIECES] == tokenizer.pieces(tokens)).numpy().all()
    assert (tokenizer.encode(writer.targets(sentences, None)).to_tensor() == tokens).numpy().all()
    plain = TextWriter(tokenizer).write(tokens, None, None, None)[TEXT]
    assert [text.decode() for text in plain.numpy()] == texts


def test_a_tokenizer_that_does_not_say_claims_no_sentences(tmp_path):
    Tokenizer.learn(["a red dog ."], 300).save(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"lowercase": false}')
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.spaced is None
    assert SENTENCES not in TextWriter(tokenizer, sentences=True).metadata()
    tokenizer.save(tmp_path / "again")
    assert Tokenizer.load(tmp_path / "again").spaced is None
