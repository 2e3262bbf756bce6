"""Settings of encoder-decoder checkpoints as `TransformerConfig`, by kind."""

import math
from typing import NamedTuple

from keras_attn.layers.feed_forward import GELU, GELU_TANH, QUICK_GELU, RELU
from keras_attn.layers.residual import RMS
from keras_attn.models.transformer.transformer_config import (
    ALL,
    DECODER,
    LEARNED,
    NOTHING,
    RELATIVE,
    SINUSOIDAL,
)
from keras_attn.ops.positions import LONGEST
from keras_attn.pretrained.tensors import count_blocks

MARIAN, M2M, MBART, T5, MT5 = "marian", "m2m_100", "mbart", "t5", "mt5"
BART = (MARIAN, M2M, MBART)
"""Kinds whose tensors are named as BART's."""
MULTILINGUAL = (M2M, MBART)
"""Kinds whose texts begin with their language."""
ACTIVATIONS = {
    "relu": RELU,
    "gelu": GELU,
    "gelu_new": GELU_TANH,
    "gelu_pytorch_tanh": GELU_TANH,
    "quick_gelu": QUICK_GELU,
    "swish": "silu",
    "silu": "silu",
}
_BART_EPSILON = 1e-5


class Sizes(NamedTuple):
    """What a checkpoint's config.json says of its model.

    Attributes:
        arguments: of `TransformerConfig`, without vocabularies.
        halves: bool. Whether sinusoids have all sines first; here they alternate with cosines.
        scaled: bool. Whether embeddings are multiplied by √D, as here.
        scaled_output: bool. Whether logits of T5 are multiplied by 1/√D.
    """

    arguments: dict
    halves: bool = False
    scaled: bool = True
    scaled_output: bool = False


def sizes_of(checkpoint) -> Sizes:
    """The sizes of a checkpoint.

    Args:
        checkpoint: `Checkpoint`.

    Raises:
        ValueError: another kind of model, or one with parts that are not known here.
    """
    kind = checkpoint.settings.get("model_type")
    if not isinstance(kind, str) or kind not in KINDS:
        named = f"model_type {kind!r:.80}" if kind else "no model_type in config.json"
        raise checkpoint.refusal(f"{named}; known: {', '.join(KINDS)}")
    sizes = KINDS[kind](checkpoint)
    for stack, name in (("encoder", "num_layers"), ("decoder", "num_decoder_layers")):
        start = f"{stack}.block." if kind in (T5, MT5) else f"model.{stack}.layers."
        present, expected = count_blocks(checkpoint.tensors, start), sizes.arguments[name]
        if present != expected:
            raise checkpoint.refusal(f"{expected} layers of the {stack}, and tensors of {present}")
    return sizes


def _bart_arguments(checkpoint):
    """What Marian, M2M-100 and mBART have in common."""
    for name in ("attention_heads", "ffn_dim"):
        sizes = [checkpoint.setting(f"{side}_{name}", int) for side in ("encoder", "decoder")]
        if sizes[0] != sizes[1]:
            raise checkpoint.refusal(f"encoder_{name}={sizes[0]}, decoder_{name}={sizes[1]}")
    width, heads = checkpoint.setting("d_model", int), _heads(checkpoint)
    return {
        "num_layers": checkpoint.setting("encoder_layers", int),
        "num_decoder_layers": checkpoint.setting("decoder_layers", int),
        "hidden_dim": width,
        "intermediate_dim": checkpoint.setting("encoder_ffn_dim", int),
        "num_heads": heads,
        "key_dim": width // heads,
        "value_dim": width // heads,
        "dropout": checkpoint.setting("dropout", float, 0.1),
        "attention_dropout": checkpoint.setting("attention_dropout", float, 0.0),
        "activation": _activation(checkpoint, checkpoint.setting("activation_function", str)),
        "use_bias": True,
        "epsilon": checkpoint.setting("layer_norm_epsilon", float, _BART_EPSILON),
        "output_bias": True,
    }


def _heads(checkpoint):
    """The number of heads, which divides the width."""
    width = checkpoint.setting("d_model", int)
    heads = checkpoint.setting("encoder_attention_heads", int)
    if heads < 1 or width % heads:
        raise checkpoint.refusal(f"{heads} heads in a width of {width}")
    return heads


def _activation(checkpoint, name):
    if name not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise checkpoint.refusal(f"activation_function {name!r}; known: {known}")
    return ACTIVATIONS[name]


def _scaled(checkpoint):
    return checkpoint.setting("scale_embedding", bool, False)


def _marian(checkpoint):
    if checkpoint.settings.get("normalize_before") or checkpoint.settings.get(
        "add_final_layer_norm"
    ):
        raise checkpoint.refusal("a Marian model that normalizes first; import its .npz")
    if checkpoint.settings.get("normalize_embedding"):
        raise checkpoint.refusal("normalize_embedding=True")
    first = checkpoint.setting("normalizes_first", bool, False)
    arguments = {"normalize_first": first, "positions": SINUSOIDAL}
    if checkpoint.path.suffix == ".npz":
        arguments["position_arguments"] = {"base": _steep_base(checkpoint)}
    return Sizes(
        {**_bart_arguments(checkpoint), **arguments, "tied": _marian_tied(checkpoint)},
        halves=True,
        scaled=_scaled(checkpoint),
    )


def _marian_tied(checkpoint):
    if not checkpoint.setting("tie_word_embeddings", bool, True):
        return NOTHING
    return ALL if checkpoint.setting("share_encoder_decoder_embeddings", bool, True) else DECODER


def _m2m(checkpoint):
    arguments = _bart_arguments(checkpoint)
    offset = checkpoint.setting("pad_token_id", int) + 1
    positions = {"base": _steep_base(checkpoint), "offset": offset}
    return Sizes(
        {
            **arguments,
            "normalize_first": True,
            "positions": SINUSOIDAL,
            "position_arguments": positions,
            "tied": ALL if checkpoint.setting("tie_word_embeddings", bool, True) else NOTHING,
        },
        halves=True,
        scaled=_scaled(checkpoint),
    )


def _steep_base(checkpoint):
    """The base of sinusoids whose wavelengths grow over D/2 − 1 steps, over D/2 in the paper."""
    width = checkpoint.setting("d_model", int)
    if width % 2 or width < 4:
        raise checkpoint.refusal(f"a width of {width} for its sinusoids")
    return math.pow(LONGEST, width / (width - 2))


def _mbart(checkpoint):
    return Sizes(
        {
            **_bart_arguments(checkpoint),
            "normalize_first": True,
            "normalize_embeddings": True,
            "positions": LEARNED,
            "max_sequence_length": checkpoint.setting("max_position_embeddings", int),
            "tied": ALL if checkpoint.setting("tie_word_embeddings", bool, True) else NOTHING,
        },
        scaled=_scaled(checkpoint),
    )


def _t5(checkpoint):
    form = checkpoint.setting("feed_forward_proj", str, "relu").split("-")
    name = "gelu_new" if form == ["gated", "gelu"] else form[-1]
    if len(form) > 2 or (len(form) == 2 and form[0] != "gated"):
        raise checkpoint.refusal(f"feed_forward_proj {'-'.join(form)!r}")
    scales_output = checkpoint.settings.get("tie_word_embeddings") is not False
    layers, key_dim = checkpoint.setting("num_layers", int), checkpoint.setting("d_kv", int)
    return Sizes(
        {
            "num_layers": layers,
            "num_decoder_layers": checkpoint.setting("num_decoder_layers", int, layers),
            "hidden_dim": checkpoint.setting("d_model", int),
            "intermediate_dim": checkpoint.setting("d_ff", int),
            "num_heads": checkpoint.setting("num_heads", int),
            "key_dim": key_dim,
            "value_dim": key_dim,
            "dropout": checkpoint.setting("dropout_rate", float, 0.1),
            "activation": _activation(checkpoint, name),
            "gated": len(form) == 2,
            "feed_forward_bias": False,
            "normalize_first": True,
            "normalization": RMS,
            "positions": RELATIVE,
            "position_arguments": {
                "num_buckets": checkpoint.setting("relative_attention_num_buckets", int, 32),
                "max_distance": checkpoint.setting("relative_attention_max_distance", int, 128),
            },
            "epsilon": checkpoint.setting("layer_norm_epsilon", float, 1e-6),
            "output_bias": True,
            "tied": NOTHING if "lm_head.weight" in checkpoint.tensors else ALL,
        },
        scaled=False,
        scaled_output=scales_output,
    )


KINDS = {MARIAN: _marian, M2M: _m2m, MBART: _mbart, T5: _t5, MT5: _t5}
"""Readers of the sizes by model_type."""
