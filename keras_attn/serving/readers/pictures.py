"""Encoded pictures as inputs of a service."""

from dataclasses import dataclass, replace

from keras_attn.contracts import IMAGE, MISSING_ROWS
from keras_attn.images.picture_format import PictureFormat
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.readers.reader import Read, Reader
from keras_attn.serving.warm_up import warm_up_picture
from keras_attn.viz.declared.notes import Note

CUT_NOTE = Note(
    MISSING_ROWS,
    "the picture is cut short: its last {count} rows are missing",
    "the picture is cut short near its end",
)


@dataclass(frozen=True)
class PictureReader(Reader):
    """Encoded pictures to pixels.

    A picture that cannot be read is black.

    Attributes:
        picture_format: `PictureFormat`, as in training.
    """

    picture_format: PictureFormat
    notes = (CUT_NOTE,)

    @property
    def examples(self):
        return {IMAGE: warm_up_picture()}

    def read(self, image):
        """See `Reader`: of encoded pictures, string (B,)."""
        pictures, readable, reasons, missing = self.picture_format.decode_with_missing_rows(image)
        counts, shown = tf.cast(readable, tf.int32), {MISSING_ROWS: missing}
        return Read({IMAGE: pictures}, reasons, counts, shown)

    def metadata(self):
        pictures = self.picture_format
        return {
            "image_size": [pictures.height, pictures.width],
            "fit": pictures.fit,
            "interpolation": pictures.interpolation,
            "resized_edge": pictures.resized_edge,
            "max_pixels": pictures.max_pixels,
        }


def with_max_pixels(service, max_pixels: int) -> None:
    """Sets the largest picture that a service decodes.

    Raises:
        ValueError: a size out of range, or a service that takes no pictures.
    """
    reader = getattr(service, "reader", None)
    if not isinstance(reader, PictureReader):
        raise ValueError(
            "Expected max_pixels only for a model that takes pictures. "
            f"Received: max_pixels={max_pixels}"
        )
    service.reader = PictureReader(replace(reader.picture_format, max_pixels=max_pixels))
