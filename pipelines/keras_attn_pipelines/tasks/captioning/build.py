"""A captioner from its parts."""

from collections.abc import Callable

from keras_attn.contracts import IMAGE
from keras_attn_pipelines.experiment.parts import Built


def built_captioner(
    part, features, decoder: Callable, penalty: float, seed: int, kind: str
) -> Built:
    """A built `Captioner`, whose encoder is a slow layer.

    Args:
        part: model part with `encoder` and `tuning`.
        features: of the task.
        decoder: function that makes the decoder, called after the seed is set.
        penalty: λ of the `Captioner`.
        seed: seed of the initial weights.
        kind: kind of captioner, for the model card.
    """
    import keras

    from keras_attn.models.captioner.captioner import Captioner

    keras.utils.set_random_seed(seed)
    height, width, _ = features[IMAGE].shape
    encoder = part.encoder.build(height)
    encoder.trainable = part.tuning.fine_tune
    model = Captioner(encoder, decoder(), (height, width), penalty, name="captioner")
    model.build()
    return Built(model, f"{kind}: {type(encoder).__name__}", (encoder.name,))
