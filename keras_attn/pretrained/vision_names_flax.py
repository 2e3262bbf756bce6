"""Sizes and tensors of the `.npz` files of the authors' programs vision_transformer, big_vision."""

from keras_attn.layers.feed_forward import GELU_TANH
from keras_attn.models.vision_transformer.vision_transformer_config import MEAN, TOKEN
from keras_attn.pretrained.tensors import (
    PlannedTensor,
    count_blocks,
    positions,
    shape_of,
    square_size,
    token,
    vector,
)

PARAMETERS, OPTIMIZER = "params/", "opt/"
"""Prefix of names in files that also have an optimizer's state, which is ignored."""
_BLOCK = "Transformer/encoderblock_"
_OLD = ("LayerNorm_0", "MultiHeadDotProductAttention_1", "LayerNorm_2", "MlpBlock_3")
_NEW = ("LayerNorm_0", "MultiHeadDotProductAttention_0", "LayerNorm_1", "MlpBlock_0")
_TOGETHER = "Transformer/posembed_input/pos_embedding"
_POSITIONS = (_TOGETHER, "Transformer/pos_embedding", "pos_embedding")


def parameters(tensors):
    """The model's own tensors by their names without "params/"."""
    if not any(name.startswith(PARAMETERS) for name in tensors):
        return tensors
    return {
        name.removeprefix(PARAMETERS): array
        for name, array in tensors.items()
        if not name.startswith(OPTIMIZER)
    }


def recognizes(tensors):
    """Whether the names are those of the authors' programs."""
    return "embedding/kernel" in tensors


def sizes(files, choices):
    """Fields of `VisionTransformerConfig` from shapes; pixels in −1..1, approximate GELU
    and epsilon 1e-6, as in those repositories.

    Raises:
        ValueError: a tensor that sizes are read from is missing or has other axes.
    """
    path, tensors = files.path, files.tensors
    patch, _, _, units = shape_of(path, tensors, "embedding/kernel", 4)
    _, attention, _, feed = _parts(tensors)
    query = shape_of(path, tensors, f"{_BLOCK}0/{attention}/query/kernel", 3)
    cells = shape_of(path, tensors, _positions(tensors), 3)[1] - _before(tensors)
    config = {
        "image_size": square_size(path, cells, patch, choices),
        "patch_size": patch,
        "num_layers": count_blocks(tensors, _BLOCK),
        "hidden_dim": units,
        "intermediate_dim": shape_of(path, tensors, f"{_BLOCK}0/{feed}/Dense_0/kernel", 2)[1],
        "num_heads": query[1],
        "pooling": TOKEN if "cls" in tensors else MEAN,
        "activation": GELU_TANH,
        "epsilon": 1e-6,
    }
    ends = {"representation_dim": "pre_logits/kernel", "num_classes": "head/kernel"}
    ends = {field: name for field, name in ends.items() if name in tensors}
    return config | {field: shape_of(path, tensors, name, 2)[1] for field, name in ends.items()}


def _parts(tensors):
    """Names of a block's parts; older files number them consecutively."""
    old = any(name.startswith(f"{_BLOCK}0/{_OLD[1]}/") for name in tensors)
    return _OLD if old else _NEW


def _positions(tensors):
    return next((name for name in _POSITIONS if name in tensors), _POSITIONS[-1])


def _before(tensors):
    """1 if the class token has a position, as in the first repository."""
    return int("cls" in tensors and _positions(tensors) == _TOGETHER)


def plan(files, config):
    """`PlannedTensor` of all tensors."""
    tensors, units = files.tensors, config.hidden_dim
    patch, parts = config.patch_size, _parts(files.tensors)
    if config.pooling == TOKEN:
        yield token("cls", units)
    yield positions(_positions(tensors), config, _before(tensors))
    yield _matrix("embedding/kernel", "patches/kernel", (patch, patch, 3, units))
    yield vector("embedding/bias", "patches/bias", units)
    for n in range(config.num_layers):
        yield from _block(f"{_BLOCK}{n}", f"block_{n}", config, parts)
    yield from _norm("Transformer/encoder_norm", "last_norm", units)
    if config.representation_dim:
        yield from _dense("pre_logits", "representation/", units, config.representation_dim)
    if config.num_classes:
        yield from _dense("head", "head/", config.pooled_dim, config.num_classes)


def _block(start, part, config, names):
    units, hidden, heads = config.hidden_dim, config.intermediate_dim, config.num_heads
    first_norm, attention, second_norm, feed = (f"{start}/{name}" for name in names)
    by_head = (heads, units // heads)
    for name in ("query", "key", "value"):
        yield _matrix(
            f"{attention}/{name}/kernel", f"{part}/{name}_kernel", (units, *by_head), (units, units)
        )
        yield _matrix(f"{attention}/{name}/bias", f"{part}/{name}_bias", by_head, (units,))
    yield _matrix(
        f"{attention}/out/kernel", f"{part}/output_kernel", (*by_head, units), (units, units)
    )
    yield vector(f"{attention}/out/bias", f"{part}/output_bias", units)
    yield from _dense(f"{feed}/Dense_0", f"{part}/feed_hidden_", units, hidden)
    yield from _dense(f"{feed}/Dense_1", f"{part}/feed_output_", hidden, units)
    yield from _norm(first_norm, f"{part}/attention_norm", units)
    yield from _norm(second_norm, f"{part}/feed_norm", units)


def _matrix(name, part, shape, kept=None):
    """Plans a tensor that is kept in the order of its elements, as shape `kept`."""
    return PlannedTensor(name, shape, lambda array: {part: array.reshape(kept or shape)})


def _dense(name, part, inputs, outputs):
    yield _matrix(f"{name}/kernel", f"{part}kernel", (inputs, outputs))
    yield vector(f"{name}/bias", f"{part}bias", outputs)


def _norm(name, part, units):
    yield vector(f"{name}/scale", f"{part}/scale", units)
    yield vector(f"{name}/bias", f"{part}/offset", units)
