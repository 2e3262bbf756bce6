"""Batches made while earlier ones are used."""

import tensorflow as tf


def ahead(dataset):
    """Two batches ahead, without autotuning.

    The thread that autotunes sleeps twice as long each time, a minute at most, and to let go of an
    iterator can wait until it wakes: a training would end that much later.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.prefetch(2).with_options(options)
