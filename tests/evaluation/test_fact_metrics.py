"""Metrics of texts that say facts."""

import math

import pytest

from keras_attn.evaluation.fact_metrics import fact_metrics, mention, mentioned_order, words_of

FACTS = [
    ("Ada_Low", "birthDate", "1815-12-01"),
    ("Ada_Low", "birthPlace", "Arden_Hill,_Devon"),
    ("Ada_Low", "height", '"1.60"'),
]
TEXT = "Ada Low is 1.60 m tall; she was born in Arden Hill on 1 December 1815."


def test_words_are_compared_without_case_accents_and_zeros():
    assert words_of("Élan_vital 007 3.0 1.60 2,500") == ["elan", "vital", "7", "3", "1.60", "2500"]


@pytest.mark.parametrize(
    ("value", "place"),
    [("1815-12-01", 13), ("Arden_Hill,_Devon", 10), ('"1.60"', 3), ("Cove", None), ("", None)],
)
def test_mentions(value, place):
    assert mention(value, words_of(TEXT)) == place


def test_orders_and_shares():
    assert mentioned_order(FACTS, TEXT) == [2, 1, 0]
    references = [["Born in Arden Hill, Devon, Ada Low is 1.60 m tall."]]
    scores = fact_metrics([TEXT], [FACTS], references, [[(1, 2), (2, 1, 0)]])
    assert scores == {"mentioned": 1.0, "copied": 0.5, "order": 1.0}
    scores = fact_metrics([TEXT], [FACTS], references, [[(0, 1, 2)]])
    assert scores["order"] == 0.0
    assert math.isnan(fact_metrics([TEXT], [FACTS], references)["order"])
    silent = fact_metrics([""], [FACTS], references, [[(2, 1, 0)]])
    assert silent == {"mentioned": 0.0, "copied": 0.0, "order": 0.0}


def test_different_numbers_are_refused():
    with pytest.raises(ValueError, match="of equal number, at least one"):
        fact_metrics([TEXT], [FACTS], [])
    with pytest.raises(ValueError, match="of equal number, at least one"):
        fact_metrics([], [], [])
