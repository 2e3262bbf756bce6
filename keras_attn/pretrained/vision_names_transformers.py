"""Sizes and tensors of ViT and DeiT in the library transformers."""

from keras_attn.models.vision_transformer.vision_transformer_config import TOKEN
from keras_attn.pretrained.picture_preprocessing import DEIT, VIT, pixel_normalization
from keras_attn.pretrained.tensors import (
    PlannedTensor,
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
from keras_attn.pretrained.vision_settings import check_known, common_sizes, normalization

_PATCHES = "embeddings.patch_embeddings.projection.weight"
_VIT, _DEIT = "vit", "deit"
_MORE = ("encoder_stride", "pooler_act", "pooler_output_size", "qkv_bias")
_TEACHER = ("cls_classifier", "distillation_classifier")


def recognizes(tensors):
    """Whether the names are those of ViT's and DeiT's models."""
    return any(f"{root}{_PATCHES}" in tensors for root in ("", "vit.", "deit."))


def processor(files):
    """The kind of processor where preprocessor_config.json does not say it."""
    return DEIT if files.settings.get("model_type") == _DEIT else VIT


def sizes(files, choices):
    """Fields of `VisionTransformerConfig` from config.json and preprocessor_config.json, with the
    library's defaults for missing values.

    Raises:
        ValueError: no config.json, or one of another model, activation or pooler.
    """
    settings, path = files.settings, files.path
    if not settings:
        raise refusal(path, "no config.json beside it")
    kind = settings.get("model_type", _VIT)
    if kind not in (_VIT, _DEIT):
        raise refusal(path, f"model_type={kind!r} in config.json, not 'vit' or 'deit'")
    if kind == _DEIT:
        check_known(path, settings, _MORE)
    defaults = {
        "image_size": 224,
        "patch_size": 16,
        "num_hidden_layers": 12,
        "hidden_size": 768,
        "num_attention_heads": 12,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
    }
    pixels = (
        normalization(files, choices, DEIT) if kind == _DEIT else pixel_normalization(files, VIT)
    )
    return {
        **common_sizes(path, settings, **defaults),
        "intermediate_dim": settings.get("intermediate_size", 3072),
        "dropout": settings.get("hidden_dropout_prob", 0.0),
        "pooling": TOKEN,
        "num_registers": int(kind == _DEIT),
        **_ends(files),
        **pixels,
    }


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


def plan(files, config):
    """`PlannedTensor` of all tensors.

    DeiT's distillation token and its position are a register. The two heads of a DeiT that had a
    teacher, which read both tokens, are dropped.
    """
    root = next(root for root in ("", "vit.", "deit.") if f"{root}{_PATCHES}" in files.tensors)
    units, bias = config.hidden_dim, files.settings.get("qkv_bias", True)
    yield token(f"{root}embeddings.cls_token", units)
    if config.num_registers:
        yield from _distillation(files, f"{root}embeddings", config)
    else:
        yield positions(f"{root}embeddings.position_embeddings", config, 1)
    yield from torch_patches(f"{root}embeddings.patch_embeddings.projection", config)
    for n in range(config.num_layers):
        yield from _block(f"{root}encoder.layer.{n}", f"block_{n}", config, bias)
    yield from torch_norm(f"{root}layernorm", "last_norm", units)
    if config.representation_dim:
        yield from torch_linear("pooler.dense", "representation/", units, config.representation_dim)
    if config.num_classes:
        yield from torch_linear("classifier", "head/", config.pooled_dim, config.num_classes)
    for name in _TEACHER:
        if f"{name}.weight" in files.tensors:
            classes, _ = shape_of(files.path, files.tensors, f"{name}.weight", 2)
            yield PlannedTensor(f"{name}.weight", (classes, units), lambda array: {})
            yield PlannedTensor(f"{name}.bias", (classes,), lambda array: {})


def _distillation(files, start, config):
    """Plans DeiT's second token, and the positions of both tokens and the patches."""
    planned = positions(f"{start}.position_embeddings", config, 2)
    name = f"{start}.distillation_token"

    def parts(array):
        second = files.tensors[name][0] + array[0, 1:2]
        return {**planned.parts(array), "registers": second}

    yield PlannedTensor(name, (1, 1, config.hidden_dim), lambda array: {})
    yield planned._replace(parts=parts)


def attention(start, part, config, bias):
    """Plans the projections of a block's attention."""
    units, own = config.hidden_dim, f"{start}.attention.attention"
    for name in ("query", "key", "value"):
        yield torch_kernel(f"{own}.{name}.weight", f"{part}/{name}_kernel", units, units)
        if bias:
            yield vector(f"{own}.{name}.bias", f"{part}/{name}_bias", units)
    yield from torch_linear(f"{start}.attention.output.dense", f"{part}/output_", units, units)


def _block(start, part, config, bias):
    units, hidden = config.hidden_dim, config.intermediate_dim
    yield from attention(start, part, config, bias)
    yield from torch_linear(f"{start}.intermediate.dense", f"{part}/feed_hidden_", units, hidden)
    yield from torch_linear(f"{start}.output.dense", f"{part}/feed_output_", hidden, units)
    yield from torch_norm(f"{start}.layernorm_before", f"{part}/attention_norm", units)
    yield from torch_norm(f"{start}.layernorm_after", f"{part}/feed_norm", units)
