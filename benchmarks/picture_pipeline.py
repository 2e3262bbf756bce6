"""Pictures a second from files to training batches, beside libjpeg-turbo alone.

Run as `python -m benchmarks.picture_pipeline`, or with `--data FOLDER` for pictures of one's own
(a data folder as of `keras-attn train`). Compared, in turns of several passes over the same files,
which are read once before, so that all find them in memory, on all cores that the process may use:

- keras-attn: the training data set of a recipe that reads pictures (`caption_batches`,
  batches of 16, shuffled, with their captions).
- libjpeg-turbo: as many threads as cores, each reads a file and decodes it to RGB, no more. Through
  simplejpeg (`pip install 'keras-attn[peers]'`), or Pillow where that is not installed.
- the same with Pillow's bilinear resizing to the model's size, where the pictures have another.
- tf.io.decode_jpeg in a plain tf.data pipeline, file to RGB in batches of 16, no more: what of the
  first is TensorFlow's. Where pictures differ in size it makes no batches.

Prints one table: pictures a second, the median over the turns of this rate by libjpeg-turbo's, and
microseconds of processor time a picture, of all threads, the same on a machine that does other
things too. A turn of ours and of TensorFlow's starts a data set, which takes up to 0.1 seconds:
`--passes 16` makes that little.
"""

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import tensorflow as tf
from PIL import Image

from benchmarks.made_up import write_caption_folder
from benchmarks.timing import answers_in_turns, clocked, ratio, table
from keras_attn.cores import cores
from keras_attn_pipelines.recipes.flickr8k import RECIPE
from keras_attn_pipelines.tasks.captioning.features import CaptionExamples, caption_batches

HEAD = ("pictures", "what", "pictures/s", "of libjpeg-turbo", "processor µs a picture")
OURS, RESIZED, TENSORFLOW = "keras-attn, file to batch", "{} + resizing", "tf.io.decode_jpeg"


def compare(folder, count: int, passes: int, repeats: int) -> list[list[str]]:
    """Rows of the table for the first `count` pictures of a data folder."""
    splits = RECIPE.source.read(folder).splits
    records = [record for split in splits.values() for record in split][:count]
    paths = [str(record.path) for record in records]
    sizes = {_size(path) for path in paths}
    size = (RECIPE.task.pictures.image_size,) * 2
    name, decode = peer()
    turn = paths * passes
    with ThreadPoolExecutor(cores()) as pool:
        works = {OURS: _ours(records, passes), name: lambda: _drain(pool, decode, turn)}
        if sizes != {size}:
            works[RESIZED.format(name)] = lambda: _drain(pool, _resized(decode, size), turn)
        works[TENSORFLOW] = _tensorflow(turn, RECIPE.fit.batch_size if len(sizes) == 1 else 0)
        clocks = {what: _clocked_twice(work) for what, work in works.items()}
        seconds = {
            what: np.array(times).T for what, times in answers_in_turns(clocks, repeats).items()
        }
    described = "various sizes" if len(sizes) > 1 else "{}×{}".format(*sizes.pop())
    label = f"{len(paths)}, {described}"
    return [
        [
            label,
            what,
            f"{len(turn) / np.median(wall):.0f}",
            f"{ratio(seconds[name][0], wall):.0%}",
            f"{np.median(processor) / len(turn) * 1e6:.0f}",
        ]
        for what, (wall, processor) in seconds.items()
    ]


def _clocked_twice(work):
    """A function that does a work and returns its seconds, and those of processor time."""

    def seconds():
        begin = time.process_time()
        wall = clocked(work)()
        return wall, time.process_time() - begin

    return seconds


def peer():
    """Name of a binding of libjpeg-turbo, and its function from JPEG bytes to an RGB array."""
    try:
        import simplejpeg
    except ImportError:
        return "libjpeg-turbo (Pillow)", _decode_by_pillow
    return "libjpeg-turbo (simplejpeg)", simplejpeg.decode_jpeg


def _decode_by_pillow(data):
    import io

    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def _resized(decode, size):
    def work(data):
        return np.asarray(Image.fromarray(decode(data)).resize(size, Image.Resampling.BILINEAR))

    return work


def _drain(pool, decode, paths):
    def work(path):
        with open(path, "rb") as file:
            return decode(file.read()).shape

    return list(pool.map(work, paths))


def _ours(records, passes):
    task, size = RECIPE.task, RECIPE.fit.batch_size
    tokenizer = RECIPE.work.learn(records)["tokenizer"]
    examples = CaptionExamples.of(records, tokenizer, task.captions_per_picture, task.lengths)
    picture_format = task.pictures.picture_format()
    batches = caption_batches(examples, records, picture_format, size, None, RECIPE.fit.seed)
    dataset = batches.training().take(passes * batches.steps)
    return lambda: _count(dataset)


def _tensorflow(paths, batch):
    def read(path):
        return tf.io.decode_jpeg(tf.io.read_file(path), channels=3)

    dataset = tf.data.Dataset.from_tensor_slices(paths)
    dataset = dataset.map(read, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = (dataset.batch(batch) if batch else dataset).prefetch(tf.data.AUTOTUNE)
    return lambda: _count(dataset)


def _count(dataset):
    return sum(1 for _ in dataset)


def _size(path):
    with Image.open(path) as image:
        return image.size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="data folder (default: drawn pictures)")
    parser.add_argument("--pictures", type=int, default=512, help="how many (default: 512)")
    parser.add_argument("--passes", type=int, default=4, help="over them in a turn (default: 4)")
    parser.add_argument("--repeats", type=int, default=11, help="turns (default: 11)")
    given = parser.parse_args()
    counts = given.pictures, given.passes, given.repeats
    rows = []
    if given.data:
        rows = compare(given.data, *counts)
    else:
        for size in ((224, 224), (500, 375)):
            with tempfile.TemporaryDirectory() as folder:
                write_caption_folder(Path(folder), given.pictures, size)
                rows += compare(folder, *counts)
    print(f"{cores()} cores, {given.repeats} turns\n\n{table(HEAD, rows)}")
