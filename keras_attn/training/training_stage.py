"""A stage of training: a model that trains another one on what that one makes itself."""

import keras
from keras import ops

from keras_attn.models.base_model import BaseModel
from keras_attn.models.encoder_decoder import EncoderDecoder


class TrainingStage(EncoderDecoder):
    """Abstract: a Keras model around the one that learns.

    `compile`, `fit`, checkpoints and `.keras` files take the stage, whose variables are those of
    the model and the number of training steps. Evaluation, answers and exports are the model's,
    which is `stage.model` and can be saved alone.

    Args:
        model: `EncoderDecoder` whose `start` takes a batch, such as `Captioner` or `Transformer`.

    Raises:
        ValueError: another model, or a stage.
    """

    def __init__(self, model, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(model, EncoderDecoder) or isinstance(model, TrainingStage):
            raise ValueError(
                "Expected a model of an encoder and a decoder, such as Captioner or Transformer. "
                f"Received: model={model!r}"
            )
        self.model = model
        self.updates = self.add_weight(
            shape=(),
            dtype="int32",
            initializer="zeros",
            trainable=False,
            aggregation="only_first_replica",
            name="updates",
        )
        self.built = model.built

    @property
    def decoder(self):
        """The model's decoder."""
        return self.model.decoder

    def build(self, input_shape=None):
        if not self.model.built:
            self.model.build(input_shape)

    def start(self, context, length):
        """Stepper: the model's start."""
        return self.model.start(context, length)

    def input_signature(self):
        """See `BaseModel`: the model's."""
        return self.model.input_signature()

    def added_loss(self, x, y, y_pred):
        """The model's."""
        return self.model.added_loss(x, y, y_pred)

    def call(self, batch, training=None):
        if not training:
            return self.model(batch, training=False)
        step = ops.convert_to_tensor(self.updates)
        outputs = self.trained(batch, step)
        self.updates.assign_add(1)
        return outputs

    def trained(self, batch, step):
        """What the model answers in a training step, of which `step` came before: a dict."""
        raise NotImplementedError

    def get_config(self):
        model = keras.saving.serialize_keras_object(self.model)
        return {**super().get_config(), "model": model}

    @classmethod
    def from_config(cls, config):
        restored = keras.saving.deserialize_keras_object
        return cls(
            **{key: restored(one) if key in cls.held else one for key, one in config.items()}
        )

    held: tuple[str, ...] = ("model",)
    """Arguments of the constructor that are objects."""


def trained_model(model: BaseModel) -> BaseModel:
    """The model that a stage trains; any other model itself."""
    return model.model if isinstance(model, TrainingStage) else model


def without_gradient(model, function):
    """What a function returns whose steps no gradient flows through.

    JAX differentiates all of a step, loops of unknown length included, unless it is told not to;
    TensorFlow's integers, which such a function returns, end a gradient.
    """
    if keras.backend.backend() != "jax":
        return function()
    frozen = [(one, ops.stop_gradient(one.value)) for one in model.variables]
    with keras.StatelessScope(state_mapping=frozen):
        return function()
