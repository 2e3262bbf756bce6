"""A stage of training: a model that trains another one on what that one makes itself."""

import contextlib

import keras
from keras import ops
from keras.src.backend.common import global_state  # The call context has no public name.

from keras_attn.models.base_model import BaseModel
from keras_attn.models.encoder_decoder import EncoderDecoder
from keras_attn.models.ensemble import Ensemble
from keras_attn.ops.compiled import no_gradients


class TrainingStage(EncoderDecoder):
    """Abstract: a Keras model that wraps the one being trained.

    Compile, fit, checkpoint and save the stage: its variables are the model's and a counter of the
    batches that it was trained on. Evaluation, generation and export use `stage.model`, which can
    also be saved on its own.

    Args:
        model: `EncoderDecoder` whose `start` takes a batch, such as `Captioner` or `Transformer`.

    Raises:
        ValueError: a model without an encoder and a decoder, an ensemble, or another stage.
    """

    def __init__(self, model, **kwargs):
        kwargs.setdefault("dtype", getattr(model, "dtype_policy", None))
        super().__init__(**kwargs)
        if not isinstance(model, EncoderDecoder) or isinstance(model, TrainingStage | Ensemble):
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

    @property
    def attention_penalty(self):
        """The model's."""
        return self.model.attention_penalty

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


def trained_model(model: BaseModel) -> BaseModel:
    """The model that a stage trains; any other model itself."""
    return model.model if isinstance(model, TrainingStage) else model


def as_it_answers(model, function):
    """What a function returns while the model answers: no layer trains, and no gradient flows.

    Layers that are called without `training` take it from the call around them, which is the
    stage's. JAX differentiates all of a step, loops of unknown length included, unless it is told
    not to; PyTorch would keep all that it computes; on TensorFlow nothing is needed, for such a
    function returns integers.
    """
    with _not_training():
        if keras.backend.backend() == "torch":
            with no_gradients():
                return function()
        if keras.backend.backend() != "jax":
            return function()
        frozen = [(variable, ops.stop_gradient(variable.value)) for variable in model.variables]
        with keras.StatelessScope(state_mapping=frozen):
            return function()


@contextlib.contextmanager
def _not_training():
    """Keras' call context with training=False, where there is one."""
    context = global_state.get_global_attribute("current_call_ctx")
    if context is None:
        yield
        return
    before = context.get_value("training")
    context.set_value("training", False)
    try:
        yield
    finally:
        context.set_value("training", before)
