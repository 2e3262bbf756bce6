"""Configs of subclasses outside the package, which follow the conventions of Keras' layers."""

import keras
import numpy as np
import pytest

from keras_attn.layers import AdditiveAttention, FeedForward
from keras_attn.layers.constructor_config import constructor_arguments
from keras_attn.models import Transformer


@keras.saving.register_keras_serializable(package="tests")
class WithDtype(FeedForward):
    def __init__(self, intermediate_dim, dtype=None, **kwargs):
        super().__init__(intermediate_dim, dtype=dtype, **kwargs)


@keras.saving.register_keras_serializable(package="tests")
class Scaled(AdditiveAttention):
    """One argument is private, one no attribute, one an object that its own config replaces."""

    def __init__(self, units, factor, made_up=None, function=None, *, label="", **kwargs):
        super().__init__(units, **kwargs)
        self._factor, self.function = factor, function
        self.named = label

    def get_config(self):
        return {**super().get_config(), "factor": self._factor, "label": self.named}


class WithMore(Transformer):
    def __init__(self, *extras, factor=1, **kwargs):
        super().__init__(**kwargs)


def test_a_policy_is_kept():
    layer = WithDtype(7, dtype="mixed_bfloat16")
    inputs = keras.Input((3, 5))
    again = keras.models.clone_model(keras.Model(inputs, layer(inputs))).layers[-1]
    assert (again.dtype_policy.name, again.intermediate_dim) == ("mixed_bfloat16", 7)
    assert WithDtype.from_config(layer.get_config()).dtype_policy.name == "mixed_bfloat16"


def test_a_subclass_adds_its_own_arguments():
    layer = Scaled(5, 3, function=np.tanh, label="mine", name="scaled")
    again = Scaled.from_config(layer.get_config())
    assert (again.units, again._factor, again.named, again.name) == (5, 3, "mine", "scaled")
    model = WithMore(vocabulary_size=13, hidden_dim=6, num_heads=2, num_layers=1)
    assert model.get_config()["config"]["hidden_dim"] == 6


@pytest.mark.parametrize("kind", [list, tuple])
def test_layers_in_sequences_are_restored(kind):
    parts = kind(map(keras.saving.serialize_keras_object, (keras.layers.Dense(3), 7)))
    restored = constructor_arguments({"parts": parts})["parts"]
    assert type(restored) is kind
    assert isinstance(restored[0], keras.layers.Dense) and restored[1] == 7
