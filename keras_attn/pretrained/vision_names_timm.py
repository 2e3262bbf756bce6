"""Sizes and tensors of the Vision Transformers of the library timm."""

from keras_attn.layers.feed_forward import GELU, GELU_TANH, RELU
from keras_attn.models.vision_transformer.vision_transformer_config import MEAN, TOKEN
from keras_attn.pretrained.tensors import (
    count_blocks,
    positions,
    refusal,
    shape_of,
    square_size,
    token,
    torch_joined_projections,
    torch_linear,
    torch_norm,
    torch_patches,
)

HEAD_UNITS = 64
"""Default width of a head, as in all of the paper's models."""
_ACTIVATIONS = {"gelu": GELU, "gelu_tanh": GELU_TANH, "relu": RELU}
_PATCHES, _QKV = "patch_embed.proj.weight", "blocks.0.attn.qkv"
_DISTILLED = "dist_token"


def recognizes(tensors):
    """Whether the names are those of timm's VisionTransformer."""
    return _PATCHES in tensors


def sizes(files, choices):
    """Fields of `VisionTransformerConfig` from shapes and, if present, config.json.

    Raises:
        ValueError: a tensor that sizes are read from is missing; unknown sizes; another activation;
            a mean over tokens in a model with a class token; a distilled model.
    """
    path, tensors, settings = files.path, files.tensors, files.settings
    if _DISTILLED in tensors:
        raise refusal(path, f"{_DISTILLED}, the second class token of a distilled DeiT")
    units, _, patch, _ = shape_of(path, tensors, _PATCHES, 4)
    chosen, trained = _objects(files, "model_args"), _objects(files, "pretrained_cfg")
    pooling = TOKEN if "cls_token" in tensors else MEAN
    if pooling == TOKEN and settings.get("global_pool", TOKEN) != TOKEN:
        raise refusal(path, f"global_pool={settings['global_pool']!r} beside a class token")
    activation = chosen.get("act_layer") or "gelu"
    if activation not in tuple(_ACTIVATIONS):
        raise refusal(path, f"act_layer={activation!r}, none of {list(_ACTIVATIONS)}")
    cells = shape_of(path, tensors, "pos_embed", 3)[1] - _before(files, choices)
    trained_size = (
        {"image_size": tuple(trained["input_size"][1:])} if "input_size" in trained else {}
    )
    config = {
        "image_size": square_size(path, cells, patch, {**trained_size, **choices}),
        "patch_size": patch,
        "num_layers": count_blocks(tensors, "blocks."),
        "hidden_dim": units,
        "intermediate_dim": shape_of(path, tensors, "blocks.0.mlp.fc1.weight", 2)[0],
        "num_heads": choices.get("num_heads") or chosen.get("num_heads") or _heads(path, units),
        "pooling": pooling,
        "activation": _ACTIVATIONS[activation],
        "epsilon": 1e-6,
        "pixel_mean": trained.get("mean", (0.5,) * 3),
        "pixel_deviation": trained.get("std", (0.5,) * 3),
    }
    if "head.weight" in tensors:
        config["num_classes"] = shape_of(path, tensors, "head.weight", 2)[0]
    return config


def _objects(files, name):
    """An object in config.json, {} where there is none."""
    setting = files.settings.get(name) or {}
    if not isinstance(setting, dict):
        raise refusal(files.path, f"{name}={setting!r} in config.json")
    return setting


def _heads(path, units):
    if units % HEAD_UNITS:
        raise refusal(path, f"width {units}, not a multiple of {HEAD_UNITS}, and no num_heads=")
    return units // HEAD_UNITS


def _before(files, choices):
    """1 if the class token has a position, which not all of timm's models have."""
    if "cls_token" not in files.tensors:
        return 0
    return 0 if _objects(files, "model_args").get("no_embed_class") else 1


def plan(files, config):
    """`PlannedTensor` of all tensors."""
    units, hidden = config.hidden_dim, config.intermediate_dim
    if config.pooling == TOKEN:
        yield token("cls_token", units)
    yield positions("pos_embed", config, _before(files, {}))
    yield from torch_patches(_PATCHES.removesuffix(".weight"), config)
    for n in range(config.num_layers):
        start, part = f"blocks.{n}", f"block_{n}"
        bias = f"{start}.attn.qkv.bias" if f"{_QKV}.bias" in files.tensors else None
        yield from torch_joined_projections(f"{start}.attn.qkv.weight", bias, part, units)
        yield from torch_linear(f"{start}.attn.proj", f"{part}/output_", units, units)
        yield from torch_linear(f"{start}.mlp.fc1", f"{part}/feed_hidden_", units, hidden)
        yield from torch_linear(f"{start}.mlp.fc2", f"{part}/feed_output_", hidden, units)
        yield from torch_norm(f"{start}.norm1", f"{part}/attention_norm", units)
        yield from torch_norm(f"{start}.norm2", f"{part}/feed_norm", units)
    yield from torch_norm("norm", "last_norm", units)
    if config.num_classes:
        yield from torch_linear("head", "head/", units, config.num_classes)
