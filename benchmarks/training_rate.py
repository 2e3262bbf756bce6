"""How fast the flickr8k recipe trains on cached features, and what of the machine that takes.

Run as `python -m benchmarks.training_rate`; `--data FOLDER` takes captions and cached features of
one's own instead of random ones, `--peer-python PYTHON` a Python with torch for the peer. All in
float32, on the same cores and in turns, each of which is one epoch of the same batches:

- model.fit: the whole way, data set included.
- the step alone: the same function on batches that lie ready.
- its products alone: matrices of the shapes that the step multiplies, as often as it does, forward
  and backward (`step_operations`). What remains of the step is tanh, softmax, Adam and so on.
- matmul: two 2048×2048 matrices, what this machine's TensorFlow reaches at its best.
- torch: the same decoder as it is usually written in PyTorch (`torch_captioner`).

GFLOP/s counts the matrix products of the step only, a multiplication and an addition as two. The
last column is the median over the turns of a row's rate by matmul's.
"""

import argparse
import contextlib
import tempfile
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.made_up import UNTRAINED, captions
from benchmarks.race import python_with
from benchmarks.step_operations import counted, operations, square
from benchmarks.timing import in_turns, ratio, table
from benchmarks.worker import Worker
from keras_attn.contracts import TOKENS
from keras_attn.cores import cores
from keras_attn_pipelines.data.picture_folder import CaptionedPicture
from keras_attn_pipelines.data.user_cache import user_cache
from keras_attn_pipelines.recipes.flickr8k import RECIPE
from keras_attn_pipelines.tasks.captioning.feature_cache import cached_features
from keras_attn_pipelines.tasks.captioning.features import CaptionExamples, caption_batches

HEAD = ("what", "captions/s", "pictures/s", "ms a step", "GFLOP/s", "of matmul")
FIT, STEP, PRODUCTS, TORCH, MATMUL = (
    "model.fit, cached features",
    "the step alone",
    "its products alone",
    "torch, the step alone",
    "matmul",
)
SQUARES = 5
"""Products of the largest matrices in a turn."""
EPOCH = "epoch"
"""The work of `torch_captioner`."""


class Training:
    """A model with an epoch of batches, to be trained as often as one likes.

    Args:
        recipe: experiment of `ShowAttendTell` with soft attention and projected features.
        records: the pictures.
        features: float16 (pictures, S, D).
        tokenizer: `Tokenizer`, or None to learn it.
    """

    def __init__(self, recipe, records, features, tokenizer=None):
        self.recipe, self.records = recipe, records
        task, work, fit = recipe.task, recipe.work, recipe.fit
        tokenizer = tokenizer or work.learn(records)["tokenizer"]
        examples = CaptionExamples.of(records, tokenizer, task.captions_per_picture, task.lengths)
        examples = replace(examples, encoded=features)
        batches = caption_batches(examples, records, None, fit.batch_size, None, fit.seed)
        self.data, self.steps = batches.training(), batches.steps
        sizes = {"tokenizer": tokenizer.vocabulary_size}
        built = recipe.model.build(task.features(), sizes, fit.seed)
        self.model, steps = built.model, 1000 * self.steps
        objective = work.objective(self.model, None, steps, fit.seed)
        self.model.compile(
            optimizer=recipe.optimizer.build(steps, built.slow_layers),
            loss=objective.loss,
            weighted_metrics=objective.metrics,
            jit_compile=False,
        )
        self.ready = self.data.take(self.steps).cache()
        batches = {inputs[TOKENS].shape[2]: (inputs, *given) for inputs, *given in self.ready}
        self.lengths = [inputs[TOKENS].shape[2] for inputs, *_ in self.ready]
        counts = {
            length: counted(partial(self.model.train_step, batch))
            for length, batch in batches.items()
        }
        self.multiplied = sum((counts[length] for length in self.lengths), Counter())

    @property
    def shape(self):
        """B and C."""
        return self.recipe.fit.batch_size, self.recipe.task.captions_per_picture

    def fit(self):
        """Trains an epoch."""
        options = {"steps_per_epoch": self.steps, "shuffle": False, "verbose": 0}
        self.model.fit(self.data, **options)

    def step(self):
        """As `fit`, on batches that lie ready."""
        iterator = iter(self.ready)
        self.model.make_train_function()
        for _ in range(self.steps):
            logs = self.model.train_function(iterator)
        float(logs["loss"])

    def products(self):
        """Multiplies what an epoch multiplies."""
        for product, times in self.multiplied.items():
            product.run(times)

    @contextlib.contextmanager
    def peer(self, python):
        """A function that trains an epoch of batches of the same sizes, in another process.

        Raises:
            ValueError: `python` has no torch.
        """
        if python_with("torch", [python]) is None:
            raise ValueError(f"Expected a Python with torch. Received: {python}")
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            with Worker(python, "benchmarks.torch_captioner", self._sizes(), log) as worker:
                yield lambda: worker.do(EPOCH)

    def _sizes(self):
        config, values = self.model.decoder.config, self.recipe.values()
        locations, given = self.model.feature_shape
        return {
            "cores": cores(),
            "pictures": values["batch_size"],
            "captions": values["captions_per_picture"],
            "lengths": self.lengths,
            "locations": locations,
            "input_features": given,
            "features": config.feature_dim,
            "hidden": config.hidden_dim,
            "embedding": config.embedding_dim,
            "attention": values["attention_dim"],
            "vocabulary": config.vocabulary_size,
            "dropout": values["dropout"],
            "label_smoothing": values["label_smoothing"],
            "clip_norm": values["clip_norm"],
        }


def compare(training: Training, repeats: int, peer_python=None, size: int = 2048) -> str:
    """The table, and what it counts."""
    product = square(size)
    works = {FIT: training.fit, STEP: training.step, PRODUCTS: training.products}
    with contextlib.ExitStack() as stack:
        if peer_python:
            works[TORCH] = stack.enter_context(training.peer(peer_python))
        seconds = in_turns({**works, MATMUL: partial(product.run, SQUARES)}, repeats)
    done = dict.fromkeys(works, operations(training.multiplied))
    done[MATMUL] = SQUARES * product.operations
    rates = {what: done[what] / value / 1e9 for what, value in seconds.items()}
    rows = [_row(training, what, seconds[what], rates) for what in seconds]
    mean = done[FIT] / training.steps / 1e9
    return (
        f"{cores()} cores, {repeats} turns of {training.steps} steps of "
        f"{'×'.join(map(str, training.shape))} captions, mean length "
        f"{np.mean(training.lengths):.1f}: {mean:.2f} GFLOP a step\n\n{table(HEAD, rows)}"
    )


def _row(training, what, seconds, rates):
    middle = np.median(seconds)
    cells = ["", "", ""]
    if what in (FIT, STEP, TORCH):
        written = sum(len(record.captions) for record in training.records)
        cells[:2] = f"{written / middle:.0f}", f"{len(training.records) / middle:.0f}"
    if what != MATMUL:
        cells[2] = f"{1000 * middle / training.steps:.0f}"
    rate = np.median(rates[what])
    return [what, *cells, f"{rate:.0f}", f"{ratio(rates[what], rates[MATMUL]):.0%}"]


def made_up(recipe, count: int) -> Training:
    """Random features and captions of the recipe's shapes."""
    each, random = recipe.task.captions_per_picture, np.random.default_rng(0)
    texts = captions(count * each)
    records = [
        CaptionedPicture(str(row), Path(str(row)), tuple(texts[row * each : (row + 1) * each]), "")
        for row in range(count)
    ]
    size = recipe.task.pictures.image_size
    grid = recipe.model.encoder.build(size).compute_output_shape((None, size, size, 3))
    features = random.random((count, grid[1] * grid[2], grid[3]), "float32").astype("float16")
    return Training(recipe, records, features)


def read(folder, count: int, cache=None) -> Training:
    """The first training pictures of a data folder."""
    records = RECIPE.source.read(folder).splits["train"]
    pictures, tokenizer = RECIPE.task.pictures, RECIPE.work.learn(records)["tokenizer"]
    encoder = RECIPE.model.encoder.build(pictures.image_size)
    encoder.build((None, pictures.image_size, pictures.image_size, 3))
    cache = cache or user_cache() / "features"
    features = cached_features(records, encoder, pictures.picture_format(), cache)
    return Training(RECIPE, records[:count], features[:count], tokenizer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="data folder (default: random features and captions)")
    parser.add_argument("--cache", help="folder of the feature cache")
    parser.add_argument("--pictures", type=int, default=320, help="in an epoch (default: 320)")
    parser.add_argument("--repeats", type=int, default=9, help="turns (default: 9)")
    parser.add_argument("--peer-python", metavar="PYTHON", help="one with torch, for the peer")
    given = parser.parse_args()
    if given.data:
        training = read(given.data, given.pictures, given.cache)
    else:
        training = made_up(UNTRAINED, given.pictures)
    print(compare(training, given.repeats, given.peer_python))
