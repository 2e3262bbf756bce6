"""Why a picture is not read, in words; and the bounds on its size."""

MOST_PIXELS = 100_000_000
"""Width times height of the largest picture that is decoded: 300 MB as an array of RGB bytes."""
EMPTY = "zero bytes"
UNKNOWN = "not a JPEG, PNG, GIF, BMP or WebP"
TIFF, AVIF, HEIC = (f"{name}, {UNKNOWN}" for name in ("a TIFF", "an AVIF", "a HEIC"))
DAMAGED = "cannot be decoded: truncated or corrupt"
ANIMATED = "an animation, which is not supported (still GIF and WebP are)"
BMP_KIND = "a kind of BMP that is not supported (24 and 32 bits, uncompressed, are)"
TOO_LARGE = "pixels, more than the limit of"
"""After a picture's size, before the limit."""
