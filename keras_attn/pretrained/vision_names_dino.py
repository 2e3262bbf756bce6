"""Sizes and tensors of DINOv2, also with registers, in the library transformers."""

from keras_attn.models.vision_transformer.vision_transformer_config import SILU, TOKEN
from keras_attn.pretrained.picture_preprocessing import BIT
from keras_attn.pretrained.tensors import (
    PlannedTensor,
    positions,
    refusal,
    shape_of,
    token,
    torch_linear,
    torch_norm,
    torch_patches,
)
from keras_attn.pretrained.vision_names_transformers import attention
from keras_attn.pretrained.vision_settings import check_known, common_sizes, normalization

_DINOV2, _REGISTERS, _DINOV3 = "dinov2", "dinov2_with_registers", "dinov3_vit"
_SCALE = "layer.0.layer_scale1.lambda1"
_MORE = (
    *("apply_layernorm", "out_features", "out_indices", "reshape_hidden_states", "stage_names"),
    *("head_dim", "mlp_ratio", "num_register_tokens", "qkv_bias", "use_mask_token"),
    "use_swiglu_ffn",
)


def recognizes(tensors):
    """Whether the names are those of DINOv2 or DINOv3."""
    return any(name.endswith(_SCALE) for name in tensors)


def processor(files):
    """The kind of processor where preprocessor_config.json does not say it."""
    return BIT


def sizes(files, choices):
    """Fields of `VisionTransformerConfig` from config.json and preprocessor_config.json.

    Raises:
        ValueError: no config.json, or one of another model; settings that are not known.
    """
    settings, path = files.settings, files.path
    if not settings:
        raise refusal(path, "no config.json beside it")
    kind = settings.get("model_type")
    if kind == _DINOV3:
        raise refusal(path, f"model_type={kind!r}, whose rotary positions are not supported")
    if kind not in (_DINOV2, _REGISTERS):
        known = (_DINOV2, _REGISTERS)
        raise refusal(path, f"model_type={kind!r} in config.json, none of {known}")
    check_known(path, settings, _MORE)
    has_registers, gated = kind == _REGISTERS, settings.get("use_swiglu_ffn", False)
    defaults = {
        "image_size": 224,
        "patch_size": 16 if has_registers else 14,
        "num_hidden_layers": 12,
        "hidden_size": 768,
        "num_attention_heads": 12,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-6,
    }
    config = common_sizes(path, settings, **defaults)
    units, heads = config["hidden_dim"], config["num_heads"]
    if settings.get("head_dim") not in (None, units // heads):
        raise refusal(path, f"head_dim={settings['head_dim']!r}, not {units} / {heads}")
    hidden = int(units * settings.get("mlp_ratio", 4))
    return {
        **config,
        "pooling": TOKEN,
        "gated": gated,
        "activation": SILU if gated else config["activation"],
        "intermediate_dim": (int(hidden * 2 / 3) + 7) // 8 * 8 if gated else hidden,
        "num_registers": settings.get("num_register_tokens", 4) if has_registers else 0,
        "antialias_positions": has_registers,
        **normalization(files, choices, BIT),
    }


def plan(files, config):
    """`PlannedTensor` of all tensors.

    The scales of the sublayers' outputs are multiplied into their last kernels and biases. The mask
    token and the head of classifiers, which reads more than the picture's vector, are dropped.
    """
    root = next(name for name in files.tensors if name.endswith(_SCALE))
    root = root.removesuffix(f"encoder.{_SCALE}")
    units = config.hidden_dim
    yield token(f"{root}embeddings.cls_token", units)
    if f"{root}embeddings.mask_token" in files.tensors:
        yield PlannedTensor(f"{root}embeddings.mask_token", (1, units), _dropped)
    if config.num_registers:
        name, count = f"{root}embeddings.register_tokens", config.num_registers
        yield PlannedTensor(name, (1, count, units), lambda array: {"registers": array[0]})
    yield positions(f"{root}embeddings.position_embeddings", config, 1)
    yield from torch_patches(f"{root}embeddings.patch_embeddings.projection", config)
    for n in range(config.num_layers):
        yield from _block(files, f"{root}encoder.layer.{n}", f"block_{n}", config)
    yield from torch_norm(f"{root}layernorm", "last_norm", units)
    if "classifier.weight" in files.tensors:
        classes, _ = shape_of(files.path, files.tensors, "classifier.weight", 2)
        yield PlannedTensor("classifier.weight", (classes, 2 * units), _dropped)
        yield PlannedTensor("classifier.bias", (classes,), _dropped)


def _dropped(array):
    return {}


def _block(files, start, part, config):
    units = config.hidden_dim
    scaled = {
        "output": f"{start}.layer_scale1.lambda1",
        "feed_output": f"{start}.layer_scale2.lambda1",
    }
    for name in scaled.values():
        yield PlannedTensor(name, (units,), _dropped)
    planned = [
        *attention(start, part, config, files.settings.get("qkv_bias", True)),
        *_feed_forward(f"{start}.mlp", part, config),
    ]
    ends = {
        f"{part}/{end}_{kind}": name for end, name in scaled.items() for kind in ("kernel", "bias")
    }
    for tensor in planned:
        yield _scaled(tensor, files.tensors, ends)
    yield from torch_norm(f"{start}.norm1", f"{part}/attention_norm", units)
    yield from torch_norm(f"{start}.norm2", f"{part}/feed_norm", units)


def _scaled(planned, tensors, ends):
    """A planned tensor whose parts with a name in `ends` are multiplied by the tensor of there."""

    def parts(array):
        return {
            name: value * tensors[ends[name]] if name in ends else value
            for name, value in planned.parts(array).items()
        }

    return planned._replace(parts=parts)


def _feed_forward(start, part, config):
    units, hidden = config.hidden_dim, config.intermediate_dim
    if not config.gated:
        yield from torch_linear(f"{start}.fc1", f"{part}/feed_hidden_", units, hidden)
        yield from torch_linear(f"{start}.fc2", f"{part}/feed_output_", hidden, units)
        return

    def halves(kind):
        names = (f"{part}/feed_gate_{kind}", f"{part}/feed_hidden_{kind}")
        return lambda array: dict(zip(names, (array.T[..., :hidden], array.T[..., hidden:])))

    yield PlannedTensor(f"{start}.weights_in.weight", (2 * hidden, units), halves("kernel"))
    yield PlannedTensor(f"{start}.weights_in.bias", (2 * hidden,), halves("bias"))
    yield from torch_linear(f"{start}.weights_out", f"{part}/feed_output_", hidden, units)
