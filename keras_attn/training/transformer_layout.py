"""How the weights of a Transformer lie on a grid of JAX devices."""

import keras

SPLIT = {
    r".*attention/(query|key|value)_kernel": (None, "model", None),
    r".*attention/output_kernel": ("model", None, None),
    r".*feed_forward/(gate|hidden)_kernel": (None, "model"),
    r".*feed_forward/(gate|hidden)_bias": ("model",),
    r".*feed_forward/output_kernel": ("model", None),
    r".*embedding/table": (None, "model"),
}
"""Which axis of a variable is split over the devices of "model", by its path."""


def transformer_layout(mesh) -> keras.distribution.LayoutMap:
    """Layout of any model with Transformer blocks, for `keras.distribution.ModelParallel`.

    Each device has some of the heads, some of the feed-forward units and some columns of the
    embedding; everything else is on all. The numbers of heads, those of keys and values too, the
    intermediate width and the width of the model have to be multiples of the devices of "model".

    Args:
        mesh: `keras.distribution.DeviceMesh` with an axis "model".

    Returns:
        `keras.distribution.LayoutMap`.

    Raises:
        ValueError: a mesh without that axis.

    Example:
        >>> mesh = keras.distribution.DeviceMesh((1, 1), ["batch", "model"], ["cpu:0"])
        >>> len(transformer_layout(mesh))
        6

    Source: Shoeybi et al. 2019, "Megatron-LM", arXiv:1909.08053, 3.
    """
    if "model" not in mesh.axis_names:
        raise ValueError(f"Expected a mesh with an axis 'model'. Received: {mesh.axis_names}")
    layout = keras.distribution.LayoutMap(mesh)
    for path, axes in SPLIT.items():
        layout[path] = axes
    return layout
