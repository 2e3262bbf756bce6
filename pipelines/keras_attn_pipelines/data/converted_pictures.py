"""Pictures that TensorFlow cannot decode, converted once to PNG by Pillow.

The PNG lies in the cache under the digest of the original. It is lossless, upright, and keeps its
transparency, so that it is laid over white as any PNG is.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_attn.images.formats.reasons import AVIF, BMP_KIND, HEIC, MOST_PIXELS, TIFF, TOO_LARGE
from keras_attn.progress import Progress
from keras_attn.whole_file import made_folder, whole_file
from keras_attn_pipelines.data.picture_check import Examined, examine_pictures, picture_cache

EXTRA = "heif"


class Format(NamedTuple):
    """A format that is converted.

    Attributes:
        name: its name in messages.
        plugin: Pillow's name of it.
        needs: what has to be installed.
    """

    name: str
    plugin: str
    needs: str


FORMATS = {
    TIFF: Format("TIFF", "TIFF", "Pillow"),
    AVIF: Format("AVIF", "AVIF", "Pillow 11.3 or newer"),
    HEIC: Format("HEIC", "HEIF", "pillow-heif"),
    BMP_KIND: Format("BMP", "BMP", "Pillow"),
}
"""The formats by the reason for which their pictures are not read."""


def convert_pictures(
    examined: Mapping[Path, Examined], cache=None
) -> dict[Path, tuple[Path, Examined]]:
    """Converts the examined pictures of FORMATS, except those converted before.

    Args:
        examined: of `examine_pictures`.
        cache: as of `examine_pictures`.

    Returns:
        dict from the path of each such picture to that of its PNG, and what became of it: the
        digest is the original's, and the reason says why it could not be converted.
    """
    folder = picture_cache(cache) / "converted"
    known = {path: state for path, state in examined.items() if state.reason in FORMATS}
    targets = {path: folder / f"{state.digest}.png" for path, state in known.items()}
    written = {target for target in targets.values() if target.is_file()}
    sound = _sound(written, folder, cache)
    reasons, new = {}, {path: target for path, target in targets.items() if target not in sound}
    for path, target in Progress.over(new.items(), "converting pictures", "picture", bool(new)):
        if target not in reasons:
            reasons[target] = _convert(path, target, FORMATS[known[path].reason])
    sound |= _sound({target for target, reason in reasons.items() if not reason}, folder, cache)
    converted = {}
    for path, target in targets.items():
        reason = reasons.get(target) or ("" if target in sound else known[path].reason)
        converted[path] = target, Examined(reason, known[path].digest)
    return converted


def _sound(paths, folder, cache):
    """Those of some converted pictures that can be read."""
    examined = examine_pictures(sorted(paths), folder, cache) if paths else {}
    return {path for path, state in examined.items() if not state.reason}


def _convert(path, target, kind: Format) -> str:
    """Writes a picture as PNG; returns why it cannot, or ''."""
    if not _is_installed(kind):
        return f"{kind.name}, which needs {kind.needs}: pip install 'keras-attn[{EXTRA}]'"
    from PIL import Image

    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(path, formats=[kind.plugin]) as image,
        ):
            if reason := _refusal(image, kind.name):
                return reason
            upright = _for_png(image)
        with whole_file(made_folder(target.parent) / target.name) as partial:
            upright.save(partial, "PNG", compress_level=1)
    except Exception as error:  # A decoder of damaged bytes may raise anything.
        return f"{kind.name}, which Pillow cannot convert: {error}"
    return ""


def _is_installed(kind):
    """Whether Pillow reads a format; it is taught HEIC by a package of its own."""
    try:
        from PIL import Image

        if kind.plugin == "HEIF":
            from pillow_heif import register_heif_opener

            register_heif_opener()
    except ImportError:
        return False
    Image.init()
    return kind.plugin in Image.OPEN


def _refusal(image, kind):
    width, height = image.size
    if (frames := getattr(image, "n_frames", 1)) > 1:
        return f"{kind} of {frames} frames, of which only one is supported"
    if width * height > MOST_PIXELS:
        return f"{width}x{height} {TOO_LARGE} {MOST_PIXELS}"
    if image.mode in ("I", "F"):
        return f"{kind} of 32 bits a channel, of which 8 and 16 are supported"
    return ""


def _for_png(image):
    """A Pillow image, upright, of a mode that PNG has."""
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16"):
        return Image.fromarray(np.asarray(image).astype("uint16"))
    is_transparent = (
        image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info
    )
    return image.convert("RGBA" if is_transparent else "RGB")
