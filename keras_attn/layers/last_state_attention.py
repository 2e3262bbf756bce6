"""The bottleneck of an encoder–decoder without attention."""

import keras
from keras import ops

from keras_attn.layers.scored_attention import ScoredAttention
from keras_attn.ops.attend import attend
from keras_attn.ops.local_attention import memory_lengths


@keras.saving.register_keras_serializable(package="keras_attn")
class LastStateAttention(ScoredAttention):
    """No attention: the context of every query is the value of the last key.

    Over the outputs of a recurrent encoder, the fixed vector through which an encoder–decoder
    without attention has to pass everything. The weights are one-hot.

    Call arguments and returns: see `AttentionLayer`.

    Example:
        >>> value, mask = ops.array([[[2.0], [3.0], [5.0]]]), ops.array([[True, True, False]])
        >>> float(LastStateAttention()(ops.zeros((1, 1, 1)), value, value_mask=mask)[0, 0, 0])
        3.0

    Source: the baseline of Bahdanau et al. 2015, arXiv:1409.0473 ("RNNencdec"), after Cho et al.
    2014, arXiv:1406.1078.
    """

    def project_keys(self, keys):
        return keys

    def score(self, query, projected_keys):
        shape = ops.shape(query)[0], ops.shape(query)[1], ops.shape(projected_keys)[1]
        return ops.zeros(shape, "float32")

    def attend(self, query, projected_keys, values, mask=None, positions=None):
        scores = self.score(query, projected_keys)
        batch, queries, keys = ops.shape(scores)
        lengths = memory_lengths(mask, batch, queries, keys)[..., None]
        last = ops.arange(1, keys + 1, dtype="int32") == lengths
        return attend(scores, values, last)
