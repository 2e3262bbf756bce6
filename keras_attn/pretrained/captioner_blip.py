"""BLIP's captioners of transformers, BlipForConditionalGeneration."""

import math

import numpy as np

from keras_attn.models.transformer.transformer_config import DECODER, LEARNED, TransformerConfig
from keras_attn.models.vision_transformer.vision_transformer_config import VisionTransformerConfig
from keras_attn.pretrained.bert_vocabulary import UNKNOWN_NAME, pieces_of, word_pieces_of
from keras_attn.pretrained.captioner_parts import CaptionerParts, SpecialFirst
from keras_attn.pretrained.picture_preprocessing import BLIP, picture_format, pixel_normalization
from keras_attn.pretrained.tensors import (
    PlannedTensor,
    count_blocks,
    positions,
    scaled,
    torch_joined_projections,
    torch_linear,
    torch_norm,
    torch_patches,
)
from keras_attn.pretrained.translator_sizes import ACTIVATIONS
from keras_attn.pretrained.translator_tensors import unify
from keras_attn.pretrained.vision_settings import common_sizes
from keras_attn.pretrained.vocabulary_files import check_ids, special_id

KIND = "blip"
_VISION, _TEXT = "vision_model", "text_decoder.bert"
_TABLE = f"{_TEXT}.embeddings.word_embeddings.weight"
_HEAD = "text_decoder.cls.predictions"
_NUMBERS = f"{_TEXT}.embeddings.position_ids"
_KNOWN = {"is_decoder": (True,), "tie_word_embeddings": (True,)}
_VISION_DEFAULTS = {
    "image_size": 384,
    "patch_size": 16,
    "num_hidden_layers": 12,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-5,
}


def parts_of(checkpoint, files) -> CaptionerParts:
    """The parts of a checkpoint.

    Args:
        checkpoint: `Checkpoint`.
        files: `CheckpointFiles`.

    Raises:
        ValueError: settings, tensors or files that do not fit.
    """
    checkpoint.check_settings({"tie_word_embeddings": (True,)})
    text, vision_part = checkpoint.part("text_config"), checkpoint.part("vision_config")
    text.check_settings(_KNOWN)
    # Pictures of one size have nothing to pad, although Salesforce's processors say so.
    kept = {name: value for name, value in files.preprocessing.items() if name != "do_pad"}
    files = files._replace(preprocessing=kept)
    vision = _vision(vision_part, files)
    tensors = _whole(checkpoint)
    table = tensors.get(_TABLE)
    if table is None or table.ndim != 2:
        raise checkpoint.refusal(f"no table of embeddings {_TABLE}")
    pieces, special, lowercase = pieces_of(checkpoint)
    ids = _ids(checkpoint, text, {**pieces, **special}, table.shape[0])
    config = _config(text, len(ids.rows))
    for name, layers, start in (
        ("vision_config", vision.num_layers, f"{_VISION}.encoder.layers."),
        ("text_config", config.num_layers, f"{_TEXT}.encoder.layer."),
    ):
        if (present := count_blocks(tensors, start)) != layers:
            raise checkpoint.refusal(f"{layers} layers in {name}, and tensors of {present}")
    tokenizer = word_pieces_of(checkpoint, pieces, special, lowercase, table.shape[0], ids)
    pictures = picture_format(files, BLIP)
    plan = [*_vision_plan(vision), *_text_plan(config, vision.hidden_dim, ids, table.shape[0])]
    return CaptionerParts(vision, config, pictures, tokenizer, ids, tensors, plan)


def _whole(checkpoint):
    """The tensors with the table of embeddings and the biases under one name each, and without
    numbers of positions, which earlier versions of transformers saved."""
    tensors = dict(checkpoint.tensors)
    unify(checkpoint, tensors, _TABLE, (f"{_HEAD}.decoder.weight",))
    unify(checkpoint, tensors, f"{_HEAD}.bias", (f"{_HEAD}.decoder.bias",))
    numbers = tensors.pop(_NUMBERS, None)
    if numbers is not None and not np.array_equal(numbers, np.arange(numbers.size)[None]):
        raise checkpoint.refusal(f"{_NUMBERS} other than 0, 1, 2…")
    return tensors


def _vision(vision_part, files):
    """`VisionTransformerConfig` of the encoder."""
    try:
        return VisionTransformerConfig(
            **common_sizes(vision_part.path, vision_part.settings, **_VISION_DEFAULTS),
            intermediate_dim=vision_part.setting("intermediate_size", int, 3072),
            **pixel_normalization(files, BLIP),
        )
    except (TypeError, ValueError) as error:
        raise vision_part.refusal(str(error)) from error


def _ids(checkpoint, text, pieces, size):
    """`SpecialFirst`: BLIP begins with one token and ends with BERT's separator."""
    unknown = special_id(checkpoint, pieces, UNKNOWN_NAME, "vocabulary")
    roles = {"bos_token_id": 30522, "sep_token_id": 102, "pad_token_id": 0}
    start, end, pad = (text.setting(name, int, usual) for name, usual in roles.items())
    check_ids(checkpoint, size, bos_token_id=start, sep_token_id=end, pad_token_id=pad)
    if len({unknown, start, end, pad}) < 4:
        raise checkpoint.refusal(f"ids {pad}, {unknown}, {start}, {end}, of which some are equal")
    return SpecialFirst.of(size, pad, unknown, start, end)


def _config(text, size):
    """`TransformerConfig` for a vocabulary of a size."""
    width = text.setting("hidden_size", int, 768)
    heads = text.setting("num_attention_heads", int, 8)
    if heads < 1 or width % heads:
        raise text.refusal(f"{heads} heads in a width of {width}")
    activation = text.setting("hidden_act", str, "gelu")
    if activation not in ACTIVATIONS:
        raise text.refusal(f"hidden_act {activation!r}; known: {', '.join(ACTIVATIONS)}")
    try:
        return TransformerConfig(
            vocabulary_size=size,
            num_layers=text.setting("num_hidden_layers", int, 12),
            hidden_dim=width,
            intermediate_dim=text.setting("intermediate_size", int, 3072),
            num_heads=heads,
            key_dim=width // heads,
            value_dim=width // heads,
            dropout=text.setting("hidden_dropout_prob", float, 0.0),
            attention_dropout=text.setting("attention_probs_dropout_prob", float, 0.0),
            positions=LEARNED,
            max_sequence_length=text.setting("max_position_embeddings", int, 512),
            tied=DECODER,
            use_bias=True,
            epsilon=text.setting("layer_norm_eps", float, 1e-12),
            activation=ACTIVATIONS[activation],
            normalize_embeddings=True,
            output_bias=True,
            output_transform=True,
        )
    except ValueError as error:
        raise text.refusal(str(error)) from error


def _vision_plan(config):
    """The encoder's tensors."""
    units, start = config.hidden_dim, f"{_VISION}.embeddings"
    yield PlannedTensor(
        f"{start}.class_embedding", (1, 1, units), lambda array: {"token": array[0, 0]}
    )
    yield positions(f"{start}.position_embedding", config, 1)
    yield from torch_patches(f"{start}.patch_embedding", config)
    for n in range(config.num_layers):
        start, part = f"{_VISION}.encoder.layers.{n}", f"block_{n}"
        own, hidden = f"{start}.self_attn", config.intermediate_dim
        yield from torch_joined_projections(f"{own}.qkv.weight", f"{own}.qkv.bias", part, units)
        yield from torch_linear(f"{own}.projection", f"{part}/output_", units, units)
        yield from torch_linear(f"{start}.mlp.fc1", f"{part}/feed_hidden_", units, hidden)
        yield from torch_linear(f"{start}.mlp.fc2", f"{part}/feed_output_", hidden, units)
        yield from torch_norm(f"{start}.layer_norm1", f"{part}/attention_norm", units)
        yield from torch_norm(f"{start}.layer_norm2", f"{part}/feed_norm", units)
    yield from torch_norm(f"{_VISION}.post_layernorm", "last_norm", units)


def _text_plan(config, encoder_width, ids, rows):
    """The decoder's tensors."""
    units, scale = config.hidden_dim, math.sqrt(config.hidden_dim)
    yield PlannedTensor(_TABLE, (rows, units), lambda array: {"table": array[ids.rows] / scale})
    yield PlannedTensor(
        f"{_TEXT}.embeddings.position_embeddings.weight",
        (config.max_sequence_length, units),
        lambda array: {"decoder/positions": array},
    )
    yield from torch_norm(f"{_TEXT}.embeddings.LayerNorm", "decoder/first_norm", units)
    for n in range(config.num_layers):
        yield from _block(f"{_TEXT}.encoder.layer.{n}", f"decoder/block_{n}", config, encoder_width)
    head = f"{_HEAD}.transform"
    yield from torch_linear(f"{head}.dense", "decoder/output_transform/", units, units)
    for planned in torch_norm(f"{head}.LayerNorm", "decoder/output_norm", units):
        yield scaled(planned, scale)
    yield PlannedTensor(
        f"{_HEAD}.bias", (rows,), lambda array: {"output_bias": ids.bias(array[ids.rows])}
    )


def _block(start, part, config, encoder_width):
    units, hidden = config.hidden_dim, config.intermediate_dim
    for name, kind, width in (
        ("attention", "self", units),
        ("crossattention", "cross", encoder_width),
    ):
        own, attention = f"{part}/{kind}", f"{start}.{name}"
        for role, inputs in (("query", units), ("key", width), ("value", width)):
            yield from torch_linear(f"{attention}.self.{role}", f"{own}/{role}_", inputs, units)
        yield from torch_linear(f"{attention}.output.dense", f"{own}/output_", units, units)
        yield from torch_norm(f"{attention}.output.LayerNorm", f"{own}/norm", units)
    yield from torch_linear(f"{start}.intermediate.dense", f"{part}/feed/hidden_", units, hidden)
    yield from torch_linear(f"{start}.output.dense", f"{part}/feed/output_", hidden, units)
    yield from torch_norm(f"{start}.output.LayerNorm", f"{part}/feed/norm", units)
