"""Content-based and link-based attention in a self-adaptive mixture."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.local_attention import check_global
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.ops.attend import attention_weights
from keras_attn.ops.batched_product import batched_product
from keras_attn.ops.cached_attention import hypotheses_of
from keras_attn.ops.hybrid_attention import field_links, hybrid_weights
from keras_attn.ops.masks import zero_masked


class HybridMemory(NamedTuple):
    """What every step of a `HybridAttention` reads; all lead with B.

    Attributes:
        keys: what the content-based attention's `project_keys` returned.
        values: float (B, S, E).
        mask: bool (B, S) or None.
        fields: compute dtype (B, S, units), the vector of each key's field.
        links: float32 (B, S, S), see `ops.field_links`.
    """

    keys: Any
    values: Any
    mask: Any
    fields: Any
    links: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class HybridAttention(MaskedLayer):
    """Attention that also knows what usually comes next: order planning.

        content_t = softmax_j(score(q_t, k_j))
        link_t = softmax_j(Σ_i α_{t−1,i} L[field_i, field_j]),   link_0 = softmax_j(L₀[field_j])
        z_t = least + (most − least) σ(w · [q_t; Σ_j content_t,j f_j] + b)
        α_t = z_t content_t + (1 − z_t) link_t

    L, the link matrix, learns which field follows which; the gate z decides in each step how much
    it counts.

    Args:
        attention: `ScoredAttention`, the content-based one.
        num_fields: int > 0. F.
        units: int > 0. Width of the field vectors f that the gate reads.
        least: float, 0 ≤ least ≤ most. Least weight of the content.
        most: float ≤ 1. Greatest weight of the content; where both are 1, links do not count.

    Call arguments:
        query: float (N, T, D), N = B·K: K sequences for each of B examples, which are neighbors.
        value: float (B, S, E).
        fields: int (B, S). The field that each value belongs to, 0 to F − 1.
        query_mask, value_mask: bool (N, T), (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        context: (N, T, E), compute dtype, with the query's mask; 0 where fully masked.
        weights: with return_attention_scores, float32 (N, T, S), α; rows sum to 1, or are all 0
            where fully masked.

    Raises:
        ValueError: no global `ScoredAttention`; a size < 1; bounds that are not 0 ≤ least ≤ most ≤
            1.

    Example:
        >>> from keras_attn.layers import MultiplicativeAttention
        >>> layer = HybridAttention(MultiplicativeAttention(), num_fields=13, units=3)
        >>> context, weights = layer(
        ...     ops.ones((2, 5, 7)), ops.ones((2, 11, 3)), ops.ones((2, 11), "int32"),
        ...     return_attention_scores=True,
        ... )
        >>> tuple(context.shape), tuple(weights.shape)
        ((2, 5, 3), (2, 5, 11))

    Source: Sha et al. 2018, "Order-Planning Neural Text Generation from Structured Data",
    arXiv:1709.00155, 2.3. Differs: any score of the contents; the gate reads the query, which
    knows the last word, in place of that word; a row L₀ of L for the first step.
    """

    ranks = {"query": (3,), "value": (3,), "fields": (2,)}
    sequences = True

    def __init__(self, attention, num_fields, units, least=0.5, most=0.7, **kwargs):
        super().__init__(**kwargs)
        check_sizes(num_fields=num_fields, units=units)
        if not 0 <= least <= most <= 1:
            raise ValueError(
                f"Expected 0 <= least <= most <= 1. Received: least={least}, most={most}"
            )
        self.attention, self.num_fields, self.units = check_global(attention), num_fields, units
        self.least, self.most = least, most

    def build(self, query_shape, value_shape, fields_shape=None):
        if not self.attention.built:
            self.attention.build(query_shape, value_shape)
        links = (self.num_fields + 1, self.num_fields)
        self.links = self.add_weight(shape=links, initializer="zeros", name="links")
        fields = (self.num_fields, self.units)
        self.fields = self.add_weight(shape=fields, initializer="glorot_uniform", name="fields")
        kernel = (query_shape[-1] + self.units, 1)
        self.gate_kernel = self.add_weight(
            shape=kernel, initializer="glorot_uniform", name="gate_kernel"
        )
        self.gate_bias = self.add_weight(shape=(1,), initializer="zeros", name="gate_bias")

    def call(
        self,
        query,
        value,
        fields,
        query_mask=None,
        value_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        query_mask = sequence_mask(query, query_mask=query_mask)
        value_mask = sequence_mask(value, value_mask=value_mask)
        memory, first = self.start(value, fields, value_mask)
        expected = ops.repeat(
            first, hypotheses_of(ops.shape(query)[0], ops.shape(first)[0]), axis=0
        )
        context, weights, _ = self.advance(zero_masked(query, query_mask), memory, expected)
        context = carry_mask(context, query_mask)
        return (context, weights) if return_attention_scores else context

    def start(self, value, fields, mask=None):
        """`HybridMemory` of values (B, S, E), and float32 (B, S): the scores of the first link."""
        fields, value = ops.cast(fields, "int32"), zero_masked(value, mask)
        links, first = field_links(self.links, fields)
        table = ops.cast(self.fields, self.compute_dtype)
        vectors = ops.take(table, fields, axis=0)
        return HybridMemory(self.attention.project_keys(value), value, mask, vectors, links), first

    def advance(self, query, memory, expected):
        """The next T steps of N sequences.

        Args:
            query: float (N, T, D).
            memory: `HybridMemory`.
            expected: float32 (N, S), scores of the link-based attention at the first of the steps.

        Returns:
            context: (N, T, E), compute dtype.
            weights: float32 (N, T, S).
            scores: float32 (N, T, S), expected after each step.
        """
        rows, steps, units = ops.shape(query)
        examples, size = ops.shape(memory.links)[:2]
        together = hypotheses_of(rows, examples) * steps
        mask = None if memory.mask is None else memory.mask[:, None, :]
        query = ops.reshape(query, (examples, together, units))
        content = attention_weights(self.attention.score(query, memory.keys), mask)
        gate = self._gate(query, content, memory)
        weights, scores = hybrid_weights(
            ops.reshape(content, (rows, steps, size)),
            ops.reshape(gate, (rows, steps, 1)),
            expected,
            memory.links,
            memory.mask,
        )
        grouped = ops.reshape(weights, (examples, together, size))
        values = ops.cast(memory.values, self.compute_dtype)
        context = batched_product(ops.cast(grouped, self.compute_dtype), values, self.compute_dtype)
        return ops.reshape(context, (rows, steps, ops.shape(values)[-1])), weights, scores

    def followers(self, fields, mask):
        """What the link matrix alone expects after each field.

        Args:
            fields: int (B, n), of n facts.
            mask: bool (B, n), False for padding.

        Returns:
            float32 (B, n + 1, n): row 0 is the first step, row i + 1 follows fact i; rows sum to 1.
        """
        links, first = field_links(self.links, ops.cast(fields, "int32"))
        scores = ops.concatenate([first[:, None], links], axis=1)
        return attention_weights(scores, mask[:, None, :])

    def _gate(self, query, content, memory):
        """float32 (B, K·T, 1), z."""
        attended = ops.matmul(ops.cast(content, memory.fields.dtype), memory.fields)
        inputs = ops.concatenate([ops.cast(query, attended.dtype), attended], axis=-1)
        kernel, bias = (
            ops.cast(weight, inputs.dtype) for weight in (self.gate_kernel, self.gate_bias)
        )
        opened = ops.sigmoid(ops.cast(ops.matmul(inputs, kernel) + bias, "float32"))
        return self.least + (self.most - self.least) * opened

    def compute_output_shape(self, query_shape, value_shape, fields_shape=None):
        return (*query_shape[:-1], value_shape[-1])
