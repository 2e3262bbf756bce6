"""How the image processors of transformers resize pictures."""

from keras_attn.images.picture_format import PictureFormat

_KNOWN = {
    "do_resize": (True,),
    "do_center_crop": (None, False),
    "do_pad": (None, False),
    "do_rescale": (None, True),
    "resample": (2,),
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
        if settings.get(name, known[0]) not in known:
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
    return PictureFormat(*image_size)
