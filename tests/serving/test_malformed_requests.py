"""The attack of the benchmarks: on tiny models, and on one that mixes up its rows."""

import numpy as np
import pytest

from keras_attn.contracts import ERROR, SOURCE, TEXT
from tests.serving.servers import Backend

pytest.importorskip("tensorflow_serving.apis.predict_pb2", reason="needs the extra client")

from benchmarks import malformed_requests
from keras_attn.saved.session import SavedSession
from tests.serving.attack import Attack, same
from tests.serving.valid_requests import valid_rows


@pytest.mark.systems
@pytest.mark.parametrize("kind", ["tiny_text_export", "tiny_export"])
def test_malformed_requests_harm_nobody(kind, request):
    model = SavedSession(request.getfixturevalue(kind))
    rows = {"serving_default": valid_rows(model.folder, 3)["serving_default"]}
    attack = Attack(model, rows, seed=7)
    for _ in range(30):
        attack.request()
    model.close()
    counts = attack.counts
    assert counts["requests"] == 30 and counts["wrong"] == 0 and counts["valid"] > 30
    assert counts["refused"] and counts["reasoned"] and len(attack.reasons) > 5


def test_a_wrong_neighbor_is_noticed():
    """Rows whose answers depend on those before them."""

    class Mixing(Backend):
        def __init__(self):
            super().__init__("mixing", None, inputs=[SOURCE])

        def outputs(self, signature, columns):
            rows = columns[SOURCE]
            return {TEXT: np.roll(rows, 1), ERROR: np.array([b""] * len(rows), object)}

    attack = Attack(Mixing(), {"any": [{SOURCE: b"one"}, {SOURCE: b"two"}]})
    for _ in range(30):
        attack.request()
    assert attack.counts["wrong"] > 10


def test_no_valid_row_to_begin_with():
    refusing = Backend("any", lambda *_: {ERROR: np.array([b"too long"], object)})
    with pytest.raises(ValueError, match=r"a valid row of any\. Received: b'too long'"):
        Attack(refusing, {"any": [{SOURCE: b"one"}]})


def test_a_crash_has_its_own_row_in_the_table():
    result = {"counts": {"requests": 7, "valid": 9}, "reasons": {"": 1}, "early": 1.2, "late": 2.0}
    row = malformed_requests.row_of("name", result)
    assert row == ["name", "7", "0", "0", "0", "1", "9", "0", "1", "2"]
    crashed = malformed_requests.row_of("name", None)
    assert crashed[:2] == ["name", "crashed"] and len(crashed) == len(row)


def test_padding_and_rounding_make_no_difference():
    alone = {"a": np.array([1.0, 2.0], "float32"), "b": np.array([b"x"], object)}
    among = {"a": np.array([1.0, 2.00001, 0.0], "float32"), "b": np.array([b"x", b""], object)}
    assert same(among, alone)
    assert not same({**among, "b": np.array([b"y"], object)}, alone)
    assert not same({**among, "a": np.array([1.0, 3.0])}, alone)
