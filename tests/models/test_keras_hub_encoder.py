"""Image backbones of keras-hub as encoders."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.models.image_encoders.keras_hub_encoder import KerasHubEncoder

hub = pytest.importorskip("keras_hub")
SCALE, OFFSET = [0.02, 0.01, 0.03], [-0.1, 0.2, 0.3]
PICTURES = np.random.default_rng(3).integers(0, 256, (2, 15, 20, 3), "uint8")


@pytest.fixture(scope="module")
def vit():
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 6, "mlp_dim": 7}
    return hub.models.ViTBackbone(image_shape=(15, 20, 3), patch_size=(5, 5), **sizes)


def test_patches_of_scaled_pixels_without_the_class_token(vit):
    encoder = KerasHubEncoder(vit, SCALE, OFFSET)
    features = ops.convert_to_numpy(encoder(PICTURES))
    assert features.shape == encoder.compute_output_shape((2, 15, 20, 3)) == (2, 3, 4, 6)
    expected = ops.convert_to_numpy(vit((PICTURES * np.array(SCALE) + OFFSET).astype("float32")))
    np.testing.assert_allclose(features.reshape(2, 12, 6), expected[:, 1:], atol=1e-5)
    assert encoder(PICTURES[:0]).shape == (0, 3, 4, 6)
    with pytest.raises(ValueError, match=r"15x20 pixels, as the backbone.*Received: 20x20"):
        encoder.compute_output_shape((None, 20, 20, 3))


@pytest.mark.systems
def test_a_preset_and_a_saved_model(vit, tmp_path):
    converter = hub.layers.ViTImageConverter(image_size=(15, 20), scale=SCALE, offset=OFFSET)
    preprocessor = hub.models.ViTImageClassifierPreprocessor(converter)
    task = hub.models.ViTImageClassifier(vit, num_classes=3, preprocessor=preprocessor)
    task.save_to_preset(tmp_path / "vit")
    encoder = KerasHubEncoder.from_preset(tmp_path / "vit", trainable=False)
    assert not encoder.trainable_weights and encoder.scale == SCALE
    np.testing.assert_allclose(encoder(PICTURES), KerasHubEncoder(vit, SCALE, OFFSET)(PICTURES))
    keras.Sequential([keras.Input((15, 20, 3)), encoder]).save(tmp_path / "model.keras")
    restored = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(restored(PICTURES), encoder(PICTURES))
    vit.save_to_preset(tmp_path / "bare")
    with pytest.raises(ValueError, match=r"an image converter. Received: .*bare"):
        KerasHubEncoder.from_preset(tmp_path / "bare")


@pytest.mark.systems
def test_a_preset_of_another_task(tmp_path):
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 4, "intermediate_dim": 5}
    hub.models.BertBackbone(vocabulary_size=11, **sizes).save_to_preset(tmp_path / "bert")
    message = r"reads pictures .*Received: BertBackbone, which reads token_ids, .*bert'"
    with pytest.raises(ValueError, match=message):
        KerasHubEncoder.from_preset(tmp_path / "bert")
