"""The base of what holds tables and models in TensorFlow's graphs, and works without TensorFlow."""

from typing import Any

import keras

from keras_attn.lazy_tensorflow import tf

HAS_GRAPHS = keras.backend.backend() == "tensorflow"
"""Whether Keras runs on TensorFlow. On another backend graphs are for `tf.data` alone."""
GraphObject: Any = tf.Module if HAS_GRAPHS else object
"""`tf.Module`, so that an exported module which holds the object has its tables, too."""
