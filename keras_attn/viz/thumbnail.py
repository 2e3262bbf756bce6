"""Small pictures. Needs Pillow, not matplotlib."""

from keras_attn.extras import extra

with extra("pictures"):
    from PIL import Image

MOST_ASPECT = 4


def small(picture, pixels: int):
    """The picture as a PIL Image of at most `pixels` a side.

    Very wide and very tall ones are squashed to an aspect ratio of MOST_ASPECT.

    Args:
        picture: uint8 (height, width, 3).
        pixels: int.
    """
    image = Image.fromarray(picture)
    image.thumbnail((pixels, pixels))
    least = -(-max(image.size) // MOST_ASPECT)
    return image.resize([max(side, least) for side in image.size])
