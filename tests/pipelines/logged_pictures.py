"""Pictures that a training has drawn for TensorBoard."""

import io

import numpy as np
import tensorflow as tf
from PIL import Image


def pictures_of(run) -> list[np.ndarray]:
    """uint8 (height, width, 3), in the order in which they were drawn; each shows something."""
    pictures = []
    for path in sorted((run.folder / "tensorboard" / "attention").glob("events*")):
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            for value in tf.compat.v1.Event.FromString(record).summary.value:
                encoded = value.tensor.string_val[2:]  # Width and height come first.
                pictures += [np.asarray(Image.open(io.BytesIO(each))) for each in encoded]
    assert all(len(np.unique(picture)) > 10 for picture in pictures)
    return pictures
