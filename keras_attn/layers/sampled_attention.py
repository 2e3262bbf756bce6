"""Hard attention to a sequence: one sampled position per step."""

import keras
from keras import ops

from keras_attn.layers.local_attention import check_global
from keras_attn.layers.location_sampler import held_sampler
from keras_attn.layers.scored_attention import ScoredAttention


@keras.saving.register_keras_serializable(package="keras_attn")
class SampledAttention(ScoredAttention):
    """Hard attention: the context of a query is the value of one position, s_t ~ α_t.

    Called as a layer, and in evaluation, the most likely position is taken, with weight 1 (0 where
    fully masked). A decoder samples in training: it makes `draws` for all steps, hands them to
    `attend` step by step, and adds the loss of the `sampler`, as `RecurrentSeq2Seq` does.

    Args:
        attention: a `ScoredAttention` layer, such as `AdditiveAttention(5)`, whose weights are α.
        sampler: `LocationSampler`, or None for one with its defaults.

    Call arguments and returns: see `AttentionLayer`.

    Raises:
        ValueError: `attention` is no global ScoredAttention; something else in place of the
            sampler.

    Example:
        >>> from keras_attn.layers import DotAttention
        >>> query, value = ops.array([[[0.0, 5.0]]]), ops.array([[[2.0, 3.0], [7.0, 0.0]]])
        >>> [float(x) for x in SampledAttention(DotAttention())(query, value)[0, 0]]
        [2.0, 3.0]

    Source: Xu et al. 2015, arXiv:1502.03044, 4.1; Luong et al. 2015, arXiv:1508.04025, 3.2.
    """

    def __init__(self, attention, sampler=None, **kwargs):
        super().__init__(**kwargs)
        self.attention = check_global(attention)
        self.sampler = held_sampler(sampler, self.dtype_policy)

    def build(self, query_shape, value_shape=None, key_shape=None):
        if not self.attention.built:
            self.attention.build(query_shape, value_shape, key_shape)
        if not self.sampler.built:
            self.sampler.build()

    def project_keys(self, keys):
        return self.attention.project_keys(keys)

    def score(self, query, projected_keys):
        return self.attention.score(query, projected_keys)

    def draws(self, length, value):
        """Random numbers of `length` steps over a memory (B, S, F); see `LocationSampler`."""
        return self.sampler.draws(length, *ops.shape(value)[:2], self.sampler.samples)

    def attend(self, query, projected_keys, values, mask=None, positions=None, draw=None):
        """See `ScoredAttention.attend`.

        Args:
            draw: one step of `draws`, whose T queries are the samples; None takes the most likely
                position.

        Returns:
            The context, and the weights: with a draw α, otherwise 1 for the position and 0.
        """
        _, weights = self.attention.attend(query, projected_keys, values, mask, positions)
        rows = ops.reshape(weights, (-1, ops.shape(weights)[-1]))
        shares = ops.reshape(self.sampler.shares(rows, draw), ops.shape(weights))
        context = ops.matmul(ops.cast(shares, values.dtype), values)
        return context, shares if draw is None else weights
