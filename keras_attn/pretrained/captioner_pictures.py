"""How the image processors of transformers resize pictures."""

from keras_attn.images.picture_format import PictureFormat
from keras_attn.images.resizing import BICUBIC, BILINEAR

_INTERPOLATIONS = {2: BILINEAR, 3: BICUBIC}
"""By the numbers that Pillow has for them."""
_KNOWN = {
    "do_resize": (True,),
    "do_center_crop": (False,),
    "do_pad": (False,),
    "do_rescale": (True,),
}


def picture_format_of(checkpoint, settings, image_size) -> PictureFormat:
    """The `PictureFormat` of preprocessor_config.json.

    Args:
        checkpoint: `Checkpoint`.
        settings: the contents of the file.
        image_size: (height, width) of the encoder's pictures.

    Raises:
        ValueError: no such file, another size or another way to resize.
    """
    if not settings:
        raise ValueError(
            f"Expected preprocessor_config.json in {str(checkpoint.folder)!r}, which says how "
            "pictures are resized. Received: no such file, or an empty one"
        )
    for name, known in _KNOWN.items():
        value = settings.get(name)
        if value is not None and value not in known:
            raise checkpoint.refusal(
                f"{name}={settings[name]!r:.80} in preprocessor_config.json, not "
                f"{' or '.join(map(repr, known))}"
            )
    size = settings.get("size")
    if isinstance(size, int):
        size = {"height": size, "width": size}
    if size != {"height": image_size[0], "width": image_size[1]}:
        raise checkpoint.refusal(
            f"size={size!r:.80} in preprocessor_config.json, of an encoder of pictures of "
            f"{image_size[0]}x{image_size[1]}"
        )
    resample = settings.get("resample")
    if resample not in _INTERPOLATIONS:
        raise checkpoint.refusal(
            f"resample={resample!r:.80} in preprocessor_config.json; known: 2, bilinear, and 3, "
            "bicubic"
        )
    return PictureFormat(*image_size, interpolation=_INTERPOLATIONS[resample])
