"""Attention that mixes what a step asks for with what usually follows."""

from keras import ops

from keras_attn.ops.attend import attention_weights
from keras_attn.ops.cached_attention import hypotheses_of
from keras_attn.ops.scan import scan


def field_links(table, fields):
    """Scores of the link-based attention, from field to field, for the keys of each example.

    Args:
        table: float (F + 1, F). How strongly field j follows field i; the last row is for the
            first step, which follows none.
        fields: int (B, S). Field of each key, 0 to F − 1.

    Returns:
        links: float32 (B, S, S). Score of key j after key i.
        first: float32 (B, S). Score of key j at the first step.
    """
    count = table.shape[-1]
    chosen = ops.one_hot(fields, count, dtype="float32", axis=-1)
    table = ops.cast(table, "float32")
    rows = ops.take(table, fields, axis=0)
    links = ops.matmul(rows, ops.swapaxes(chosen, 1, 2))
    return links, ops.matmul(chosen, table[-1])


def hybrid_weights(content, gate, expected, links, mask=None):
    """Self-adaptive mixture of content-based and link-based attention, step by step.

        link_t = softmax_j(expected_t,j)
        α_t = z_t content_t + (1 − z_t) link_t
        expected_{t+1} = α_t Λ

    Args:
        content: float32 (N, T, S), weights of the content-based attention; N = B·K rows, the K
            sequences of an example are neighbors.
        gate: float32 (N, T, 1), z, 0 to 1.
        expected: float32 (N, S), scores of the link-based attention at the first step.
        links: float32 (B, S, S), Λ of `field_links`.
        mask: bool (B, S); True = attend. None: all.

    Returns:
        weights: float32 (N, T, S), α; rows sum to 1, or are 0 where fully masked.
        scores: float32 (N, T, S), those expected of the link-based attention after each step.

    Source: Sha et al. 2018, arXiv:1709.00155, 2.3 and 2.4.
    """
    examples, size = ops.shape(links)[0], ops.shape(links)[-1]
    by_example = (examples, hypotheses_of(ops.shape(content)[0], examples), size)

    def step(carry, inputs):
        (expected,) = carry
        content, gate = inputs
        grouped = ops.reshape(expected, by_example)
        link = attention_weights(grouped, None if mask is None else mask[:, None, :])
        link = ops.reshape(link, ops.shape(expected))
        weights = gate * content + (1 - gate) * link
        grouped = ops.reshape(weights, by_example)
        expected = ops.reshape(ops.matmul(grouped, links), ops.shape(expected))
        return (expected,), (weights, expected)

    steps = (ops.swapaxes(content, 0, 1), ops.swapaxes(gate, 0, 1))
    _, outputs = scan(step, (expected,), steps)
    weights, scores = (ops.swapaxes(output, 0, 1) for output in outputs)
    return weights, scores
