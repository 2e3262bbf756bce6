"""Captions a second of an exported model, from JPEG bytes to text, and where the time goes.

Run as `python -m benchmarks.serving_rate`. It exports a captioner twice, greedy and with a beam of
4, loads both with tf.saved_model.load and asks `serving_default`. `--run RUN` takes the captioner
of a run directory; otherwise it is the flickr8k recipe's, untrained and kept from ending: every
caption has the greatest length, 40 pieces, which is the worst case. Pictures are drawn JPEGs of
500×375 pixels, or with `--data FOLDER` those of a data folder.

Each turn asks both exports about the same pictures, and measures the parts beside them, as
functions of the same model: decoding (and resizing) the pictures, the encoder, the search. The
last columns are the medians over the turns of a part's seconds by the whole's; what is missing to
100 % is text and the graph's own cost. Steps: pieces of the longest caption of a batch, in the
mean, which is how often a greedy search goes round.
"""

import argparse
import copy
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks.made_up import UNTRAINED, captions, drawn_pictures
from benchmarks.timing import in_turns, over, ratio, table
from keras_attn.contracts import END_ID
from keras_attn.cores import cores
from keras_attn.decoding import Beam, Greedy, decode
from keras_attn.serving import GenerationService, export_service
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.runs.run import Run

PARTS = ("decoding", "encoder", "search")
HEAD = ("strategy", "batch", "captions/s", "ms a batch", "steps", *PARTS)
SAMPLES = 512


def untrained(recipe) -> GenerationService:
    """A recipe's service with random weights whose captions do not end before they have to."""
    task = recipe.task
    tokenizer = Tokenizer.learn(captions(SAMPLES), task.pieces.vocabulary_size)
    sizes = {"tokenizer": tokenizer.vocabulary_size}
    model = recipe.model.build(task.features(), sizes, recipe.fit.seed).model
    kernel, bias = model.decoder.logits.get_weights()
    bias[END_ID] = -1e3
    model.decoder.logits.set_weights([kernel, bias])
    return recipe.work.service(model, {"tokenizer": tokenizer}, recipe.model)


def compare(service: GenerationService, pictures, batches, width: int, repeats: int) -> str:
    """The table for a service, asked about encoded pictures in batches of these sizes."""
    alpha = getattr(service.strategy, "alpha", 0.0)
    strategies = {"greedy": Greedy(), f"beam {width}": Beam(width, alpha)}
    with tempfile.TemporaryDirectory() as folder:
        exports = {
            name: exported(service, value, Path(folder) / str(index))
            for index, (name, value) in enumerate(strategies.items())
        }
        rows = [
            row
            for batch in batches
            for row in _rows(service, exports, strategies, _batches(pictures, batch), repeats)
        ]
    head = f"{cores()} cores, {repeats} turns of {len(pictures)} pictures"
    return f"{head}\n\n{table(HEAD, rows)}"


def exported(service, strategy, folder):
    """`serving_default` of an export with another strategy, loaded."""
    other = copy.copy(service)
    other.strategy = strategy
    loaded = tf.saved_model.load(str(export_service(other, folder, "A benchmark.")))
    return loaded, loaded.signatures["serving_default"]


def _batches(pictures, size):
    return [tf.constant(pictures[start : start + size]) for start in range(0, len(pictures), size)]


def _rows(service, exports, strategies, batches, repeats):
    """One row a strategy; the parts before the search are the same for all, and measured once."""
    decoded, encoded = _parts(service)
    images = [decoded(batch) for batch in batches]
    features = [encoded(batch) for batch in images]
    works = {"decoding": over(batches, decoded), "encoder": over(images, encoded)}
    searches = {name: _search(service, value) for name, value in strategies.items()}
    for name, (_, signature) in exports.items():
        works[f"{name} search"] = over(features, searches[name])
        works[name] = over(batches, lambda pictures, ask=signature: ask(image=pictures))
    seconds = in_turns(works, repeats)
    size = batches[0].shape[0]
    for name, search in searches.items():
        whole, parts = seconds[name], ("decoding", "encoder", f"{name} search")
        steps = np.mean([search(feature).lengths.numpy().max() for feature in features])
        count = sum(batch.shape[0] for batch in batches)
        shares = [f"{ratio(seconds[part], whole):.0%}" for part in parts]
        rate, time = count / np.median(whole), 1000 * np.median(whole) / len(batches)
        yield [name, size, f"{rate:.1f}", f"{time:.0f}", f"{steps:.1f}", *shares]


def _parts(service):
    """Functions of the graph: string (B,) to pictures, pictures to features."""
    form = service.reader.picture_format

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string)], autograph=False)
    def decoded(data):
        return form.decode_batch(data)[0]

    size = form.height, form.width

    @tf.function(input_signature=[tf.TensorSpec((None, *size, 3), tf.uint8)], autograph=False)
    def encoded(images):
        return service.model.encode(images, training=False)

    return decoded, encoded


def _search(service, strategy):
    """A function of the graph: features to a `DecodeResult`."""
    spec = tf.TensorSpec((None, *service.model.feature_shape), tf.float32)

    @tf.function(input_signature=[spec], autograph=False)
    def search(features):
        decoder = service.model.decoder
        return decode(decoder, features, strategy, service.length.most, with_weights=False)

    return search


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", help="run directory (default: an untrained captioner)")
    parser.add_argument("--data", help="data folder (default: drawn pictures)")
    parser.add_argument("--pictures", type=int, default=32, help="in a turn (default: 32)")
    parser.add_argument("--repeats", type=int, default=9, help="turns (default: 9)")
    given = parser.parse_args()
    service = Run(given.run).service() if given.run else untrained(UNTRAINED)
    if given.data:
        recipe = Run(given.run).experiment() if given.run else UNTRAINED
        splits = recipe.source.read(given.data).splits
        records = [record for split in splits.values() for record in split]
        pictures = [record.path.read_bytes() for record in records[: given.pictures]]
    else:
        pictures = drawn_pictures(given.pictures, (500, 375))
    print(compare(service, pictures, (1, 32), 4, given.repeats))
