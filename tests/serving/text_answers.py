"""What holds for the answers of every service of texts."""

import numpy as np
import tensorflow as tf

from keras_attn.contracts import SCORE, TEXT


def check_alone(saved, texts, rows):
    """Asked alone, each of these rows has the answer that it has among its neighbors."""
    together = saved.ask("serving_default", source=texts)
    for row in rows:
        alone = saved.ask("serving_default", source=texts[row : row + 1])[0]
        assert alone[TEXT].tolist() == together[row][TEXT].tolist()
        np.testing.assert_allclose(alone[SCORE], together[row][SCORE], rtol=1e-5)


def check_saved(saved, service, texts):
    """A SavedModel explains texts as the service does that it was made of."""
    expected = service.explain(tf.constant(texts))
    for row, answer in enumerate(saved.ask("explain", source=texts)):
        assert sorted(answer) == sorted(expected)
        for key, value in answer.items():
            value, wanted = np.asarray(value), expected[key][row].numpy()
            if value.dtype == np.float32:
                np.testing.assert_allclose(value, wanted, atol=1e-5, err_msg=key)
            else:
                np.testing.assert_array_equal(value, wanted, err_msg=key)
