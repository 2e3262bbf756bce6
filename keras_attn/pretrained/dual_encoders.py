"""CLIP of transformers as a Keras model: pictures and texts in one space."""

from typing import NamedTuple

import numpy as np

from keras_attn.images.picture_format import PictureFormat
from keras_attn.models.dual_encoder.dual_encoder import DualEncoder
from keras_attn.models.dual_encoder.text_encoder import TextEncoder
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.pretrained import vision_names_clip
from keras_attn.pretrained.checkpoint import Checkpoint
from keras_attn.pretrained.files import read_checkpoint_files
from keras_attn.pretrained.picture_preprocessing import picture_format
from keras_attn.pretrained.tensors import PlannedTensor, converted, torch_kernel
from keras_attn.pretrained.text_encoders import text_parts, text_plan, text_settings, text_weights
from keras_attn.pretrained.vision_names_clip import TEXT, TOWER
from keras_attn.pretrained.vision_settings import check_known
from keras_attn.pretrained.vision_transformer import assign, encoder_weights, vision_config
from keras_attn.text.clip_tokenizer import ClipTokenizer
from keras_attn.text.framed import framed

KIND, WHAT = "clip", "a dual encoder"
_WHOLE = (
    *("text_config", "text_config_dict", "vision_config", "vision_config_dict"),
    *("initializer_factor", "logit_scale_init_value", "projection_dim"),
)


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
    parts = text_parts(text_settings(checkpoint))
    tensors = vision_names_clip.without_numbers(files.path, files.tensors)
    arrays = converted(files.path, tensors, _plan(files, vision, parts, width), WHAT)
    model = DualEncoder(
        VisionTransformer(vision, name="image_encoder"),
        TextEncoder(parts.config, name="text_encoder"),
        vision.image_size,
        width,
        name="dual_encoder",
    )
    model.build()
    assign(_weights(model), arrays)
    return PretrainedDualEncoder(model, parts.tokenizer, pictures, parts.longest, KIND, parts.rows)


def is_dual_encoder(files) -> bool:
    """Whether `CheckpointFiles` are those of pictures and texts."""
    return files.settings.get("model_type") == KIND and any(
        name.startswith(TEXT) for name in files.tensors
    )


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


def _plan(files, vision, parts, width):
    """`PlannedTensor` of all tensors."""
    yield from vision_names_clip.plan(files, vision)
    yield from text_plan(parts.config, parts.rows)
    units = {"text": parts.config.hidden_dim, "visual": vision.hidden_dim}
    for name, inputs in units.items():
        yield torch_kernel(f"{name}_projection.weight", f"{name}_projection", inputs, width)
    yield PlannedTensor("logit_scale", (), lambda array: {"logit_scale": array})


def _weights(model):
    """name -> variable of all weights of a `DualEncoder`."""
    return {
        **encoder_weights(model.image_encoder),
        **text_weights(model.text_encoder),
        "text_projection": model.text_projection.kernel,
        "visual_projection": model.image_projection.kernel,
        "logit_scale": model.logit_scale,
    }
