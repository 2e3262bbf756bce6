"""CLIP's texts in transformers as a Keras layer."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from keras_attn.models.dual_encoder.text_encoder import TextEncoder
from keras_attn.models.transformer.transformer_config import LEARNED, TransformerConfig
from keras_attn.pretrained import vision_names_clip
from keras_attn.pretrained.checkpoint import Checkpoint
from keras_attn.pretrained.clip_vocabulary import TOKENIZER_SETTINGS, clip_words_of
from keras_attn.pretrained.files import read_checkpoint_files, read_settings
from keras_attn.pretrained.tensors import PlannedTensor, converted, torch_norm
from keras_attn.pretrained.vision_names_clip import BETWEEN, TEXT, TOWER
from keras_attn.pretrained.vision_settings import ACTIVATIONS, check_known
from keras_attn.pretrained.vision_transformer import assign, block_weights
from keras_attn.text.clip_tokenizer import ClipTokenizer
from keras_attn.text.framed import framed

WHOLE, ALONE = "clip", "clip_text_model"
WHAT = "a text encoder"
_KNOWN = ("max_position_embeddings", "projection_dim", "vocab_size")
"""Settings of texts, besides those that other models have."""
_HIGHEST = 2
"""The eos_token_id of early checkpoints, whose texts end at their highest id."""


class PretrainedTextEncoder(NamedTuple):
    """A pretrained model of texts.

    Attributes:
        model: built `TextEncoder`.
        tokenizer: of its texts.
        longest: int. Maximum number of tokens of a text, its start and end included.
        kind: str. The checkpoint's model_type.
        rows: int (V,). The checkpoint's id of each id.
    """

    model: TextEncoder
    tokenizer: ClipTokenizer
    longest: int
    kind: str
    rows: np.ndarray

    def tokens(self, texts):
        """Texts, string (B,), as the model reads them: int32 (B, T), T ≤ `longest`.

        Longer texts are cut before their end, as by `truncation=True` of transformers.
        """
        return framed(self.tokenizer.encode(texts), self.longest)


def load_text_encoder(source) -> PretrainedTextEncoder:
    """A `TextEncoder` with the weights and the tokenizer of CLIP's.

    Of transformers, CLIPTextModel and the text tower of CLIPModel; pictures, projections and the
    scale are left out. Files, checks and ids are as of `load_dual_encoder`.

    Args:
        source: folder, file of weights in one, or the name of a model on the Hugging Face hub, see
            `read_checkpoint_files`.

    Returns:
        `PretrainedTextEncoder`.

    Raises:
        ImportError, OSError, ValueError: as `load_dual_encoder`.

    Example:
        >>> clip = load_text_encoder("openai/clip-vit-large-patch14")  # doctest: +SKIP
        >>> tuple(clip.model(clip.tokens(["two dogs"])).shape)  # doctest: +SKIP
        (1, 4, 768)
    """
    files = read_checkpoint_files(source)
    checkpoint = Checkpoint.of(files, WHAT)
    kind = checkpoint.settings.get("model_type")
    if kind not in (WHOLE, ALONE):
        named = f"model_type {kind!r:.80}" if kind else "no model_type in config.json"
        raise checkpoint.refusal(f"{named}; known: {WHOLE}, {ALONE}")
    parts = text_parts(text_settings(checkpoint) if kind == WHOLE else checkpoint)
    tensors = {
        name: array
        for name, array in files.tensors.items()
        if not name.startswith(TOWER) and name not in BETWEEN
    }
    root = TEXT if any(name.startswith(TEXT) for name in tensors) else ""
    tensors = vision_names_clip.without_numbers(files.path, tensors)
    arrays = converted(files.path, tensors, text_plan(parts.config, parts.rows, root), WHAT)
    model = TextEncoder(parts.config, name="text_encoder")
    model.build()
    assign(text_weights(model), arrays)
    return PretrainedTextEncoder(model, parts.tokenizer, parts.longest, kind, parts.rows)


class TextParts(NamedTuple):
    """A text encoder that can be built.

    Attributes:
        config: `TransformerConfig`, of the ids here.
        tokenizer, longest, rows: as of `PretrainedTextEncoder`.
    """

    config: TransformerConfig
    tokenizer: ClipTokenizer
    longest: int
    rows: np.ndarray


def text_settings(checkpoint):
    """The checkpoint of a CLIPModel with the settings of its texts."""
    is_early = checkpoint.settings.get("text_config_dict")
    return checkpoint.part("text_config_dict" if is_early else "text_config")


def text_parts(text) -> TextParts:
    """What the files of a checkpoint say of texts.

    Args:
        text: `Checkpoint` with the settings of texts.

    Raises:
        ValueError: settings or a tokenizer that are not known, or do not fit each other.
    """
    config = _text_config(text)
    tokenizer, order = clip_words_of(text, config.vocabulary_size)
    _check_end(text, config, int(order.rows[3]))
    config = replace(config, vocabulary_size=len(order.rows))  # An id may have several roles.
    return TextParts(config, tokenizer, _longest(text, config), order.rows)


def _text_config(text):
    """`TransformerConfig` of the settings of texts."""
    check_known(text.path, text.settings, _KNOWN, text.what)
    width, heads = (
        text.setting(name, int, default)
        for name, default in (("hidden_size", 512), ("num_attention_heads", 8))
    )
    if heads < 1 or width % heads:
        raise text.refusal(f"{heads} heads in a width of {width}")
    activation = text.setting("hidden_act", str, "quick_gelu")
    if activation not in ACTIVATIONS:
        raise text.refusal(f"hidden_act={activation!r}, none of {list(ACTIVATIONS)}")
    try:
        return TransformerConfig(
            vocabulary_size=text.setting("vocab_size", int, 49408),
            num_layers=text.setting("num_hidden_layers", int, 12),
            hidden_dim=width,
            intermediate_dim=text.setting("intermediate_size", int, 2048),
            num_heads=heads,
            key_dim=width // heads,
            value_dim=width // heads,
            dropout=0.0,
            attention_dropout=text.setting("attention_dropout", float, 0.0),
            normalize_first=True,
            positions=LEARNED,
            max_sequence_length=text.setting("max_position_embeddings", int, 77),
            use_bias=True,
            epsilon=text.setting("layer_norm_eps", float, 1e-5),
            activation=ACTIVATIONS[activation],
        )
    except ValueError as error:
        raise text.refusal(str(error)) from error


def _check_end(text, config, end):
    """Raises ValueError unless a text's vector is that at its end.

    transformers takes it at the first eos_token_id, or at the highest id where that is 2.
    """
    given = text.setting("eos_token_id", int, 49407)
    if given == _HIGHEST:
        if end != config.vocabulary_size - 1:
            raise text.refusal(
                f"eos_token_id={given}, for which a text's vector is that at its highest id, with "
                f"an end of texts, {end}, that is not the last of {config.vocabulary_size} ids"
            )
    elif given != end:
        raise text.refusal(f"eos_token_id={given}, with a tokenizer that ends texts by {end}")


def _longest(checkpoint, config):
    """Maximum number of tokens of a text."""
    most = read_settings(checkpoint.folder / TOKENIZER_SETTINGS).get("model_max_length")
    positions = config.max_sequence_length
    longest = min(most, positions) if type(most) is int else positions
    if longest < 2:
        raise checkpoint.refusal(f"texts of at most {longest} tokens, less than a start and an end")
    return longest


def text_plan(config, rows, root=TEXT):
    """`PlannedTensor` of all tensors of texts, under the names of `text_weights`."""
    units, scale = config.hidden_dim, math.sqrt(config.hidden_dim)
    yield PlannedTensor(
        f"{root}embeddings.token_embedding.weight",
        (max(rows) + 1, units),
        lambda array: {"text/table": array[rows] / scale},
    )
    yield PlannedTensor(
        f"{root}embeddings.position_embedding.weight",
        (config.max_sequence_length, units),
        lambda array: {"text/positions": array},
    )
    for n in range(config.num_layers):
        start = f"{root}encoder.layers.{n}"
        yield from vision_names_clip.block(start, f"text/block_{n}", config)
    yield from torch_norm(f"{root}final_layer_norm", "text/last_norm", units)


def text_weights(encoder):
    """name -> variable of all weights of a `TextEncoder`."""
    stack = encoder.encoder
    named = {
        "text/table": encoder.embedding.table,
        "text/positions": stack.positions.table,
        "text/last_norm/scale": stack.last_norm.gamma,
        "text/last_norm/offset": stack.last_norm.beta,
    }
    for n, block in enumerate(stack.blocks):
        named |= {f"text/block_{n}/{name}": own for name, own in block_weights(block).items()}
    return named
