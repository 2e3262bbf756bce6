"""Sizes and tensors of the Vision Transformers of the library transformers."""

import math

from keras_attn.layers.feed_forward import GELU, GELU_TANH, RELU
from keras_attn.models.vision_transformer.vision_transformer_config import TOKEN
from keras_attn.pretrained.tensors import (
    positions,
    refusal,
    shape_of,
    token,
    torch_kernel,
    torch_linear,
    torch_norm,
    torch_patches,
    vector,
)

_PATCHES = "embeddings.patch_embeddings.projection.weight"
_ACTIVATIONS = {
    "gelu": GELU,
    "gelu_new": GELU_TANH,
    "gelu_fast": GELU_TANH,
    "gelu_pytorch_tanh": GELU_TANH,
    "relu": RELU,
}
_ALWAYS = {"model_type": "vit", "num_channels": 3}


def recognizes(tensors):
    """Whether the names are those of ViTModel or ViTForImageClassification."""
    return _PATCHES in tensors or f"vit.{_PATCHES}" in tensors


def sizes(files, choices):
    """Fields of `VisionTransformerConfig` from config.json and preprocessor_config.json, with the
    library's defaults for missing values.

    Raises:
        ValueError: no config.json, or one of another model, activation or pooler.
    """
    settings, path = files.settings, files.path
    if not settings:
        raise refusal(path, "no config.json beside it")
    for name, expected in _ALWAYS.items():
        if settings.get(name, expected) != expected:
            raise refusal(path, f"{name}={settings[name]!r} in config.json, not {expected!r}")
    activation = settings.get("hidden_act", "gelu")
    if activation not in tuple(_ACTIVATIONS):
        raise refusal(path, f"hidden_act={activation!r}, none of {list(_ACTIVATIONS)}")
    image, patch = settings.get("image_size", 224), settings.get("patch_size", 16)
    config = {
        "image_size": tuple(image) if isinstance(image, list) else (image, image),
        "patch_size": patch[0] if isinstance(patch, list) and len({*patch}) == 1 else patch,
        "num_layers": settings.get("num_hidden_layers", 12),
        "hidden_dim": settings.get("hidden_size", 768),
        "intermediate_dim": settings.get("intermediate_size", 3072),
        "num_heads": settings.get("num_attention_heads", 12),
        "dropout": settings.get("hidden_dropout_prob", 0.0),
        "pooling": TOKEN,
        "activation": _ACTIVATIONS[activation],
        "epsilon": settings.get("layer_norm_eps", 1e-12),
    }
    return {**config, **_ends(files), **_pixels(files)}


def _ends(files):
    """Sizes of the classifier and the pooler, where there are such tensors."""
    names = {"num_classes": "classifier.weight", "representation_dim": "pooler.dense.weight"}
    present = {field: name for field, name in names.items() if name in files.tensors}
    pooler = files.settings.get("pooler_act", "tanh")
    if "representation_dim" in present and pooler != "tanh":
        raise refusal(files.path, f"pooler_act={pooler!r}, not 'tanh'")
    return {
        field: shape_of(files.path, files.tensors, name, 2)[0] for field, name in present.items()
    }


def _pixels(files):
    """The normalization of pixels; none where preprocessor_config.json says so."""
    chosen = files.preprocessing
    factor = chosen.get("rescale_factor", 1 / 255) if chosen.get("do_rescale", True) else 1.0
    if not math.isclose(factor, 1 / 255, rel_tol=1e-3):
        raise refusal(files.path, f"pixels times {factor} in preprocessor_config.json, not / 255")
    if not chosen.get("do_normalize", True):
        return {"pixel_mean": (0.0,) * 3, "pixel_deviation": (1.0,) * 3}
    return {
        "pixel_mean": chosen.get("image_mean", (0.5,) * 3),
        "pixel_deviation": chosen.get("image_std", (0.5,) * 3),
    }


def plan(files, config):
    """`PlannedTensor` of all tensors."""
    root = "" if _PATCHES in files.tensors else "vit."
    units, bias = config.hidden_dim, files.settings.get("qkv_bias", True)
    yield token(f"{root}embeddings.cls_token", units)
    yield positions(f"{root}embeddings.position_embeddings", config, 1)
    yield from torch_patches(f"{root}embeddings.patch_embeddings.projection", config)
    for n in range(config.num_layers):
        yield from _block(f"{root}encoder.layer.{n}", f"block_{n}", config, bias)
    yield from torch_norm(f"{root}layernorm", "last_norm", units)
    if config.representation_dim:
        yield from torch_linear("pooler.dense", "representation/", units, config.representation_dim)
    if config.num_classes:
        yield from torch_linear("classifier", "head/", config.pooled_dim, config.num_classes)


def _block(start, part, config, bias):
    units, hidden = config.hidden_dim, config.intermediate_dim
    attention = f"{start}.attention.attention"
    for name in ("query", "key", "value"):
        yield torch_kernel(f"{attention}.{name}.weight", f"{part}/{name}_kernel", units, units)
        if bias:
            yield vector(f"{attention}.{name}.bias", f"{part}/{name}_bias", units)
    yield from torch_linear(f"{start}.attention.output.dense", f"{part}/output_", units, units)
    yield from torch_linear(f"{start}.intermediate.dense", f"{part}/feed_hidden_", units, hidden)
    yield from torch_linear(f"{start}.output.dense", f"{part}/feed_output_", hidden, units)
    yield from torch_norm(f"{start}.layernorm_before", f"{part}/attention_norm", units)
    yield from torch_norm(f"{start}.layernorm_after", f"{part}/feed_norm", units)
