"""One vector per picture, whatever an encoder returns."""

import numpy as np

from keras_attn.models import EncoderVector, VisionTransformer
from keras_attn.models.vision_transformer.vision_sequence import VisionSequence


def test_a_sequence_is_averaged_over_its_tokens():
    sizes = {"num_layers": 1, "hidden_dim": 6, "intermediate_dim": 7, "num_heads": 2}
    sequence = VisionSequence(VisionTransformer(image_size=(8, 12), patch_size=4, **sizes))
    layer, images = EncoderVector(sequence, 1.0), np.random.default_rng(7).random((3, 8, 12, 3))
    vectors = layer(images)
    assert tuple(vectors.shape) == layer.compute_output_shape(images.shape) == (3, 6)
    expected = np.mean(sequence(images), axis=1)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
