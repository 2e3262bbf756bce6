"""What is drawn for each batch, and its seeds."""

import tensorflow as tf

DRAWS = ("names", "pieces", "left out")
"""What is drawn, each with a seed of its own."""


def batch_seed(seed: int, step, draw: str):
    """Stateless seed, int32 (2,), which the seed of a run, the step and the draw determine.

    Args:
        seed: int.
        step: int64 scalar.
        draw: of `DRAWS`.
    """
    seeds = tf.stack([tf.constant(seed, tf.int64), tf.cast(step, tf.int64)])
    return tf.random.fold_in(seeds, DRAWS.index(draw))


def random_names(nodes, share: float, seed):
    """Which names of each set are drawn: bool (B, N), by their numbers.

    Args:
        nodes: int32 (B, S), see `FactTokens`.
        share: probability of each.
        seed: see `batch_seed`.
    """
    shape = tf.shape(nodes)[0], tf.reduce_max(nodes) + 1
    return tf.random.stateless_uniform(shape, seed) < share
