"""Base of local attentions: a window around a position."""

from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.global_attention import GlobalAttention
from keras_attn.layers.scored_attention import ScoredAttention
from keras_attn.ops.local_attention import memory_lengths


class LocalAttention(ScoredAttention):
    """Abstract: attention that sees the keys in a window [p_t − D, p_t + D] alone.

    The window is clipped at both ends of the memory, whose length is the unpadded one.

    Args:
        attention: a `ScoredAttention` layer: `DotAttention`, `MultiplicativeAttention` or
            `AdditiveAttention`. Its score is used within the window.
        window: int > 0. D, in positions.

    Raises:
        ValueError: `attention` is no global ScoredAttention, or window < 1.
    """

    def __init__(self, attention, window, **kwargs):
        super().__init__(**kwargs)
        check_sizes(window=window)
        self.attention, self.window = check_global(attention), window

    def build(self, query_shape, value_shape=None, key_shape=None):
        if not self.attention.built:
            self.attention.build(query_shape, value_shape, key_shape)

    def project_keys(self, keys):
        return self.attention.project_keys(keys)

    def score(self, query, projected_keys):
        return self.attention.score(query, projected_keys)

    def lengths_and_positions(self, query, projected_keys, mask, positions):
        """True lengths of the memory, and the queries' positions: int32 (B, T) both."""
        batch, queries, keys = ops.shape(query)[0], ops.shape(query)[1], projected_keys.shape[1]
        keys = ops.shape(projected_keys)[1] if keys is None else keys
        if positions is None:
            positions = ops.arange(queries, dtype="int32")
        positions = ops.broadcast_to(ops.cast(positions, "int32"), (batch, queries))
        return memory_lengths(mask, batch, queries, keys), positions


def check_global(attention):
    """The attention, a `GlobalAttention`.

    Raises:
        ValueError: something else.
    """
    if not isinstance(attention, GlobalAttention):
        raise ValueError(
            f"Expected a global ScoredAttention layer. Received: attention={attention!r}"
        )
    return attention
