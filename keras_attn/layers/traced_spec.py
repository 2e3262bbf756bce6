"""Shapes and dtypes of what a layer returns, from its own call."""

import keras
from keras import tree
from keras.src import backend  # Scopes of mixed precision have no public name.


def traced_spec(layer, *args, **kwargs):
    """`KerasTensor`s of what a call returns, with inputs and weights cast as a call casts them.

    Args:
        layer: Keras layer.
        *args, **kwargs: of the call; `KerasTensor`s in the place of tensors.

    Example:
        >>> from keras_attn.layers import DotAttention
        >>> layer = DotAttention(dtype="mixed_bfloat16")
        >>> result = traced_spec(layer, keras.KerasTensor((2, 3, 5)), return_attention_scores=True)
        >>> [(value.shape, value.dtype) for value in result]
        [((2, 3, 5), 'bfloat16'), ((2, 3, 3), 'float32')]
    """

    def converted(tensor):
        return layer.dtype_policy.convert_input(tensor, layer.autocast, layer.input_dtype)

    args, kwargs = tree.map_structure(converted, (args, kwargs))
    with backend.AutocastScope(layer.compute_dtype if layer.autocast else None):
        return keras.Operation.compute_output_spec(layer, *args, **kwargs)
