"""The captioner in the box: the model that its metadata describe answers as its graph does."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import IMAGE, SCORE, TOKENS
from keras_attn.serving.stored_shapes import same_numbers
from keras_attn_pipelines.recipes.own_pictures_transformer import RECIPE
from keras_attn_pipelines.runs.warm_start import WarmStart

pytestmark = pytest.mark.systems

FOLDER = Path(__file__).resolve().parents[2] / "saved_models" / "flickr8k_captioner"
PHOTOGRAPHS = Path(__file__).resolve().parents[2] / "docs" / "pictures"


def test_the_rebuilt_model_answers_as_the_graph():
    warm = WarmStart.read(FOLDER)
    experiment = warm.adapted(RECIPE, {})
    photograph = (PHOTOGRAPHS / "photograph.jpg").read_bytes()
    random = np.random.default_rng(3).integers(0, 256, (37, 41, 3)).astype("uint8")
    asked = tf.constant([photograph, tf.io.encode_png(random).numpy()])
    saved = tf.saved_model.load(str(warm.path)).signatures["explain"](**{IMAGE: asked})
    work, part = experiment.work, experiment.model
    service = work.service(warm.model, warm.vocabularies, part)
    function, signature = service.signatures()["explain"]
    rebuilt = tf.function(function, input_signature=signature, autograph=False)(asked)
    np.testing.assert_array_equal(rebuilt[TOKENS], saved[TOKENS])
    np.testing.assert_allclose(rebuilt[SCORE], saved[SCORE], atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "stored"), [((2, 3), (3, 2)), ((2, 3, 5), (10, 3)), ((7,), (8,))]
)
def test_weights_in_another_order_are_others(shape, stored):
    assert not same_numbers(shape, stored) and not same_numbers(stored, shape)
