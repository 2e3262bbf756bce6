"""Pretrained Vision Transformers from the files of transformers, timm and the paper's authors."""

import os

import numpy as np

from keras_attn.models.vision_transformer.image_classifier import ImageClassifier
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.models.vision_transformer.vision_transformer_config import (
    TOKEN,
    VisionTransformerConfig,
)
from keras_attn.pretrained import vision_names_flax, vision_names_timm, vision_names_transformers
from keras_attn.pretrained.files import read_checkpoint_files
from keras_attn.pretrained.tensors import converted, refusal

_KINDS = (vision_names_transformers, vision_names_timm, vision_names_flax)
_MAY_BE_ABSENT = ("query_bias", "key_bias", "value_bias", "token_position")


def load_vision_transformer(source, **choices):
    """A `VisionTransformer` with pretrained weights.

    The kind of checkpoint is detected by the names of its tensors:

    - transformers, ViTModel or ViTForImageClassification: sizes are in config.json, the pixels'
      mean and deviation in preprocessor_config.json (½ without it). A pooler becomes the
      representation.
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


def _place(source):
    """Where a checkpoint is, for messages."""
    return os.fspath(getattr(source, "path", source))


def _read(source, choices):
    """The config, and every array under the name of `encoder_weights`, all of them checked."""
    files = read_checkpoint_files(source)
    files = files._replace(tensors=vision_names_flax.parameters(files.tensors))
    kind = next((kind for kind in _KINDS if kind.recognizes(files.tensors)), None)
    if kind is None:
        names = sorted(files.tensors)
        raise refusal(files.path, f"tensors {', '.join(names[:5])}… ({len(names)})")
    config = vision_config(files, kind, choices)
    return config, converted(files.path, files.tensors, kind.plan(files, config))


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
        "positions": encoder.positions.table,
        "last_norm/scale": encoder.last_norm.gamma,
        "last_norm/offset": encoder.last_norm.beta,
    }
    if encoder.config.pooling == TOKEN:
        named |= {"token": encoder.token, "token_position": encoder.token_position}
    if encoder.representation is not None:
        named["representation/kernel"] = encoder.representation.kernel
        named["representation/bias"] = encoder.representation.bias
    for n, block in enumerate(encoder.blocks):
        named |= {f"block_{n}/{name}": weight for name, weight in _block_weights(block).items()}
    return named


def _block_weights(block):
    attention, feed = block.attention, block.feed_forward
    kernels = ("query_kernel", "key_kernel", "value_kernel", "output_kernel")
    named = {name: getattr(attention, name) for name in kernels}
    named |= {name: getattr(attention, name) for name in ("query_bias", "key_bias")}
    named |= {name: getattr(attention, name) for name in ("value_bias", "output_bias")}
    for name in ("hidden_kernel", "hidden_bias", "output_kernel", "output_bias"):
        named[f"feed_{name}"] = getattr(feed, name)
    for name, residual in zip(("attention_norm", "feed_norm"), block.residuals):
        named[f"{name}/scale"] = residual.normalization.gamma
        named[f"{name}/offset"] = residual.normalization.beta
    return named
