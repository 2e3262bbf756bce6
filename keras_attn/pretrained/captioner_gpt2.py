"""Captioners of transformers' VisionEncoderDecoderModel: a Vision Transformer and GPT-2."""

import math

import numpy as np

from keras_attn.models.transformer.transformer_config import (
    DECODER,
    LEARNED,
    NOTHING,
    TransformerConfig,
)
from keras_attn.pretrained import vision_names_transformers
from keras_attn.pretrained.captioner_parts import CaptionerParts, SpecialFirst
from keras_attn.pretrained.gpt2_vocabulary import byte_pairs_of
from keras_attn.pretrained.picture_preprocessing import picture_format
from keras_attn.pretrained.tensors import (
    PlannedTensor,
    count_blocks,
    scaled,
    split,
    torch_linear,
    torch_norm,
    vector,
)
from keras_attn.pretrained.translator_sizes import ACTIVATIONS
from keras_attn.pretrained.translator_tensors import unify
from keras_attn.pretrained.vision_transformer import vision_config
from keras_attn.pretrained.vocabulary_files import check_ids

KIND = "vision-encoder-decoder"
_ENCODER, _DECODER = "encoder.", "decoder.transformer."
_TABLE, _HEAD = f"{_DECODER}wte.weight", "decoder.lm_head.weight"
_POOLER, _PROJECTION = "encoder.pooler.dense", "enc_to_dec_proj"
_MASKS = (".attn.bias", ".crossattention.bias")
_MASKED = (".attn.masked_bias", ".crossattention.masked_bias")
"""Constants that earlier versions of transformers saved with the weights."""
_KNOWN = {
    "model_type": ("gpt2",),
    "add_cross_attention": (True,),
    "is_decoder": (True,),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "reorder_and_upcast_attn": (False, True),
    "tie_word_embeddings": (True, False),
}


def parts_of(checkpoint, files) -> CaptionerParts:
    """The parts of a checkpoint.

    Args:
        checkpoint: `Checkpoint`.
        files: `CheckpointFiles`.

    Raises:
        ValueError: another encoder or decoder, or settings, tensors or files that do not fit.
    """
    decoder = checkpoint.part("decoder")
    decoder.check_settings(_KNOWN)
    vision_files = _vision_files(checkpoint, files)
    vision = vision_config(
        vision_files, vision_names_transformers, {"num_classes": None, "representation_dim": None}
    )
    pictures = picture_format(vision_files, vision_names_transformers.processor(vision_files))
    tensors = _whole_table(checkpoint, _without_masks(checkpoint), decoder)
    rows = _rows(checkpoint, tensors)
    ids = _ids(checkpoint, decoder, rows)
    config = _config(decoder, len(ids.rows))
    _check_widths(decoder, vision.hidden_dim)
    layers = count_blocks(tensors, f"{_DECODER}h.")
    if layers != config.num_layers:
        raise checkpoint.refusal(f"{config.num_layers} layers of the decoder, tensors of {layers}")
    plan = [*_vision_plan(vision_files, vision, tensors), *_plan(config, ids, rows)]
    if vision.hidden_dim != config.hidden_dim:
        plan += torch_linear(_PROJECTION, "projection/", vision.hidden_dim, config.hidden_dim)
    tokenizer = byte_pairs_of(checkpoint, rows, ids)
    return CaptionerParts(vision, config, pictures, tokenizer, ids, tensors, plan)


def _vision_files(checkpoint, files):
    """The encoder's files, as those of a Vision Transformer alone."""
    tensors = {
        name.removeprefix(_ENCODER): array
        for name, array in files.tensors.items()
        if name.startswith(_ENCODER)
    }
    return files._replace(tensors=tensors, settings=checkpoint.part("encoder").settings)


def _without_masks(checkpoint):
    """The tensors without the constants of earlier versions."""
    tensors = {}
    for name, array in checkpoint.tensors.items():
        if name.startswith(_DECODER) and name.endswith(_MASKED) and array.size == 1:
            continue
        if name.startswith(_DECODER) and name.endswith(_MASKS) and array.ndim == 4:
            if not np.array_equal(array.astype(bool)[0, 0], np.tri(array.shape[-1], dtype=bool)):
                raise checkpoint.refusal(f"{name}, which is no causal mask")
            continue
        tensors[name] = array
    return tensors


def _whole_table(checkpoint, tensors, decoder):
    """The tensors with a tied table of embeddings under one name."""
    if decoder.setting("tie_word_embeddings", bool, True):
        unify(checkpoint, tensors, _TABLE, (_HEAD,))
    return tensors


def _rows(checkpoint, tensors):
    """The rows of the table of embeddings."""
    table = tensors.get(_TABLE)
    if table is None or table.ndim != 2:
        raise checkpoint.refusal(f"no table of embeddings {_TABLE}")
    return table.shape[0]


def _ids(checkpoint, decoder, rows):
    """`SpecialFirst`: what begins and ends captions, as `generate` of transformers takes it."""

    def known(name, *others):
        found = (checkpoint.search(each) for each in (name, *others))
        place = next((each for each in found if each is not None), None)
        return decoder.settings.get(others[-1] if others else name) if place is None else place

    end = known("eos_token_id")
    start = known("decoder_start_token_id", "bos_token_id")
    pad = known("pad_token_id")
    pad = end if pad is None else pad
    roles = {"eos_token_id": end, "decoder_start_token_id": start, "pad_token_id": pad}
    for name, place in roles.items():
        if type(place) is not int:
            raise checkpoint.refusal(f"{name}={place!r}, not one id")
    check_ids(checkpoint, rows, **roles)
    return SpecialFirst.of(rows, pad, end, start, end)


def _config(decoder, size):
    """`TransformerConfig` for a vocabulary of a size."""
    width, heads = decoder.setting("n_embd", int, 768), decoder.setting("n_head", int, 12)
    if heads < 1 or width % heads:
        raise decoder.refusal(f"{heads} heads in a width of {width}")
    activation = decoder.setting("activation_function", str, "gelu_new")
    if activation not in ACTIVATIONS:
        raise decoder.refusal(
            f"activation_function {activation!r}; known: {', '.join(ACTIVATIONS)}"
        )
    inner = decoder.settings.get("n_inner")
    try:
        return TransformerConfig(
            vocabulary_size=size,
            num_layers=decoder.setting("n_layer", int, 12),
            hidden_dim=width,
            intermediate_dim=4 * width if inner is None else decoder.setting("n_inner", int),
            num_heads=heads,
            key_dim=width // heads,
            value_dim=width // heads,
            dropout=decoder.setting("resid_pdrop", float, 0.1),
            attention_dropout=decoder.setting("attn_pdrop", float, 0.1),
            normalize_first=True,
            positions=LEARNED,
            max_sequence_length=decoder.setting("n_positions", int, 1024),
            tied=DECODER if decoder.setting("tie_word_embeddings", bool, True) else NOTHING,
            use_bias=True,
            epsilon=decoder.setting("layer_norm_epsilon", float, 1e-5),
            activation=ACTIVATIONS[activation],
            output_bias=True,
        )
    except ValueError as error:
        raise decoder.refusal(str(error)) from error


def _check_widths(decoder, encoder_width):
    """Raises ValueError for a width of what is attended to that GPT-2 cannot read."""
    given, width = (
        decoder.settings.get("cross_attention_hidden_size"),
        decoder.setting("n_embd", int),
    )
    if given is not None and (given != width or given != encoder_width):
        raise decoder.refusal(
            f"cross_attention_hidden_size={given!r}, with an encoder of width {encoder_width} and "
            f"a decoder of width {width}"
        )


def _vision_plan(files, config, tensors):
    """The encoder's tensors; the pooler's, which no decoder reads, are dropped."""
    for planned in vision_names_transformers.plan(files, config):
        yield planned._replace(name=_ENCODER + planned.name)
    if f"{_POOLER}.weight" in tensors:
        units = config.hidden_dim
        outputs = files.settings.get("pooler_output_size") or units
        for name, shape in (("weight", (outputs, units)), ("bias", (outputs,))):
            yield PlannedTensor(f"{_POOLER}.{name}", shape, lambda array: {})


def _plan(config, ids, rows):
    """The decoder's tensors, whose kernels are (inputs, outputs)."""
    units, scale = config.hidden_dim, math.sqrt(config.hidden_dim)
    is_tied = config.tied == DECODER

    def table(array):
        return {"table": array[ids.rows] / scale, "output_bias": ids.bias()}

    yield PlannedTensor(_TABLE, (rows, units), table)
    if not is_tied:
        yield PlannedTensor(_HEAD, (rows, units), lambda array: {"output_table": array[ids.rows]})
    yield PlannedTensor(
        f"{_DECODER}wpe.weight",
        (config.max_sequence_length, units),
        lambda array: {"decoder/positions": array},
    )
    for planned in torch_norm(f"{_DECODER}ln_f", "decoder/last_norm", units):
        yield scaled(planned, scale) if is_tied else planned
    for n in range(config.num_layers):
        yield from _block(f"{_DECODER}h.{n}", f"decoder/block_{n}", config)


def _block(start, part, config):
    units, hidden = config.hidden_dim, config.intermediate_dim
    three = ("query", "key", "value")
    fused = {
        "attn.c_attn": ("self", three),
        "attn.c_proj": ("self", ("output",)),
        "crossattention.q_attn": ("cross", three[:1]),
        "crossattention.c_attn": ("cross", three[1:]),
        "crossattention.c_proj": ("cross", ("output",)),
    }
    for name, (kind, roles) in fused.items():
        for suffix, what, shape in (("weight", "kernel", (units,)), ("bias", "bias", ())):
            parts = [f"{part}/{kind}/{role}_{what}" for role in roles]
            yield split(f"{start}.{name}.{suffix}", parts, (*shape, len(roles) * units))
    sizes = {"c_fc": ("hidden", units, hidden), "c_proj": ("output", hidden, units)}
    for name, (role, inputs, outputs) in sizes.items():
        kernel = [f"{part}/feed/{role}_kernel"]
        yield split(f"{start}.mlp.{name}.weight", kernel, (inputs, outputs))
        yield vector(f"{start}.mlp.{name}.bias", f"{part}/feed/{role}_bias", outputs)
    for name, kind in (("ln_1", "self"), ("ln_cross_attn", "cross"), ("ln_2", "feed")):
        yield from torch_norm(f"{start}.{name}", f"{part}/{kind}/norm", units)
