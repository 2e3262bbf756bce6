"""Captioners of transformers as Keras models: a Vision Transformer, and a decoder of text."""

from typing import Any, NamedTuple

import numpy as np

from keras_attn.images.picture_format import PictureFormat
from keras_attn.models.captioner.captioner import Captioner
from keras_attn.models.captioner.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.vision_transformer.vision_sequence import VisionSequence
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.pretrained import captioner_blip, captioner_gpt2
from keras_attn.pretrained.checkpoint import Checkpoint
from keras_attn.pretrained.files import read_checkpoint_files
from keras_attn.pretrained.search import search_of
from keras_attn.pretrained.tensors import converted
from keras_attn.pretrained.translator_tensors import decoder_weights
from keras_attn.pretrained.vision_transformer import assign, encoder_weights
from keras_attn.text.prompt_ids import prompt_ids

WHAT = "a captioner"
CAPTIONERS = {
    captioner_gpt2.KIND: captioner_gpt2.parts_of,
    captioner_blip.KIND: captioner_blip.parts_of,
}
"""Functions that read the parts of a captioner, by model_type."""
_NEW = 20
"""`max_new_tokens` that `generate` of transformers has by default."""


class PretrainedCaptioner(NamedTuple):
    """A pretrained model from pictures to sentences.

    Attributes:
        model: built `Captioner`.
        tokenizer: of its captions.
        picture_format: `PictureFormat`. How pictures are resized.
        search: dict of `beam_width`, `length_alpha` and `early_stopping`, as the checkpoint has
            them, for `Beam(..., normalization="average")`.
        longest: int. Maximum number of pieces of a caption, its prompt and its end included.
        kind: str. The checkpoint's model_type.
        rows: int (V,). The checkpoint's id of each id.
        prompt: what every caption begins with, or "".
    """

    model: Captioner
    tokenizer: Any
    picture_format: PictureFormat
    search: dict
    longest: int
    kind: str
    rows: np.ndarray
    prompt: str = ""


def load_captioner(source, prompt: str = "") -> PretrainedCaptioner:
    """A `Captioner` with the weights and the tokenizer of a pretrained one.

    Of transformers, VisionEncoderDecoderModel with ViT or DeiT as its encoder and GPT-2 as its
    decoder, and BlipForConditionalGeneration: weights as `.safetensors` or `.bin`, whose tensors
    alone are read, config.json, generation_config.json, preprocessor_config.json and the files of
    the tokenizer. All tensors are checked first; one error lists those that are missing, unexpected
    or of another shape.

    The decoder attends to the class token of the encoder, too, see `VisionSequence`. A projection
    between the two is multiplied into the kernels that read it, which changes no result. Ids are
    put into this project's order; an id with several roles has several here, and is said in its
    last one, END_ID if it ends texts.

    Args:
        source: folder, file of weights in one, or the name of a model on the Hugging Face hub, see
            `read_checkpoint_files`.
        prompt: what every caption shall begin with, such as "a photography of"; its pieces are a
            prefix of the search, see `prompt_ids` and `decode`.

    Returns:
        `PretrainedCaptioner`.

    Raises:
        ImportError: safetensors or huggingface_hub is needed but not installed.
        OSError: a hub name that could not be downloaded.
        ValueError: a damaged file, another model, missing tensors or vocabularies, parts that do
            not fit each other, a prompt as `prompt_ids`.

    Example:
        >>> name = "nlpconnect/vit-gpt2-image-captioning"
        >>> captioner = load_captioner(name)  # doctest: +SKIP
        >>> captioner.tokenizer.decode([[4, 5, 3]])  # doctest: +SKIP
    """
    files = read_checkpoint_files(source)
    checkpoint = Checkpoint.of(files, WHAT)
    kind = checkpoint.settings.get("model_type")
    if not isinstance(kind, str) or kind not in CAPTIONERS:
        named = f"model_type {kind!r:.80}" if kind else "no model_type in config.json"
        raise checkpoint.refusal(f"{named}; known: {', '.join(CAPTIONERS)}")
    parts = CAPTIONERS[kind](checkpoint, files)
    _check_pictures(checkpoint, parts)
    search = search_of(checkpoint)
    given = len(prompt_ids(parts.tokenizer, prompt))
    longest = min(_longest(checkpoint, given), parts.decoder.max_sequence_length)
    prompt_ids(parts.tokenizer, prompt, longest)
    arrays = _projected(converted(checkpoint.path, parts.tensors, parts.plan, WHAT))
    model = captioner_of(parts.vision, parts.decoder)
    assign(encoder_weights(model.encoder.encoder), arrays)
    for name, variable in decoder_weights(model.decoder.decoder).items():
        if variable is not None:
            variable.assign(np.reshape(arrays[name], variable.shape))
    return PretrainedCaptioner(
        model, parts.tokenizer, parts.pictures, search, longest, kind, parts.ids.rows, prompt
    )


def captioner_of(vision, decoder) -> Captioner:
    """A built `Captioner` of a `VisionTransformerConfig` and a `TransformerConfig`."""
    encoder = VisionSequence(VisionTransformer(vision, name="vision"), name="encoder")
    head = TransformerCaptionDecoder(decoder, name="decoder")
    model = Captioner(encoder, head, vision.image_size, 0.0, name="captioner")
    model.build()
    return model


def _check_pictures(checkpoint, parts):
    """Raises ValueError for pictures of another size than the encoder's, or of none."""
    if parts.pictures is None:
        raise checkpoint.refusal("no preprocessor_config.json that says how pictures are resized")
    size = (parts.pictures.height, parts.pictures.width)
    if size != parts.vision.image_size:
        raise checkpoint.refusal(
            f"pictures of {size[0]}x{size[1]} of its processor, an encoder of pictures of "
            f"{parts.vision.image_size[0]}x{parts.vision.image_size[1]}"
        )


def _projected(arrays):
    """The arrays with a projection multiplied into the kernels that read it."""
    kernel, bias = arrays.pop("projection/kernel", None), arrays.pop("projection/bias", None)
    if kernel is None:
        return arrays
    projected = dict(arrays)
    for name, array in arrays.items():
        if name.endswith(("/cross/key_kernel", "/cross/value_kernel")):
            projected[name] = kernel @ array
            shift = name.replace("kernel", "bias")
            projected[shift] = arrays[shift] + bias @ array
    return projected


def _longest(checkpoint, given):
    """Maximum number of pieces of a caption, its end and the `given` ones of its prompt included.

    `max_length` of transformers counts the prompt and the start, `max_new_tokens` neither.
    """
    new, most = checkpoint.search("max_new_tokens"), checkpoint.search("max_length")
    if new is None and most is None:
        new = _NEW
    count = most if new is None else new
    if type(count) is not int or count < (2 if new is None else 1):
        raise checkpoint.refusal(f"max_length or max_new_tokens of {count!r}")
    return count - 1 if new is None else count + given
