"""Rotary scalings, turns, slopes and buckets equal other programs', and depend on distance only."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from keras_attn.ops import alibi_slopes, relative_buckets, rotate, scaled_frequencies
from tests.reference import transformer as twin

with np.load(Path(__file__).parents[1] / "golden" / "relative_positions.npz") as file:
    GOLDEN = {name: file[name] for name in file.files}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
RANDOM = np.random.default_rng(5)


def cases(name):
    """What was asked and what came, for each number."""
    count = sum(key.startswith(f"{name}_") for key in GOLDEN)
    return [json.loads(str(GOLDEN[f"{name}_{place}"])) for place in range(count)]


@pytest.mark.parametrize("place", range(len(cases("scaling"))))
def test_scalings_equal_transformers(place):
    units, base, scaling = cases("scaling")[place]
    frequencies, factor = scaled_frequencies(units, base, scaling)
    np.testing.assert_allclose(frequencies, GOLDEN[f"frequencies_{place}"], rtol=1e-5)
    np.testing.assert_allclose(factor, GOLDEN[f"factor_{place}"], rtol=1e-6)


def test_older_checkpoints_name_the_type_differently():
    older = {"type": "yarn", **{name: YARN[name] for name in YARN if name != "rope_type"}}
    for scaling in (older, {**YARN, "type": "yarn"}):
        np.testing.assert_array_equal(
            scaled_frequencies(8, scaling=scaling)[0], scaled_frequencies(8, scaling=YARN)[0]
        )


@pytest.mark.parametrize(("name", "interleaved"), [("halves", False), ("neighbors", True)])
def test_turns_equal_transformers(name, interleaved):
    query, positions = GOLDEN["query"], GOLDEN["positions"]
    outputs = rotate(query, positions, scaled_frequencies(8)[0], interleaved)
    np.testing.assert_allclose(outputs, GOLDEN[name], atol=1e-5)
    for row, position in enumerate(positions):
        wanted = twin.turned(query[1, 2, row], position, {"interleaved": interleaved})
        np.testing.assert_allclose(outputs[1, 2, row], wanted, atol=1e-5)


@pytest.mark.parametrize("interleaved", [False, True])
def test_products_depend_on_distance_only(interleaved):
    query, key = RANDOM.normal(size=(2, 1, 1, 7)).astype("float32")
    frequencies = scaled_frequencies(6)[0]

    def product(t, s):
        turned = [
            np.array(rotate(vector, np.array([place]), frequencies, interleaved))
            for vector, place in ((query, t), (key, s))
        ]
        return float(np.sum(turned[0] * turned[1]))

    for t, s in ((3, 1), (11, 5), (2, 13)):
        assert math.isclose(product(t, s), product(t + 101, s + 101), abs_tol=1e-4)
    assert not math.isclose(product(3, 1), product(3, 2), abs_tol=1e-3)
    assert math.isclose(product(0, 0), float(np.sum(query * key)), abs_tol=1e-5)


@pytest.mark.parametrize("place", range(len(cases("sizes"))))
def test_buckets_equal_transformers(place):
    buckets, most, bidirectional = cases("sizes")[place]
    answered = relative_buckets([200], np.arange(401), buckets, most, bidirectional)
    np.testing.assert_array_equal(answered[0], GOLDEN[f"buckets_{place}"])


def test_slopes():
    for heads in (1, 2, 8, 16):
        wanted = [twin.slope(head, heads) for head in range(heads)]
        np.testing.assert_allclose(alibi_slopes(heads), wanted)
    # The authors' program: of 8, then every other one of 16.
    wanted = [*alibi_slopes(8), *alibi_slopes(16)[::2][:4]]
    np.testing.assert_allclose(alibi_slopes(12), wanted)


@pytest.mark.parametrize(
    ("scaling", "message"),
    [
        ({"rope_type": "ntk"}, r"rope_type of a scaling in .*Received: 'ntk'"),
        ({"factor": 2.0}, r"rope_type of a scaling in .*Received: None"),
        ({**YARN, "beta": 1}, r"it also takes attention_factor, beta_fast.*Received: beta, factor"),
        ({"rope_type": "llama3", "factor": 2.0}, "with factor, original_max_position_embeddings"),
        ({**YARN, "factor": 0.5}, r"factor >= 1 .*Received: 0\.5"),
        ({**YARN, "beta_slow": 32.0}, r"0 < beta_slow < beta_fast .*Received: 32\.0 and 32\.0"),
        ("linear", "a dict with rope_type, or None. Received: scaling='linear'"),
        ({**YARN, "factor": "4"}, "a number as factor of a scaling. Received: '4'"),
        ({**YARN, "beta_fast": None}, "a number as beta_fast"),
        ({**YARN, "attention_factor": -1}, "attention_factor > 0 .*Received: -1"),
        ({**YARN, "original_max_position_embeddings": 0}, r">= 1 in a scaling\. Received: 0"),
    ],
)
def test_bad_scalings(scaling, message):
    with pytest.raises(ValueError, match=message):
        scaled_frequencies(8, scaling=scaling)
