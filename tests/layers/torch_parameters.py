"""Run as `python -m tests.layers.torch_parameters` under PyTorch.

PyTorch's parameters of an adapted model are its weights, and attention takes an empty batch.
"""

import warnings

import numpy as np

from keras_attn.layers import MultiHeadAttention
from tests.models.tiny_transformer import transformer


def check(model):
    parameters = {id(parameter) for parameter in model.parameters()}
    assert parameters == {id(weight.value) for weight in model.weights}


def main():
    model = transformer(num_layers=1)
    model.enable_lora(2)
    check(model)
    model.merge_lora()
    check(model)
    with warnings.catch_warnings(action="ignore"):
        model.quantize("int8")
    check(model)
    inputs, mask = np.zeros((0, 7, 5), "float32"), np.ones((0, 7), bool)
    layer = MultiHeadAttention(2, 3, sliding_window=3)
    assert tuple(layer(inputs, mask=mask).shape) == (0, 7, 5)


if __name__ == "__main__":
    main()
