"""Location-based attention."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.global_attention import GlobalAttention
from keras_attn.ops.known_values import known_size, sizes_are_made_up


@keras.saving.register_keras_serializable(package="keras_attn")
class LocationAttention(GlobalAttention):
    """Location-based attention: weights from the query alone, one score for each position.

        weights = softmax(W q),  cut to the positions that there are

    The contents of the keys play no part.

    Args:
        max_length: int > 0. Most keys that can be attended to.
        kernel_initializer: Keras initializer of W.

    Call arguments and returns: see `AttentionLayer`.

    Raises:
        ValueError: max_length < 1, or more keys than that.

    Example:
        >>> context = LocationAttention(13)(ops.zeros((2, 3, 5)), ops.zeros((2, 11, 5)))
        >>> tuple(context.shape)
        (2, 3, 5)

    Source: Luong et al. 2015, arXiv:1508.04025, 3.1 ("location").
    """

    def __init__(self, max_length, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        check_sizes(max_length=max_length)
        self.max_length = max_length
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, query_shape, value_shape=None, key_shape=None):
        self.kernel = self.add_weight(
            shape=(query_shape[-1], self.max_length),
            initializer=self.kernel_initializer,
            name="kernel",
        )

    def score(self, query, projected_keys):
        keys = known_size(projected_keys, 1)
        if keys is not None and keys > self.max_length:
            raise ValueError(f"Expected at most {self.max_length} keys. Received: {keys}")
        scores = ops.cast(ops.matmul(query, self.kernel), "float32")
        places = ops.arange(ops.shape(projected_keys)[1], dtype="int32")
        if sizes_are_made_up():
            places = places % self.max_length
        return ops.take(scores, places, axis=-1)
