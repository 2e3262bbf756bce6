"""Rows that the signatures of any exported model can answer, for measurements of serving."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from benchmarks.made_up import captions, write_pictures
from keras_attn.contracts import CAPTION, FACTS, IMAGE, QUESTION, SOURCE, STORY, TARGET
from keras_attn.serving.warm_up import WARM_UP_FILE
from keras_attn.text.symbol_table import SymbolTable

VOCABULARY = Path("assets.extra", "words")
"""Of a question answerer, which knows no other words."""


def valid_rows(version, count: int, size=(48, 32)) -> dict[str, list[dict[str, Any]]]:
    """Rows for each signature of a SavedModel with warm-up requests.

    Pictures are drawn, texts of one to five words and facts made of random words, stories of the
    model's own; other inputs are those of the warm-up requests. Rows may still be too long for a
    model of toy sizes.

    Args:
        version: path of a version's folder.
        count: int > 0. Rows of a signature.
        size: (width, height) of pictures, pixels.

    Returns:
        dict from signature to rows, each a dict from input to bytes or an array of them.

    Raises:
        ValueError: no warm-up requests.
    """
    rows = {}
    for name, inputs in warm_up_requests(version):
        drawn = {
            key: _drawn(key, batch[0], Path(version), count, size) for key, batch in inputs.items()
        }
        rows[name] = [dict(zip(drawn, values)) for values in zip(*drawn.values())]
    return rows


def warm_up_requests(version) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Signature and inputs of each warm-up request of a version.

    Raises:
        ValueError: there are none.
    """
    path = Path(version) / WARM_UP_FILE
    if not path.is_file():
        raise ValueError(f"Expected warm-up requests in {version}. Received: none")
    requests = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        requests.append((request.model_spec.signature_name, inputs))
    return requests


def warm_up(servable) -> None:
    """Answers a model's warm-up requests one after the other, as TF Serving does while it loads.

    Python's TensorFlow prepares a function for each thread that calls it before it is ready: 32
    first calls at once took minutes, and gigabytes.

    Args:
        servable: `Servable` with its `folder`.
    """
    for signature, inputs in warm_up_requests(servable.folder):
        servable.outputs(signature, inputs)


def _drawn(name, first, version, count, size):
    """The values of an input, of which the warm-up request has the first."""
    texts = [text.encode() for text in captions(3 * count, seed=len(name))]
    if name == IMAGE:
        with tempfile.TemporaryDirectory() as folder:
            return [path.read_bytes() for path in write_pictures(folder, count, size)]
    if name in (SOURCE, TARGET, CAPTION):
        return [b" ".join(text.split()[: 1 + row % 5]) for row, text in enumerate(texts[:count])]
    if name == FACTS:
        words = [text.split()[0] for text in texts]
        return [np.array([words[3 * row : 3 * row + 3]], object) for row in range(count)]
    if name in (STORY, QUESTION):
        words = [word.encode() for word in SymbolTable.load(version / VOCABULARY).names]
        random = np.random.default_rng(count)
        return [b" ".join(random.choice(words, 4)) for _ in range(count)]
    return [first] * count
