"""Every kind of service, a line each: a tiny one, what it is asked, and reasons for refusals."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_attn.images.formats import reasons
from keras_attn.serving import FunctionService
from keras_attn.serving.readers.facts import NO_FACTS
from keras_attn.serving.readers.questions import EMPTY_QUESTION, EMPTY_STORY
from keras_attn.serving.readers.reasons import EMPTY, MOST_BYTES, NOT_UTF8
from keras_attn.viz.declared import Matrix, Strings
from tests.serving.tiny_fact_service import fact_service
from tests.serving.tiny_labels import (
    classifier_service,
    question_service,
    spatial_transformer_service,
    text_label_service,
)
from tests.serving.tiny_parser_service import parser_service
from tests.serving.tiny_sequence_service import sequence_service
from tests.serving.tiny_service import PICTURES, familiar_caption_service
from tests.serving.tiny_text_service import text_service


class Row(NamedTuple):
    """A kind of service.

    Attributes:
        name: name of the row.
        make: function that returns a tiny service.
        columns: values of every input of its signatures, by name.
        errors: what each row's reason begins with; '' for one that is answered.
        asked: an input as `predict` and `explain` take it.
    """

    name: str
    make: Callable[[], Any]
    columns: Mapping[str, Sequence[Any]]
    errors: Sequence[str]
    asked: Any


def fact_set(*triples):
    """A set of facts as a request has it."""
    rows = [[p if isinstance(p, bytes) else p.encode() for p in fact] for fact in triples]
    return np.array(rows, object)


def function_service():
    """A function of one's own: lengths of words, and how they share the text."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])

    def measured(source):
        words = tf.strings.split(source).to_tensor("")
        lengths = tf.cast(tf.strings.length(words), tf.float32)
        empty = tf.equal(tf.reduce_sum(lengths, axis=1), 0)
        score = tf.where(empty[:, None], 0.0, model(tf.reduce_sum(lengths, axis=1)[:, None]))
        return {
            "text": tf.where(empty, "", tf.strings.upper(source))[:, None],
            "score": score,
            "words": words,
            "shares": tf.math.divide_no_nan(lengths, tf.reduce_sum(lengths, 1, keepdims=True)),
            "error": tf.where(empty, EMPTY, ""),
        }

    return FunctionService(
        model, {}, measured, ["text", "score"], [Matrix("shares", Strings("words"))]
    )


TEXTS = ["one two three", "", "five ☂", " \t\0", b"\xff one", "two " * 40, "seven"]
LARGE = "x" * (MOST_BYTES + 1)
PICTURE_ERRORS = ["", "", reasons.UNKNOWN, "", reasons.EMPTY]
ADA = (("Ada_Low", "birthPlace", "Arden"), ("Ada_Low", "birthYear", '"1815"'))
MARY = "Mary went to garden."
STORY = "Mary went to garden.\r\n\n John went to ünï. "

ROWS = (
    Row(
        "captions",
        familiar_caption_service,
        {"image": PICTURES, "caption": ["a red dog", "a dog", "a dog", "", "a dog"]},
        PICTURE_ERRORS,
        PICTURES[0],
    ),
    Row(
        "texts",
        text_service,
        {"source": [*TEXTS, LARGE], "target": ["eins", "zwei", "", *["fünf"] * 5]},
        ["", EMPTY, "", EMPTY, NOT_UTF8, "a source of 41 pieces, its end included", "", "65537 b"],
        "one two three",
    ),
    Row(
        "facts",
        fact_service,
        {
            "facts": [
                fact_set(*ADA),
                fact_set(("", "", "")),
                fact_set(("Ben", "field", "Ada"), ("Ada", "field", "Ben")),
                fact_set(("Ada", "field", "")),
                fact_set(*ADA, ("Ada", "_", "sums")),
                fact_set(("José_Ñandú", "field", "光学 ☂")),
                fact_set(*ADA, ADA[0]),
                fact_set(*(("Ada", "field", str(number)) for number in range(50))),
                fact_set((b"\xff", b"field", b"sums")),
                fact_set(("Ada", "field", "x" * 1000)),
                fact_set(("", "Birth place", "Cove")),
            ],
            "target": ["Ada Low."] * 11,
        },
        [
            *("", NO_FACTS, "", "fact 1 without object", "fact 3 without property", ""),
            *("fact 3 repeats fact 1", "a set of 50 facts (expected at", NOT_UTF8),
            *("a set of ", ""),
        ],
        [*map(list, ADA)],
    ),
    Row(
        "trees",
        parser_service,
        {
            "source": [
                *("the cell grows", "", "f(x) [y] ☂\xa0z , ( a\0b )", " \t\n", b"\xff one"),
                *("cell " * 12, "mouse", "cell " * 11, LARGE),
            ]
        },
        ["", EMPTY, "", EMPTY, NOT_UTF8, "a sentence of 12 words (expected at", "", "", "65537 b"],
        "the cell grows",
    ),
    Row(
        "picture_labels",
        classifier_service,
        {"image": PICTURES, "label": ["cat"] * 5},
        PICTURE_ERRORS,
        PICTURES[0],
    ),
    Row(
        "crops",
        spatial_transformer_service,
        {"image": PICTURES, "label": ["small dog"] * 5},
        PICTURE_ERRORS,
        PICTURES[0],
    ),
    Row(
        "text_labels",
        text_label_service,
        {"source": TEXTS, "label": ["Ünïcode ☂"] * 7},
        ["", EMPTY, "", EMPTY, NOT_UTF8, "a source of 41 pieces, its end included", ""],
        "one two three",
    ),
    Row(
        "questions",
        question_service,
        {
            "story": [STORY, "", " \n ...", *[MARY] * 2, b"\xff", STORY * 3, MARY],
            "question": [
                *["Where is Mary?"] * 3,
                *(" ? ", "Where is Zoe?", "Where is John?", "Where is John?", b"\xff"),
            ],
            "label": ["garden"] * 8,
        },
        [
            *("", EMPTY_STORY, EMPTY_STORY, EMPTY_QUESTION, "an unknown word: zoe", NOT_UTF8),
            *("", NOT_UTF8),
        ],
        "Mary went to garden. John went to garden. Where is Mary?",
    ),
    *(
        Row(
            name,
            lambda name=name: sequence_service(name),
            {"sequence": ["011 110", "01", "", b"\xff", " 011   110 101 ", "011 nan", "101 " * 13]},
            ["", "expected words, of 3 bits each", EMPTY, NOT_UTF8, "", "expected words, of 3", ""],
            "011 110",
        )
        for name in ("ntm", "dnc")
    ),
    Row(
        "function",
        function_service,
        {"source": ["one two three", "", "seven"]},
        ["", EMPTY, ""],
        "one two three",
    ),
)
BY_NAME = {row.name: row for row in ROWS}
