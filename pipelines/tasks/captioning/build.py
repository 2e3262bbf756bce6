"""A captioner from its parts."""

from collections.abc import Callable


def built_captioner(part, features, decoder: Callable, penalty: float, seed: int):
    """A built `Captioner`.

    Args:
        part: model part with `encoder` and `tuning`.
        features: of the task.
        decoder: function that makes the decoder, called after the seed is set.
        penalty: λ of the `Captioner`.
        seed: of initial weights.
    """
    import keras

    from keras_attn.models.captioner import Captioner

    keras.utils.set_random_seed(seed)
    height, width, _ = features["image"].shape
    encoder = part.encoder.build(height)
    encoder.trainable = part.tuning.fine_tune
    model = Captioner(encoder, decoder(), (height, width), penalty, name="captioner")
    model.build()
    return model
