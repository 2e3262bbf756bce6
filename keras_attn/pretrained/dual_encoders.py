"""CLIP of transformers as a Keras model: pictures and texts in one space."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from keras_attn.images.picture_format import PictureFormat
from keras_attn.models.dual_encoder.dual_encoder import DualEncoder
from keras_attn.models.dual_encoder.text_encoder import TextEncoder
from keras_attn.models.transformer.transformer_config import LEARNED, TransformerConfig
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.pretrained import vision_names_clip
from keras_attn.pretrained.checkpoint import Checkpoint
from keras_attn.pretrained.clip_vocabulary import TOKENIZER_SETTINGS, clip_words_of
from keras_attn.pretrained.files import read_checkpoint_files, read_settings
from keras_attn.pretrained.picture_preprocessing import picture_format
from keras_attn.pretrained.tensors import PlannedTensor, converted, torch_kernel, torch_norm
from keras_attn.pretrained.vision_names_clip import TEXT, TOWER
from keras_attn.pretrained.vision_settings import ACTIVATIONS, check_known
from keras_attn.pretrained.vision_transformer import (
    assign,
    block_weights,
    encoder_weights,
    vision_config,
)
from keras_attn.text.clip_tokenizer import ClipTokenizer
from keras_attn.text.framed import framed

KIND, WHAT = "clip", "a dual encoder"
_TABLE = f"{TEXT}embeddings.token_embedding.weight"
_WHOLE = (
    *("text_config", "text_config_dict", "vision_config", "vision_config_dict"),
    *("initializer_factor", "logit_scale_init_value", "projection_dim"),
)
_TEXT = ("max_position_embeddings", "projection_dim", "vocab_size")
"""Settings of the whole and of the texts, besides those that other models have."""
_HIGHEST = 2
"""The eos_token_id of early checkpoints, whose texts end at their highest id."""


class PretrainedDualEncoder(NamedTuple):
    """A pretrained model of pictures and texts.

    Attributes:
        model: built `DualEncoder`.
        tokenizer: of its texts.
        picture_format: `PictureFormat`. How pictures are resized.
        longest: int. Maximum number of tokens of a text, its start and end included.
        kind: str. The checkpoint's model_type.
        rows: int (V,). The checkpoint's id of each id.
    """

    model: DualEncoder
    tokenizer: ClipTokenizer
    picture_format: PictureFormat
    longest: int
    kind: str
    rows: np.ndarray

    def tokens(self, texts):
        """Texts, string (B,), as the model reads them: int32 (B, T), T ≤ `longest`.

        Longer texts are cut before their end, as by `truncation=True` of transformers.
        """
        return framed(self.tokenizer.encode(texts), self.longest)


def load_dual_encoder(source) -> PretrainedDualEncoder:
    """A `DualEncoder` with the weights and the tokenizer of CLIP.

    Of transformers, CLIPModel: weights as `.safetensors` or `.bin`, whose tensors alone are read,
    config.json, preprocessor_config.json, and tokenizer.json or vocab.json with merges.txt. All
    tensors are checked first; one error lists those that are missing, unexpected or of another
    shape. Ids are put into this project's order.

    Args:
        source: folder, file of weights in one, or the name of a model on the Hugging Face hub, see
            `read_checkpoint_files`.

    Returns:
        `PretrainedDualEncoder`.

    Raises:
        ImportError: safetensors or huggingface_hub is needed but not installed.
        OSError: a hub name that could not be downloaded.
        ValueError: a damaged file, another model, missing tensors or vocabularies, parts that do
            not fit each other.

    Example:
        >>> clip = load_dual_encoder("openai/clip-vit-base-patch32")  # doctest: +SKIP
        >>> tuple(clip.model.encode_texts(clip.tokens(["two dogs"])).shape)  # doctest: +SKIP
        (1, 512)
    """
    files = read_checkpoint_files(source)
    checkpoint = Checkpoint.of(files, WHAT)
    _check_kind(checkpoint)
    check_known(files.path, files.settings, _WHOLE, WHAT)
    width = checkpoint.setting("projection_dim", int, 512)
    vision = vision_config(files, vision_names_clip, {})
    pictures = _pictures(checkpoint, files, vision)
    named = "text_config_dict" if files.settings.get("text_config_dict") else "text_config"
    text = checkpoint.part(named)
    config = _text_config(text)
    tokenizer, order = clip_words_of(checkpoint, config.vocabulary_size)
    _check_end(text, config, int(order.rows[3]))
    config = replace(config, vocabulary_size=len(order.rows))  # An id may have several roles.
    tensors = vision_names_clip.without_numbers(files.path, files.tensors)
    plan = [*vision_names_clip.plan(files, vision), *_plan(config, vision, order.rows, width)]
    arrays = converted(files.path, tensors, plan, WHAT)
    model = DualEncoder(
        VisionTransformer(vision, name="image_encoder"),
        TextEncoder(config, name="text_encoder"),
        vision.image_size,
        width,
        name="dual_encoder",
    )
    model.build()
    assign({**encoder_weights(model.image_encoder), **_weights(model)}, arrays)
    longest = _longest(checkpoint, config)
    return PretrainedDualEncoder(model, tokenizer, pictures, longest, KIND, order.rows)


def is_dual_encoder(files) -> bool:
    """Whether `CheckpointFiles` are those of pictures and texts."""
    return files.settings.get("model_type") == KIND and _TABLE in files.tensors


def _check_kind(checkpoint):
    """Raises ValueError for anything but a whole CLIP."""
    kind = checkpoint.settings.get("model_type")
    if kind == "siglip":
        raise checkpoint.refusal(
            f"model_type {kind!r}, whose texts and loss are of another kind than CLIP's: its "
            "pictures alone are read, by load_vision_transformer"
        )
    if kind != KIND:
        named = f"model_type {kind!r:.80}" if kind else "no model_type in config.json"
        raise checkpoint.refusal(f"{named}; known: {KIND}, with both its towers")
    for start, tower in ((TOWER, "pictures"), (TEXT, "texts")):
        if not any(name.startswith(start) for name in checkpoint.tensors):
            raise checkpoint.refusal(f"no tensors {start}…: a model without a tower for {tower}")


def _pictures(checkpoint, files, vision):
    """How pictures are resized."""
    pictures = picture_format(files, vision_names_clip.processor(files))
    if pictures is None:
        raise checkpoint.refusal("no preprocessor_config.json that says how pictures are resized")
    if (pictures.height, pictures.width) != vision.image_size:
        raise checkpoint.refusal(
            f"pictures of {pictures.height}x{pictures.width} of its processor, an encoder of "
            f"pictures of {vision.image_size[0]}x{vision.image_size[1]}"
        )
    return pictures


def _text_config(text):
    """`TransformerConfig` of the settings of texts."""
    check_known(text.path, text.settings, _TEXT, WHAT)
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


def _plan(config, vision, rows, width):
    """`PlannedTensor` of all tensors but those of pictures."""
    units, scale = config.hidden_dim, math.sqrt(config.hidden_dim)
    shape = (max(rows) + 1, units)
    yield PlannedTensor(_TABLE, shape, lambda array: {"text/table": array[rows] / scale})
    yield PlannedTensor(
        f"{TEXT}embeddings.position_embedding.weight",
        (config.max_sequence_length, units),
        lambda array: {"text/positions": array},
    )
    for n in range(config.num_layers):
        start = f"{TEXT}encoder.layers.{n}"
        yield from vision_names_clip.block(start, f"text/block_{n}", config)
    yield from torch_norm(f"{TEXT}final_layer_norm", "text/last_norm", units)
    yield torch_kernel("text_projection.weight", "text_projection", units, width)
    yield torch_kernel("visual_projection.weight", "image_projection", vision.hidden_dim, width)
    yield PlannedTensor("logit_scale", (), lambda array: {"logit_scale": array})


def _weights(model):
    """name -> variable of all weights of a `DualEncoder` but those of pictures."""
    stack = model.text_encoder.encoder
    named = {
        "text/table": model.text_encoder.embedding.table,
        "text/positions": stack.positions.table,
        "text/last_norm/scale": stack.last_norm.gamma,
        "text/last_norm/offset": stack.last_norm.beta,
        "text_projection": model.text_projection.kernel,
        "image_projection": model.image_projection.kernel,
        "logit_scale": model.logit_scale,
    }
    for n, block in enumerate(stack.blocks):
        named |= {f"text/block_{n}/{name}": own for name, own in block_weights(block).items()}
    return named
