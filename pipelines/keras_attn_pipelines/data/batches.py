"""Examples to batches: tf.data pipelines whose batches have a few fixed shapes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from keras_attn.contracts import IMAGE
from keras_attn.images.picture_format import PictureFormat
from keras_attn_pipelines.data.ahead import ahead
from keras_attn_pipelines.data.epoch_plan import EpochPlan
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.data.read_pictures import BATCHES, read_pictures


class Examples(Protocol):
    """Encoded examples that can be read in any order."""

    @property
    def features(self) -> Mapping[str, Feature]:
        """Declared shape and type of what `take` returns, without the batch axis."""

    @property
    def buckets(self) -> np.ndarray:
        """int (R,), the bucket of each row; a batch has rows of one bucket."""

    def take(self, rows: np.ndarray, step: int) -> Mapping[str, np.ndarray]:
        """The named features of rows from one bucket.

        Args:
            rows: int (B,), FILLING for padding; the first is never padding.
            step: the batch's number, for what is drawn anew in each batch.
        """


@dataclass(frozen=True)
class Batches:
    """Groups examples into batches.

    A batch depends on the seed and its step alone, so nothing else is needed to resume training. A
    bucket's last batch is padded to full size, with weight 0. Tables are read outside the
    graph, which keeps the graph small for any number of examples.

    Attributes:
        examples: `Examples`.
        sizes: rows per batch, or a dict with this number for each bucket.
        arrange: function from named features and the step, an int64 scalar, to the (inputs,
            targets, weights) of `fit`.
        seed: shuffling seed.
        paths: path of each row's picture, which is read as the feature IMAGE, or None. With paths,
            `sizes` is one number.
        picture_format: `PictureFormat` of the pictures.
    """

    examples: Examples
    sizes: int | Mapping[int, int]
    arrange: Callable[[Mapping[str, Any], Any], tuple[Any, Any, Any]]
    seed: int = 0
    paths: Sequence[str] | None = None
    picture_format: PictureFormat | None = None

    @property
    def steps(self) -> int:
        """Batches in one epoch."""
        return self._plan(None).steps

    def dataset(self) -> tf.data.Dataset:
        """A data set of what `arrange` returns, each example once, in order."""
        steps = tf.data.Dataset.range(self.steps)
        dataset = self._read(steps, self._plan(None))
        return dataset.apply(tf.data.experimental.assert_cardinality(self.steps))

    def training(self, start: int = 0) -> tf.data.Dataset:
        """Like `dataset`, but infinite, from a step on, and reshuffled in each epoch."""
        return self._read(tf.data.Dataset.range(start, tf.int64.max), self._plan(self.seed))

    def _plan(self, seed):
        return EpochPlan(self.examples.buckets, self.sizes, seed)

    def _read(self, steps, plan):
        def named(step):
            rows = plan.batch(step)
            features = self._features(rows, step)
            if self.paths is not None:
                features[IMAGE] = self._paths(rows)
            return features, step

        def arranged(features, step):
            if self.paths is not None:
                pictures = read_pictures(features[IMAGE], self.picture_format)
                features = {**features, IMAGE: pictures}
            return self.arrange(features, step)

        at_once = None if self.paths is None else BATCHES
        return ahead(steps.map(named).map(arranged, num_parallel_calls=at_once))

    # Converted by AutoGraph, what NumPy does for each row would take several times as long.
    @tf.autograph.experimental.do_not_convert
    def _paths(self, rows):
        """Row numbers int32 (B,) to paths, string (B,); '' for padding."""

        def look_up(rows):
            paths = [self.paths[row] if row >= 0 else "" for row in rows]
            return np.array([path.encode(errors="surrogateescape") for path in paths], object)

        paths = tf.numpy_function(look_up, [rows], tf.string, stateful=False)
        paths.set_shape((None,))
        return paths

    @tf.autograph.experimental.do_not_convert
    def _features(self, rows, step):
        """Row numbers int32 (B,) and the step, int64, to named features (B, …)."""
        declared = self.examples.features

        def take(rows, step):
            arrays = self.examples.take(rows, step)
            return [np.asarray(arrays[name], feature.dtype) for name, feature in declared.items()]

        types = [tf.as_dtype(feature.dtype) for feature in declared.values()]
        arrays = tf.numpy_function(take, [rows, step], types, stateful=False)
        for array, feature in zip(arrays, declared.values()):
            array.set_shape((None, *feature.shape))
        return dict(zip(declared, arrays))
