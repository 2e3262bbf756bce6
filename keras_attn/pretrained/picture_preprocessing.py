"""How a checkpoint wants its pictures: preprocessor_config.json of transformers."""

import math
from typing import NamedTuple

from keras_attn.images.picture_format import SHORTEST_EDGE, SQUASH, PictureFormat
from keras_attn.images.resizing import BICUBIC, BILINEAR
from keras_attn.pretrained.files import PREPROCESSING
from keras_attn.pretrained.tensors import refusal

VIT, CLIP, SIGLIP, BIT, DEIT, DINOV3, BLIP = (
    f"{name}ImageProcessor"
    for name in ("ViT", "CLIP", "Siglip", "Bit", "DeiT", "DINOv3ViT", "Blip")
)
_HALF = (0.5, 0.5, 0.5)
_IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
_CLIP_DEVIATION = (0.26862954, 0.26130258, 0.27577711)
_INTERPOLATIONS = {2: BILINEAR, 3: BICUBIC}
"""By Pillow's numbers."""
_STEPS = ("do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb")


class _Defaults(NamedTuple):
    """What a kind of processor does where its file does not say so."""

    size: dict[str, int]
    crop_size: int | None
    resample: int
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]


_SQUARE, _SHORTEST = {"height": 224, "width": 224}, {"shortest_edge": 224}
_PROCESSORS = {
    VIT: _Defaults(_SQUARE, None, 2, _HALF, _HALF),
    CLIP: _Defaults(_SHORTEST, 224, 3, _CLIP_MEAN, _CLIP_DEVIATION),
    SIGLIP: _Defaults(_SQUARE, None, 3, _HALF, _HALF),
    BIT: _Defaults(_SHORTEST, 224, 3, _CLIP_MEAN, _CLIP_DEVIATION),
    DEIT: _Defaults({"height": 256, "width": 256}, 224, 3, _HALF, _HALF),
    DINOV3: _Defaults(_SQUARE, None, 2, *_IMAGENET),
    BLIP: _Defaults({"height": 384, "width": 384}, None, 3, _CLIP_MEAN, _CLIP_DEVIATION),
}


def pixel_normalization(files, processor):
    """`pixel_mean` and `pixel_deviation` of a `VisionTransformerConfig`.

    Args:
        files: `CheckpointFiles`.
        processor: kind of processor where the file does not say it.

    Raises:
        ValueError: pixels that are not divided by 255, or an unknown processor that does not say
            its mean and deviation.
    """
    chosen = files.preprocessing
    factor = chosen.get("rescale_factor", 1 / 255) if chosen.get("do_rescale", True) else 1.0
    if not math.isclose(factor, 1 / 255, rel_tol=1e-3):
        raise refusal(files.path, f"pixels times {factor} in {PREPROCESSING}, not / 255")
    if not chosen.get("do_normalize", True):
        return {"pixel_mean": (0.0,) * 3, "pixel_deviation": (1.0,) * 3}
    mean, deviation = chosen.get("image_mean"), chosen.get("image_std")
    if mean is None or deviation is None:
        defaults = _defaults(files, processor)
        mean = defaults.mean if mean is None else mean
        deviation = defaults.deviation if deviation is None else deviation
    return {"pixel_mean": mean, "pixel_deviation": deviation}


def picture_format(files, processor):
    """`PictureFormat` of a checkpoint's processor; None where the files do not say how pictures
    are resized.

    Args:
        files: `CheckpointFiles`.
        processor: kind of processor where the file does not say it.

    Raises:
        ValueError: an unknown processor, or pictures that are resized otherwise than a
            `PictureFormat` can say.
    """
    chosen, path = files.preprocessing, files.path
    if not chosen or not chosen.get("do_resize", True):
        return None
    defaults = _defaults(files, processor)
    steps = [name for name, value in chosen.items() if name.startswith("do_") and value]
    if other := sorted(set(steps) - set(_STEPS)):
        raise refusal(path, f"{', '.join(other)} in {PREPROCESSING}, which is not known here")
    resample = chosen.get("resample", defaults.resample)
    if resample not in [*_INTERPOLATIONS] or isinstance(resample, bool):
        raise refusal(
            path, f"resample={resample!r} in {PREPROCESSING}, not 2 (bilinear) or 3 (bicubic)"
        )
    try:
        return _format(chosen, defaults, _INTERPOLATIONS[resample])
    except (KeyError, TypeError, ValueError) as error:
        raise refusal(path, f"size or crop_size in {PREPROCESSING}: {error}") from error


def _defaults(files, processor):
    """`_Defaults` of the kind of processor that the file names."""
    chosen = files.preprocessing
    named = chosen.get("image_processor_type") or chosen.get("feature_extractor_type") or processor
    kind = str(named).replace("FeatureExtractor", "ImageProcessor")
    kind = kind.removesuffix("Fast").removesuffix("Pil")
    if kind not in _PROCESSORS:
        raise refusal(files.path, f"{named!r} in {PREPROCESSING}; known: {', '.join(_PROCESSORS)}")
    return _PROCESSORS[kind]


def _format(chosen, defaults, interpolation):
    """`PictureFormat` of settings; KeyError, TypeError or ValueError for unknown sizes."""
    size, crop = chosen.get("size", defaults.size), None
    if isinstance(size, int):  # As earlier versions wrote it.
        size = {"shortest_edge": size} if "shortest_edge" in defaults.size else _both(size)
    if chosen.get("do_center_crop", defaults.crop_size is not None):
        crop = chosen.get("crop_size", defaults.crop_size)
        crop = _both(crop) if isinstance(crop, int) else crop
        crop = (crop["height"], crop["width"])
    if set(size) == {"shortest_edge"} and crop:
        edge = size["shortest_edge"]
        edge = None if edge == max(crop) else edge
        return PictureFormat(*crop, SHORTEST_EDGE, interpolation=interpolation, resized_edge=edge)
    if set(size) != {"height", "width"}:
        raise ValueError(f"{size}, and {'a' if crop else 'no'} center crop")
    whole = (size["height"], size["width"])
    if crop is None or crop == whole:
        return PictureFormat(*whole, SQUASH, interpolation=interpolation)
    edge = min(whole)
    if tuple(side * edge // min(crop) for side in crop) != whole:
        raise ValueError(f"{whole[0]}x{whole[1]} resized, {crop[0]}x{crop[1]} cut out of it")
    return PictureFormat(*crop, SQUASH, interpolation=interpolation, resized_edge=edge)


def _both(side):
    return {"height": side, "width": side}
