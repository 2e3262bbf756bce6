"""Base of attentions to all keys."""

from keras import ops

from keras_attn.layers.scored_attention import ScoredAttention
from keras_attn.ops.attend import attend


class GlobalAttention(ScoredAttention):
    """Abstract: attention whose weights are the softmax of a score. Subclasses define the score.

    One whose score projects the keys sets `key_kernel` (E, A) in `build`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.key_kernel = None

    def project_keys(self, keys):
        return keys if self.key_kernel is None else ops.matmul(keys, self.key_kernel)

    def attend(self, query, projected_keys, values, mask=None, positions=None):
        return attend(self.score(query, projected_keys), values, mask)
