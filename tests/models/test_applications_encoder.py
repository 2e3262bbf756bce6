import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.models.image_encoders.applications_encoder import ApplicationsEncoder

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def pictures():
    return np.random.default_rng(0).integers(0, 256, (2, 61, 37, 3), np.uint8)


def array(tensor):
    return ops.convert_to_numpy(tensor)


def test_reads_a_weights_file(tmp_path):
    first = keras.applications.MobileNet(
        include_top=False, weights=None, input_shape=(None, None, 3)
    )
    first.save_weights(tmp_path / "mobile.weights.h5")
    encoder = ApplicationsEncoder("MobileNet", tmp_path / "mobile.weights.h5")
    expected = first(keras.applications.mobilenet.preprocess_input(pictures().astype("float32")))
    np.testing.assert_allclose(array(encoder(pictures())), array(expected), atol=1e-5)


def test_refuses_a_path_without_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Expected weights .*Received: .*none\.h5"):
        ApplicationsEncoder("MobileNet", tmp_path / "none.h5")


def test_lists_close_names():
    with pytest.raises(ValueError, match=r"EfficientNetV2B0.*Received: network='EficientnetV2B0'"):
        ApplicationsEncoder("EficientnetV2B0")
    with pytest.raises(ValueError, match=r"no NASNet.*Received: network='NASNetMobile'"):
        ApplicationsEncoder("NASNetMobile")


def test_names_the_remedy_where_weights_cannot_be_had(monkeypatch):
    def unreachable(*_arguments, **_settings):
        raise OSError("no route to host")

    monkeypatch.setattr("urllib.request.OpenerDirector.open", unreachable)
    monkeypatch.setattr("os.path.exists", lambda path: False)
    with pytest.raises(OSError, match=r"weights file.*network access.*EfficientNetLite0Encoder"):
        ApplicationsEncoder("MobileNet")


@pytest.mark.slow
def test_efficientnet_on_imagenet_weights_equals_keras_and_survives_saving(tmp_path, monkeypatch):
    published = keras.applications.EfficientNetB0(include_top=False, weights=None)
    mean, deviation, *_ = published.layers[2].variables
    mean.assign([0.485, 0.456, 0.406])
    deviation.assign([0.229, 0.224, 0.225])
    path = tmp_path / "published.weights.h5"
    published.save_weights(path)
    monkeypatch.setattr("keras.src.utils.file_utils.get_file", lambda *_, **__: str(path))

    expected = keras.applications.EfficientNetB0(include_top=False)(pictures().astype("float32"))
    encoder = ApplicationsEncoder("EfficientNetB0", trainable=False)
    # It has dropout inside, which a frozen encoder leaves out.
    features = array(encoder(pictures(), training=True))
    scale = np.abs(array(expected)).max()
    np.testing.assert_allclose(features, array(expected), atol=1e-4 * scale)

    monkeypatch.undo()
    keras.Sequential([keras.Input((61, 37, 3)), encoder]).save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    pixels = pictures().astype("float32")
    np.testing.assert_allclose(array(loaded(pixels)), array(expected), atol=1e-4 * scale)
