"""`Requests`: batches, and pictures that the server wants in another request."""

import numpy as np
import pytest

from keras_attn.contracts import ANOTHER_REQUEST, ERROR
from keras_attn.serving.requests import Requests


class Budget(Requests):
    """Answers lengths; texts that would take a request above `budget` characters are deferred."""

    def __init__(self, budget, kind=bytes):
        self.budget, self.kind, self.asked = budget, kind, []

    def _answer(self, signature, chunk):
        self.asked.append(chunk["source"])
        spent = np.cumsum([len(source) for source in chunk["source"]])
        errors = [f"too much; {ANOTHER_REQUEST}" if sum_ > self.budget else "" for sum_ in spent]
        errors = [error.encode() if self.kind is bytes else error for error in errors]
        return {"length": [len(source) for source in chunk["source"]], ERROR: errors}


@pytest.mark.parametrize("kind", [bytes, str])
def test_deferred_rows_are_asked_again_in_order(kind):
    model = Budget(7, kind)
    texts = ["abc", "de", "fghij", "klm", "n", "opqrstu", "v"]
    answers = model.ask("length", batch=3, source=texts)
    assert [answer["length"] for answer in answers] == list(map(len, texts))
    assert not any(answer[ERROR] for answer in answers)
    assert model.asked[:2] == [["abc", "de", "fghij"], ["fghij", "klm", "n"]]
    assert all(len(chunk) <= 3 for chunk in model.asked)


def test_a_row_that_is_always_deferred_ends_with_its_error():
    model = Budget(2)
    answers = model.ask("length", batch=2, source=["a", "bcdef", "g", "hijkl"])
    assert [bool(answer[ERROR]) for answer in answers] == [False, True, False, True]
    assert model.asked.count(["bcdef", "g"]) == 3 and len(model.asked) <= 9
