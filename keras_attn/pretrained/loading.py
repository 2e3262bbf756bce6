"""Any checkpoint that is known here."""

from keras_attn.pretrained.captioners import CAPTIONERS, load_captioner
from keras_attn.pretrained.dual_encoders import is_dual_encoder, load_dual_encoder
from keras_attn.pretrained.files import read_checkpoint_files
from keras_attn.pretrained.translator_sizes import KINDS
from keras_attn.pretrained.translators import load_translator
from keras_attn.pretrained.vision_transformer import load_image_classifier


def load(source, **choices):
    """A Keras model with the weights of a checkpoint, and its tokenizers if it has any.

    Args:
        source: file, folder or name on the Hugging Face hub, see `read_checkpoint_files`.
        **choices: of `load_translator`, `load_captioner` or `load_image_classifier`.

    Returns:
        `Translator` for Marian, M2M-100, NLLB, mBART-50, T5 and flan-T5; `PretrainedCaptioner` for
        captioners; `PretrainedDualEncoder` for CLIP with both its towers, unless a choice such as
        num_classes asks for a classifier; `ImageClassifier` for Vision Transformers.

    Raises:
        ImportError, OSError, ValueError: as those.
        TypeError: choices that the model does not have.

    Example:
        >>> model = load("Helsinki-NLP/opus-mt-en-de").model  # doctest: +SKIP
    """
    files = read_checkpoint_files(source)
    if is_captioner(files):
        return load_captioner(files, **choices)
    if is_translator(files):
        return load_translator(files, **choices)
    if is_dual_encoder(files) and not choices:
        return load_dual_encoder(files)
    return load_image_classifier(files, **choices)


def is_captioner(files) -> bool:
    """Whether `CheckpointFiles` say that they are a captioner's of a known kind."""
    return files.settings.get("model_type") in [*CAPTIONERS]


def is_translator(files) -> bool:
    """Whether `CheckpointFiles` are Marian's own, or say that they are a translator's."""
    is_marian = any(name.endswith("Wemb") for name in files.tensors)
    return is_marian or files.settings.get("model_type") in [*KINDS]
