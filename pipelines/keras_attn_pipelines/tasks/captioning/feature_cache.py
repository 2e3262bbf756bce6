"""Features of a frozen encoder, computed once and cached on disk."""

import contextlib
import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_attn.images.formats.reasons import MOST_PIXELS
from keras_attn.images.picture_format import PictureFormat
from keras_attn.ops.compiled import compiled
from keras_attn.progress import Progress
from keras_attn.whole_file import made_folder, whole_file
from keras_attn_pipelines.data.picture_folder import CaptionedPicture


def cached_features(
    records: Sequence[CaptionedPicture],
    encoder,
    picture_format: PictureFormat,
    folder,
    batch: int = 32,
):
    """Features of all pictures, read from the cache or computed and cached.

    The cache key is a digest of the pictures' bytes, the encoder's config and weights and the
    picture format, so stale features are never read.

    Args:
        records: the pictures.
        encoder: frozen layer, uint8 (B, height, width, 3) to (B, grid height, grid width, D), or
            to (B, S, D).
        picture_format: `PictureFormat`.
        folder: path of the cache.
        batch: int. Batch size.

    Returns:
        float16 memory map (len(records), S, D).

    Raises:
        ValueError: a picture cannot be read, or a feature does not fit into float16.
        OSError: the features cannot be written; a partial file is removed.
    """
    folder = Path(folder)
    path = folder / f"{_digest(records, encoder, picture_format)}.npy"
    if not path.exists():
        made_folder(folder)
        _compute(records, encoder, picture_format, path, batch)
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _compute(records, encoder, picture_format, path, batch):
    """Writes the features sequentially; with a memory map a full disk would kill the process."""
    size = (picture_format.height, picture_format.width)
    _, *places, units = encoder.compute_output_shape((None, *size, 3))
    shape = (len(records), math.prod(places), units)
    header = {"descr": "<f2", "fortran_order": False, "shape": shape}
    with whole_file(path) as partial:
        with _writing(path, shape), open(partial, "ab") as file:
            np.lib.format.write_array_header_1_0(file, header)
        for rows in _encoded(records, encoder, picture_format, batch):
            with _writing(path, shape), open(partial, "ab") as file:
                file.write(rows.astype("<f2").tobytes())


@contextlib.contextmanager
def _writing(path, shape):
    """Context in which a failed write raises an error with path and size."""
    try:
        yield
    except OSError as error:
        size = f"{2 * math.prod(shape):,} bytes"
        raise OSError(
            f"Expected to write {size} of features to {path}. Received: {error.strerror}"
        ) from error


def _encoded(records, encoder, picture_format, batch):
    """Yields the features of each batch of pictures, float (pictures, S, D)."""
    encode = compiled(lambda images: encoder(images, training=False), encoder)
    with Progress("extracting features", len(records), "picture") as progress:
        for start in range(0, len(records), batch):
            chunk = records[start : start + batch]
            rows = keras.ops.convert_to_numpy(encode(_pictures(chunk, picture_format, batch)))
            rows = rows[: len(chunk)].reshape(len(chunk), -1, rows.shape[-1])
            if not np.abs(rows).max() < np.finfo("float16").max:
                raise ValueError(
                    f"Expected features within float16. Received: {np.abs(rows).max()} in one "
                    f"of the {len(chunk)} pictures from {chunk[0].path} on"
                )
            yield rows
            progress.update(len(chunk))


def _pictures(chunk, picture_format, batch):
    """uint8 (batch, height, width, 3), padded with zeros so that one graph serves all chunks."""
    data = [record.path.read_bytes() for record in chunk]
    files = picture_format.for_batches(batch, MOST_PIXELS)  # As `decode`, without limits.
    pictures, _, reasons = files.decode_batch(tf.constant(data))
    bad = [f"{record.path}: {why.decode()}" for record, why in zip(chunk, reasons.numpy()) if why]
    if bad:
        raise ValueError(f"Expected pictures that can be read. Received: {', '.join(bad)}")
    return tf.pad(pictures, [[0, batch - len(chunk)], [0, 0], [0, 0], [0, 0]])


def _digest(records, encoder, picture_format):
    digest = hashlib.sha256()
    config = {**encoder.get_config(), "name": None, "trainable": None}
    digest.update(json.dumps([config, repr(picture_format)], sort_keys=True, default=str).encode())
    for weight in encoder.weights:
        digest.update(keras.ops.convert_to_numpy(weight).tobytes())
    for record in records:
        digest.update(bytes.fromhex(record.digest))
    return digest.hexdigest()[:32]
