"""The key that is next, by a slow count, and past the last key."""

import numpy as np
import pytest
from keras import ops

from keras_attn.layers import NextSource


def test_the_key_of_the_count():
    random = np.random.default_rng(3)
    tokens, value = random.integers(4, 7, (2, 13)), random.normal(size=(2, 5, 3)).astype("float32")
    layer = NextSource(5, 7)
    outputs = ops.convert_to_numpy(layer(tokens.astype("int32"), value, count=ops.array([0, 2])))
    kernel = ops.convert_to_numpy(layer.dense.kernel)
    for row, count in enumerate((0, 2)):
        for place, token in enumerate(tokens[row]):
            count += token == 5
            expected = value[row, min(count, 4)] @ kernel
            np.testing.assert_allclose(outputs[row, place], expected, rtol=1e-5, atol=1e-6)
    assert (tokens == 5).sum(1).max() > 4


@pytest.mark.parametrize("token", [-1, 0, 2.0, None])
def test_bad_token(token):
    with pytest.raises(ValueError, match=r"Expected an int token > 0\. Received: token="):
        NextSource(token, 3)
