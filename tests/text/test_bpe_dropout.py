"""BPE dropout: the same texts, other pieces, the same for the same seed."""

import threading

import numpy as np
import pytest

from keras_attn.text import BPEDropout, Tokenizer

TEXTS = ["a red circle left of a blue square", "", "Zwei  Hunde laufen über die Wiese ☂", "two"]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.learn(TEXTS * 3, 420, lowercase=True)


def seed(number):
    return np.random.SeedSequence(number)


def test_draws_decode_to_the_texts_and_depend_on_the_seed_alone(tokenizer):
    draw = BPEDropout(tokenizer, TEXTS, 0.3)
    rows = [2, 0, 1, 0]
    draws = [draw(rows, seed(number)) for number in range(7)]
    normalized = [text.decode() for text in tokenizer.normalize(TEXTS).numpy()]
    for pieces in draws:
        decoded = [tokenizer.decode([ids]).numpy()[0].decode() if ids else "" for ids in pieces]
        assert decoded == [normalized[row] for row in rows]
    assert len({str(pieces) for pieces in draws}) == 7
    assert any(pieces[1] != pieces[3] for pieces in draws)
    again = BPEDropout(tokenizer, TEXTS, 0.3)
    assert [again(rows, seed(number)) for number in reversed(range(7))] == draws[::-1]


def test_no_dropout_is_the_tokenizers_encoding_and_more_makes_more_pieces(tokenizer):
    encoded = tokenizer.encode(TEXTS).to_list()
    assert BPEDropout(tokenizer, TEXTS, 0)(range(4), seed(3)) == encoded
    counts = [
        sum(
            len(ids)
            for number in range(11)
            for ids in BPEDropout(tokenizer, TEXTS, dropout)(range(4), seed(number))
        )
        for dropout in (0, 0.1, 0.3, 0.9)
    ]
    assert counts == sorted(set(counts))


def test_threads_that_draw_at_once_do_not_disturb_each_other(tokenizer):
    draw, results = BPEDropout(tokenizer, TEXTS, 0.3), {}
    expected = {number: draw(range(4), seed(number)) for number in range(61)}

    def work(numbers):
        for number in numbers:
            results[number] = draw(range(4), seed(number))

    threads = [threading.Thread(target=work, args=(range(k, 61, 3),)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == expected


@pytest.mark.parametrize("dropout", [-0.1, 1, "a"])
def test_a_dropout_that_is_no_probability(tokenizer, dropout):
    with pytest.raises(ValueError, match="Expected 0 <= dropout < 1"):
        BPEDropout(tokenizer, TEXTS, dropout)
