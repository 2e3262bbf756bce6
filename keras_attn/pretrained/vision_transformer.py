"""Pretrained Vision Transformers from the files of transformers, timm and the paper's authors."""

import os

import numpy as np

from keras_attn.models.vision_transformer.image_classifier import ImageClassifier
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.models.vision_transformer.vision_transformer_config import (
    TOKEN,
    VisionTransformerConfig,
)
from keras_attn.pretrained import (
    vision_names_clip,
    vision_names_dino,
    vision_names_flax,
    vision_names_timm,
    vision_names_transformers,
)
from keras_attn.pretrained.files import read_checkpoint_files
from keras_attn.pretrained.picture_preprocessing import picture_format
from keras_attn.pretrained.tensors import converted, refusal

_OF_TRANSFORMERS = (vision_names_dino, vision_names_clip, vision_names_transformers)
_KINDS = (*_OF_TRANSFORMERS, vision_names_timm, vision_names_flax)
_MAY_BE_ABSENT = ("query_bias", "key_bias", "value_bias", "token_position", "patches/bias")


def load_vision_transformer(source, **choices):
    """A `VisionTransformer` with pretrained weights.

    The kind of checkpoint is detected by the names of its tensors:

    - transformers, ViT and DeiT: sizes are in config.json, the pixels' mean and deviation in
      preprocessor_config.json (½ for a ViT without it). A pooler becomes the representation, DeiT's
      distillation token a register.
    - transformers, the vision towers of CLIP and of SigLIP and SigLIP 2 for pictures of one size,
      alone or in a CLIPModel or SiglipModel, whose text tower and projections are left out. CLIP's
      features are before the last normalization, its vector after it.
    - transformers, DINOv2, also with registers, and DINOv3; layer scales are in the kernels. A
      DINOv3 is for pictures of one size, `image_size`.
    - timm's VisionTransformer that normalizes before it pools: sizes are in the shapes, heads are
      64 wide unless `num_heads` or config.json says otherwise, pixels as in config.json.
    - `.npz` of the authors' repositories vision_transformer and big_vision: sizes are in the
      shapes.

    All tensors are checked first; one error lists those that are missing, unexpected or of another
    shape. Missing biases of queries, keys and values are 0.

    Args:
        source: path of a `.safetensors`, `.npz`, `.bin` or `.pth` file or of a folder with one; or
            the name of a model on the Hugging Face hub, see `read_checkpoint_files`.
        **choices: fields of `VisionTransformerConfig` that override the checkpoint's: `num_heads`,
            `image_size` if positions do not form a square, `pixel_mean`, `dropout`…

    Returns:
        `VisionTransformer`; its `config.num_classes` is that of the head, which is not kept.

    Raises:
        ImportError: safetensors or huggingface_hub is needed but not installed.
        OSError: a hub name that could not be downloaded.
        ValueError: a damaged file or one of another model, with the file's path.

    Example:
        >>> encoder = load_vision_transformer("google/vit-base-patch16-224")  # doctest: +SKIP
        >>> tuple(encoder(ops.zeros((1, 224, 320, 3))).shape)  # doctest: +SKIP
        (1, 14, 20, 768)
    """
    config, arrays = _read(source, choices)
    encoder = VisionTransformer(config)
    assign(encoder_weights(encoder), arrays)
    return encoder


def load_image_classifier(source, num_classes=None, **choices):
    """An `ImageClassifier` with pretrained weights.

    Args:
        source: see `load_vision_transformer`.
        num_classes: int > 0 for a new head of zeros, to fine-tune; None for the checkpoint's.
        **choices: see `load_vision_transformer`.

    Returns:
        `ImageClassifier`.

    Raises:
        ImportError, OSError, ValueError: see `load_vision_transformer`; no head in the checkpoint
            and no `num_classes`.
    """
    config, arrays = _read(source, choices)
    if num_classes is None and config.num_classes is None:
        raise ValueError(
            f"Expected a checkpoint with a head, or num_classes=. Received: {_place(source)!r}, "
            "which has none"
        )
    encoder = VisionTransformer(config)
    assign(encoder_weights(encoder), arrays)
    classifier = ImageClassifier(encoder, num_classes or config.num_classes)
    classifier.build((None, *config.image_size, 3))
    if num_classes is None:
        head = classifier.head
        assign({"head/kernel": head.kernel, "head/bias": head.bias}, arrays)
    return classifier


def load_picture_format(source):
    """How a checkpoint wants its pictures resized, from preprocessor_config.json.

    Equal to the processors of transformers that use Pillow, to a level in one of 200 values; their
    pixels' mean and deviation are in the config of the `VisionTransformer`.

    Args:
        source: see `load_vision_transformer`.

    Returns:
        `PictureFormat`; None for a checkpoint without preprocessor_config.json, or whose pictures
        are not resized.

    Raises:
        ImportError, OSError, ValueError: see `load_vision_transformer`; a preprocessing that a
            `PictureFormat` cannot follow.

    Example:
        >>> load_picture_format("openai/clip-vit-base-patch32").fit  # doctest: +SKIP
        'shortest_edge'
    """
    files = read_checkpoint_files(source)
    kind = _kind(files)
    return picture_format(files, kind.processor(files)) if kind in _OF_TRANSFORMERS else None


def _place(source):
    """Where a checkpoint is, for messages."""
    return os.fspath(getattr(source, "path", source))


def _read(source, choices):
    """The config, and every array under the name of `encoder_weights`, all of them checked."""
    files = read_checkpoint_files(source)
    files = files._replace(tensors=vision_names_flax.parameters(files.tensors))
    kind = _kind(files)
    if kind is vision_names_clip:
        files = files._replace(tensors=vision_names_clip.vision_tensors(files))
    config = vision_config(files, kind, choices)
    return config, converted(files.path, files.tensors, kind.plan(files, config))


def _kind(files):
    """The module of names of a checkpoint."""
    kind = next((kind for kind in _KINDS if kind.recognizes(files.tensors)), None)
    if kind is None:
        names = sorted(files.tensors)
        raise refusal(files.path, f"tensors {', '.join(names[:5])}… ({len(names)})")
    return kind


def vision_config(files, kind, choices):
    """`VisionTransformerConfig` of files of a kind, one of the modules vision_names."""
    try:
        sizes = kind.sizes(files, choices)
    except (TypeError, LookupError) as error:
        raise refusal(files.path, f"settings of other types: {error}") from error
    if choices.get("pooling", sizes["pooling"]) != sizes["pooling"]:
        raise refusal(files.path, f"pooling={sizes['pooling']!r}, chosen: {choices['pooling']!r}")
    try:
        return VisionTransformerConfig(**{**sizes, **choices})
    except (TypeError, ValueError) as error:
        raise refusal(files.path, error) from error


def assign(weights, arrays):
    """Sets variables by name, splitting heads as needed; missing biases and the token's missing
    position are 0."""
    for name, variable in weights.items():
        if name not in arrays and name.endswith(_MAY_BE_ABSENT):
            variable.assign(np.zeros(variable.shape, "float32"))
        else:
            variable.assign(np.reshape(arrays[name], variable.shape))


def encoder_weights(encoder):
    """name -> variable of all weights of a `VisionTransformer`."""
    named = {
        "patches/kernel": encoder.patches.kernel,
        "patches/bias": encoder.patches.bias,
        "last_norm/scale": encoder.last_norm.gamma,
        "last_norm/offset": encoder.last_norm.beta,
    }
    if encoder.config.pooling == TOKEN:
        named |= {"token": encoder.token, "token_position": encoder.token_position}
    if encoder.positions is not None:
        named["positions"] = encoder.positions.table
    if encoder.config.num_registers:
        named["registers"] = encoder.registers
    if encoder.first_norm is not None:
        named["first_norm/scale"] = encoder.first_norm.gamma
        named["first_norm/offset"] = encoder.first_norm.beta
    if encoder.pooling is not None:
        named["pooling/query"] = encoder.pooling.query
        weights = _sublayer_weights(encoder.pooling.attention, encoder.pooling.feed_forward)
        norm = encoder.pooling.residual.normalization
        weights |= {"feed_norm/scale": norm.gamma, "feed_norm/offset": norm.beta}
        named |= {f"pooling/{name}": weight for name, weight in weights.items()}
    if encoder.representation is not None:
        named["representation/kernel"] = encoder.representation.kernel
        named["representation/bias"] = encoder.representation.bias
    for n, block in enumerate(encoder.blocks):
        named |= {f"block_{n}/{name}": weight for name, weight in block_weights(block).items()}
    return named


def block_weights(block):
    """name -> variable of all weights of a `TransformerEncoderBlock`."""
    named = _sublayer_weights(block.attention, block.feed_forward)
    for name, residual in zip(("attention_norm", "feed_norm"), block.residuals):
        named[f"{name}/scale"] = residual.normalization.gamma
        named[f"{name}/offset"] = residual.normalization.beta
    return named


def _sublayer_weights(attention, feed):
    named = {
        f"{name}_{kind}": getattr(attention, f"{name}_{kind}")
        for name in ("query", "key", "value", "output")
        for kind in ("kernel", "bias")
    }
    for name in ("gate", "hidden", "output") if feed.gated else ("hidden", "output"):
        named[f"feed_{name}_kernel"] = getattr(feed, f"{name}_kernel")
        named[f"feed_{name}_bias"] = getattr(feed, f"{name}_bias")
    return named
