"""A distribution strategy over several processes, as Keras' `fit` needs it."""

from keras_attn.cluster import Cluster
from keras_attn.lazy_tensorflow import tf


class MultiWorkerStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """TensorFlow's strategy for the workers that TF_CONFIG names, on which Keras 3 can train.

    Every worker runs the same program and reads the same data set of global batches, of which each
    of its replicas takes its own rows. Batches of (inputs, targets, weights) whose rows do not
    divide evenly are filled up with rows of zeros, whose weights are 0: Keras takes the mean of the
    replicas' losses by rows.

    Must be made before TensorFlow has run any operation, and once in a process, for all of its
    trainings. The constructor returns once all workers are there.

    Raises:
        ValueError: see `Cluster.read`.
        RuntimeError: TensorFlow has already run an operation.

    Source: `MultiWorkerMirroredStrategy`, with which Keras 3 fails (keras#20585). Differs: in what
    Keras asks of it, batches and the metrics of a step.
    """

    def __init__(self):
        self.cluster = Cluster.read()
        super().__init__()

    def reduce(self, reduce_op, value, axis):
        """As in TensorFlow, for what Keras reduces.

        A batch, whose parts may differ in shape, is the first local replica's: Keras builds the
        model by it. Scalars, a step's metrics, have no axis to reduce.
        """
        first = self.experimental_local_results(value)[0]
        if tf.nest.is_nested(value):
            return first
        return super().reduce(reduce_op, value, axis if first.shape.rank else None)

    def experimental_distribute_dataset(self, dataset, options=None):
        """The rows of this worker's replicas in each batch."""

        def own_batches(context):
            replicas = context.num_replicas_in_sync
            local = replicas // context.num_input_pipelines
            first = context.input_pipeline_id * local
            places = tf.data.Dataset.range(first, first + local)

            def parts(*batch):
                whole = _filled(batch, replicas) if len(batch) == 3 else batch
                return places.map(lambda place: _part(whole, place, replicas))

            return dataset.flat_map(parts)

        return self.distribute_datasets_from_function(own_batches, options)


def _rows(batch):
    return tf.shape(tf.nest.flatten(batch)[0], tf.int64)[0]


def _filled(batch, replicas):
    """A batch with rows of zeros at its end, so that all replicas have equally many."""
    missing = -_rows(batch) % replicas

    def filled(tensor):
        shape = tf.concat([[missing], tf.shape(tensor, tf.int64)[1:]], 0)
        return tf.concat([tensor, tf.zeros(shape, tensor.dtype)], 0)

    return tf.nest.map_structure(filled, batch)


def _part(batch, place, replicas):
    """The rows of the replica at a place."""
    rows = _rows(batch)
    start, end = rows * place // replicas, rows * (place + 1) // replicas
    return tf.nest.map_structure(lambda tensor: tensor[start:end], batch)
