from typing import NamedTuple

import numpy as np
import pytest

from keras_attn.evaluation.pointing import pointing_accuracy, points_at

ROWS, COLUMNS = 3, 5
IMAGE_SIZE = (21, 55)  # cells of 7 x 11 pixels


class Said(NamedTuple):
    """What `pointing_accuracy` reads of an explanation."""

    words: list[str]
    weights: np.ndarray


def peaks(*cells):
    """(words, ROWS, COLUMNS): one map for each word, with its peak in the (row, column) cell."""
    weights = np.full((len(cells), ROWS, COLUMNS), 0.03, "float32")
    for word, (row, column) in enumerate(cells):
        weights[word, row, column] = 0.5
    return weights


def box_of(row, column):
    """The pixels of one cell: (left, top, right, bottom)."""
    return 11 * column, 7 * row, 11 * column + 11, 7 * row + 7


@pytest.mark.parametrize("row", range(ROWS))
@pytest.mark.parametrize("column", range(COLUMNS))
def test_a_peak_counts_in_the_box_and_one_cell_around_it(row, column):
    box = box_of(1, 1)
    near = abs(row - 1) <= 1 and abs(column - 1) <= 1
    assert points_at(peaks((row, column)), (0, 1), box, IMAGE_SIZE) == near


def test_the_widening_is_one_cell_and_no_more():
    left, top, right, bottom = box_of(1, 2)  # 22 to 33, 7 to 14; the next cell's center is x = 38.5
    narrow = (left, top, right - 5, bottom)
    assert points_at(peaks((1, 3)), (0, 1), narrow, IMAGE_SIZE)
    assert not points_at(peaks((1, 3)), (0, 1), (left, top, right - 6, bottom), IMAGE_SIZE)
    assert points_at(peaks((2, 2)), (0, 1), (left, top, right, bottom - 3), IMAGE_SIZE)
    assert not points_at(peaks((2, 2)), (0, 1), (left, top, right, bottom - 4), IMAGE_SIZE)


def test_one_word_of_the_phrase_is_enough_and_other_words_do_not_count():
    weights = peaks((0, 0), (2, 4), (0, 0), (2, 4))
    assert points_at(weights, (0, 2), box_of(2, 4), IMAGE_SIZE)
    assert points_at(weights, (2, 4), box_of(2, 4), IMAGE_SIZE)
    assert not points_at(weights, (2, 3), box_of(2, 4), IMAGE_SIZE)


@pytest.mark.parametrize("phrase", [(-1, 1), (1, 1), (2, 1), (1, 3)])
def test_a_phrase_outside_the_words_is_an_error(phrase):
    with pytest.raises(ValueError, match=r"Expected a phrase inside 2 words. Received: phrase="):
        points_at(peaks((0, 0), (1, 1)), phrase, box_of(0, 0), IMAGE_SIZE)


TRUTH = {
    "words": ["a", "red", "dog", "left", "of", "a", "blue", "cat"],
    "phrases": ((1, 3), (6, 8)),
    "boxes": (box_of(0, 0), box_of(2, 4)),
}


def said(words, first=(0, 0), second=(2, 4)):
    far = (0, 4)  # in neither box, nor beside one
    cells = [far, far, first, far, far, far, second, far][: len(words)]
    return Said(words, peaks(*cells))


def test_accuracy_is_one_where_every_object_is_pointed_at():
    assert pointing_accuracy([said(TRUTH["words"])], [TRUTH], IMAGE_SIZE) == 1.0


def test_accuracy_is_zero_where_attention_lies_elsewhere():
    explanation = said(TRUTH["words"], first=(2, 4), second=(0, 0))
    assert pointing_accuracy([explanation], [TRUTH], IMAGE_SIZE) == 0.0


def test_accuracy_is_the_share_of_objects_over_all_pictures():
    explanations = [said(TRUTH["words"]), said(TRUTH["words"], first=(2, 3))]
    assert pointing_accuracy(explanations, [TRUTH, TRUTH], IMAGE_SIZE) == 3 / 4


@pytest.mark.parametrize(
    "words, share",
    [
        ("a red cat left of a blue cat", 1 / 2),
        ("a red dog left of a blue", 1 / 2),
        ("a red dog", 1 / 2),
        ("red dog left of a blue cat a", 0.0),
        ("", 0.0),
    ],
)
def test_an_object_not_named_in_its_place_is_missed(words, share):
    assert pointing_accuracy([said(words.split())], [TRUTH], IMAGE_SIZE) == share


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"as many explanations as scenes, 1. Received: 0"):
        pointing_accuracy([], [TRUTH], IMAGE_SIZE)
    with pytest.raises(ValueError, match=r"Expected at least one object. Received: none"):
        pointing_accuracy([], [], IMAGE_SIZE)
