"""Sizes and tensors of the vision towers of CLIP and SigLIP in the library transformers."""

import numpy as np

from keras_attn.models.vision_transformer.vision_transformer_config import ATTENTION, MEAN, TOKEN
from keras_attn.pretrained.picture_preprocessing import CLIP, SIGLIP
from keras_attn.pretrained.tensors import (
    PlannedTensor,
    positions,
    refusal,
    torch_joined_projections,
    torch_linear,
    torch_norm,
    torch_patches,
    vector,
)
from keras_attn.pretrained.vision_settings import check_known, common_sizes, normalization

TOWER, TEXT = "vision_model.", "text_model."
_PATCHES = "embeddings.patch_embedding.weight"
_NUMBERS = "embeddings.position_ids"
BETWEEN = ("visual_projection.weight", "text_projection.weight", "logit_scale", "logit_bias")
"""What relates pictures to texts."""
_CLIP, _SIGLIP = ("clip", "clip_vision_model"), ("siglip", "siglip_vision_model")
_NAFLEX = ("siglip2", "siglip2_vision_model")


def recognizes(tensors):
    """Whether the names are those of CLIP's and SigLIP's models."""
    return _PATCHES in tensors or f"{TOWER}{_PATCHES}" in tensors


def processor(files):
    """The kind of processor where preprocessor_config.json does not say it."""
    return CLIP if files.settings.get("model_type") in _CLIP else SIGLIP


def vision_tensors(files):
    """The tensors of the vision tower, without the text tower and what relates the two.

    Raises:
        ValueError: see `without_numbers`.
    """
    tensors = dict(files.tensors)
    if f"{TOWER}{_PATCHES}" in tensors:
        tensors = {
            name: array
            for name, array in tensors.items()
            if not name.startswith(TEXT) and name not in BETWEEN
        }
    return without_numbers(files.path, tensors)


def without_numbers(path, tensors):
    """The tensors without the numbers of positions, which old files hold.

    Raises:
        ValueError: numbers other than 0, 1, 2…
    """
    numbers = {name: array for name, array in tensors.items() if name.endswith(_NUMBERS)}
    for name, array in numbers.items():
        if not np.array_equal(array, np.arange(array.size)[None]):
            raise refusal(path, f"{name} other than 0, 1, 2…")
    return {name: array for name, array in tensors.items() if name not in numbers}


def sizes(files, choices):
    """Fields of `VisionTransformerConfig` from config.json and preprocessor_config.json.

    Raises:
        ValueError: no config.json, or one of another model; settings that are not known.
    """
    kind, settings = _settings(files)
    if kind in _CLIP:
        own = {"hidden_act": "quick_gelu", "layer_norm_eps": 1e-5, "patch_size": 32}
        kind_of = {"pooling": TOKEN, "normalize_embeddings": True, "normalize_patches": False}
    else:
        own = {"hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6, "patch_size": 16}
        kind_of = {"pooling": ATTENTION if settings.get("vision_use_head", True) else MEAN}
    check_known(files.path, settings, ("projection_dim", "vision_use_head"))
    defaults = {
        "image_size": 224,
        "num_hidden_layers": 12,
        "hidden_size": 768,
        "num_attention_heads": 12,
    }
    return {
        **common_sizes(files.path, settings, **defaults, **own),
        **kind_of,
        "intermediate_dim": settings.get("intermediate_size", 3072),
        **normalization(files, choices, processor(files)),
    }


def _settings(files):
    """The model_type, and the settings of the vision tower."""
    settings, path = files.settings, files.path
    if not settings:
        raise refusal(path, "no config.json beside it")
    kind = settings.get("model_type")
    if kind in _NAFLEX:
        raise refusal(
            path,
            f"model_type={kind!r}, SigLIP 2 for pictures of any aspect ratio (NaFlex); that for "
            "pictures of one size, model_type='siglip', is read",
        )
    if kind not in (*_CLIP, *_SIGLIP):
        raise refusal(path, f"model_type={kind!r} in config.json, none of {(*_CLIP, *_SIGLIP)}")
    if kind in (_CLIP[0], _SIGLIP[0]):
        # Of both, transformers takes the one that old files have besides.
        nested = settings.get("vision_config_dict") or settings.get("vision_config") or {}
        if not isinstance(nested, dict):
            raise refusal(path, f"vision_config={nested!r:.80} in config.json")
        settings = nested
    return kind, settings


def plan(files, config):
    """`PlannedTensor` of all tensors."""
    root = TOWER if f"{TOWER}{_PATCHES}" in files.tensors else ""
    units, has_token = config.hidden_dim, config.pooling == TOKEN
    patches = list(torch_patches(f"{root}embeddings.patch_embedding", config))
    if has_token:
        name = f"{root}embeddings.class_embedding"
        yield vector(name, "token", units)
        patches = patches[:1]  # Without a bias.
    yield from patches
    yield _position_table(f"{root}embeddings.position_embedding.weight", config, int(has_token))
    if config.normalize_embeddings:
        yield from torch_norm(f"{root}pre_layrnorm", "first_norm", units)
    for n in range(config.num_layers):
        yield from block(f"{root}encoder.layers.{n}", f"block_{n}", config)
    yield from torch_norm(f"{root}post_layernorm", "last_norm", units)
    if config.pooling == ATTENTION:
        yield from _pooling(f"{root}head", config)


def _position_table(name, config, before):
    """A table (before + height · width, D)."""
    planned = positions(name, config, before)
    return PlannedTensor(name, planned.shape[1:], lambda array: planned.parts(array[None]))


def block(start, part, config):
    """The tensors of a block of either tower, under the names of `block_weights`.

    Args:
        start: what stands before their names in the file.
        part: what stands before the project's names.
        config: has hidden_dim and intermediate_dim.
    """
    units = config.hidden_dim
    for name in ("query", "key", "value"):
        projection = f"{start}.self_attn.{name[0]}_proj"
        yield from torch_linear(projection, f"{part}/{name}_", units, units)
    yield from torch_linear(f"{start}.self_attn.out_proj", f"{part}/output_", units, units)
    yield from _feed_forward(f"{start}.mlp", part, config)
    yield from torch_norm(f"{start}.layer_norm1", f"{part}/attention_norm", units)
    yield from torch_norm(f"{start}.layer_norm2", f"{part}/feed_norm", units)


def _feed_forward(start, part, config):
    units, hidden = config.hidden_dim, config.intermediate_dim
    yield from torch_linear(f"{start}.fc1", f"{part}/feed_hidden_", units, hidden)
    yield from torch_linear(f"{start}.fc2", f"{part}/feed_output_", hidden, units)


def _pooling(start, config):
    units, part = config.hidden_dim, "pooling"
    query = f"{part}/query"
    yield PlannedTensor(f"{start}.probe", (1, 1, units), lambda array: {query: array[0]})
    attention = f"{start}.attention"
    names = (f"{attention}.in_proj_weight", f"{attention}.in_proj_bias")
    yield from torch_joined_projections(*names, part, units)
    yield from torch_linear(f"{attention}.out_proj", f"{part}/output_", units, units)
    yield from _feed_forward(f"{start}.mlp", part, config)
    yield from torch_norm(f"{start}.layernorm", f"{part}/feed_norm", units)
