"""Which rows each batch contains, as a function of the step."""

import numpy as np
import tensorflow as tf

FILLING = -1
"""In place of a row number: padding."""


class EpochPlan:
    """Batches of rows of equal length, as a function of the step.

    Step g belongs to epoch g // steps. Each epoch has every row once, in batches of rows of the
    same length; with a seed, the rows of a length and the batches are reshuffled in each epoch
    by a permutation that depends on seed and epoch alone. There is no state between steps.

    Args:
        lengths: int (R,). Length of each row.
        size: int, or a dict with one for each length. Rows per batch; a length's last batch is
            padded with FILLING.
        seed: int, or None for no shuffling.

    Attributes:
        steps: int. Batches in an epoch.
    """

    def __init__(self, lengths, size, seed=None):
        self.seed = seed
        known = np.unique(lengths)
        groups = [np.flatnonzero(lengths == length) for length in known]
        counts = [len(group) for group in groups]
        sizes = [size[length] if isinstance(size, dict) else size for length in known.tolist()]
        batches = [-(-count // own) for count, own in zip(counts, sizes)]
        self.steps = sum(batches)
        self._order = np.concatenate(groups).astype("int32")
        self._counts, self._batches = np.array(counts, "int64"), np.array(batches, "int64")
        self._sizes = np.array(sizes, "int64")

    def batch(self, step):
        """Row numbers int32 (size of their length,) of a step, an int64 scalar tensor."""
        epoch, place = step // self.steps, step % self.steps
        if self.seed is not None:
            place = self._shuffled(place, epoch, len(self._counts), self.steps)
        ends = tf.constant(np.cumsum(self._batches))
        group = tf.searchsorted(ends, place[None], side="right", out_type=tf.int64)[0]
        count = tf.gather(self._counts, group)
        size = tf.gather(self._sizes, group)
        first = (place - (ends[group] - tf.gather(self._batches, group))) * size
        place = first + tf.range(size, dtype=tf.int64)
        inside = tf.minimum(place, count - 1)
        if self.seed is not None:
            inside = self._shuffled(inside, epoch, group, count)
        start = tf.gather(np.cumsum(self._counts) - self._counts, group)
        rows = tf.numpy_function(self._order.take, [start + inside], tf.int32, stateful=False)
        rows.set_shape((None,))
        return tf.where(place < count, rows, FILLING)

    def _shuffled(self, index, epoch, group, count):
        """Where a permutation of `count` takes an index, int64."""
        which = epoch * (len(self._counts) + 1) + group
        seed = tf.stack([tf.constant(self.seed, tf.int64), tf.cast(which, tf.int64)])
        return tf.random.experimental.index_shuffle(index, seed, tf.cast(count, tf.int64) - 1)
