"""Sums over the replicas of a distribution strategy, so that means are means of the global batch.

Backend kernel: under the TensorFlow backend this file asks `tf.distribute`; JAX arrays are global
already, so there the functions are the identity.
"""

import keras
from keras import ops


def sum_over_replicas(value):
    """Sum of `value`, float (...), over all replicas; no gradient flows through it."""
    value = ops.stop_gradient(value)
    if keras.backend.backend() != "tensorflow":
        return value
    import tensorflow as tf

    replica = tf.distribute.get_replica_context()
    if replica is None or replica.num_replicas_in_sync == 1:
        # None: Keras builds a model symbolically outside the replicas.
        return value
    return replica.all_reduce(tf.distribute.ReduceOp.SUM, value)


def first_row(rows):
    """Where this replica's rows begin in the global batch, whose parts lie in the replicas' order.

    Args:
        rows: int scalar. Rows of this replica.

    Returns:
        int32 scalar; 0 where there is one replica.
    """
    rows = ops.cast(rows, "int32")
    if keras.backend.backend() != "tensorflow":
        return ops.zeros_like(rows)
    import tensorflow as tf

    replica = tf.distribute.get_replica_context()
    if replica is None or replica.num_replicas_in_sync == 1:
        return ops.zeros_like(rows)
    replica_id, place = replica.replica_id_in_sync_group, ops.arange(replica.num_replicas_in_sync)
    counts = sum_over_replicas(ops.where(ops.equal(place, replica_id), rows, 0))
    return ops.sum(ops.where(place < replica_id, counts, 0))


def global_mean(values, weights):
    """This replica's share of the weighted mean over the global batch.

        Σ_local w·x / Σ_global w; the shares of all replicas add up to the mean.

    Args:
        values: float (...).
        weights: float, same shape as `values`.

    Returns:
        float32 scalar; 0 where all weights are 0.
    """
    values, weights = ops.cast(values, "float32"), ops.cast(weights, "float32")
    total = sum_over_replicas(ops.sum(weights))
    return ops.sum(ops.where(weights > 0, values * weights, 0.0)) / ops.maximum(total, 1e-9)
