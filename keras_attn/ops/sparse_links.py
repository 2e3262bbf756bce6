"""Links between slots of a memory of which every slot keeps the strongest.

Shapes: B batch, R read heads, N slots, K links to each slot. Takes O(N K²) time a step where
`temporal_links` takes O(N²), and O(N K) memory.
"""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.ops.take_by_row import take_by_row

NOT_CHOSEN = -1.0


class SparseLinks(NamedTuple):
    """The strongest links to every slot; all others count as 0.

    Attributes:
        strengths: float (B, N, K).
        sources: int32 (B, N, K). The slots they come from, which differ for a slot.
    """

    strengths: Any
    sources: Any


def sparse_temporal_links(links, precedence, write_weights):
    """`temporal_links`, of which every slot keeps the K strongest; exact for K = N.

    New links come from the K slots of greatest precedence.

    Args:
        links: `SparseLinks`.
        precedence: float (B, N).
        write_weights: float (B, N).

    Returns:
        `SparseLinks`.

    Source: the linkage with few links a row of Rae et al. 2016, arXiv:1610.09027, D. Differs: one
    matrix for both directions, as in Graves et al. 2016.
    """
    slots, count = links.strengths.shape[1:]
    strongest, entering = ops.top_k(precedence, count)
    entering = ops.cast(entering, "int32")
    writes = write_weights[..., None]
    from_source = take_by_row(write_weights, ops.reshape(links.sources, (-1, slots * count)))
    retained = (1 - writes - ops.reshape(from_source, (-1, slots, count))) * links.strengths
    to_itself = entering[:, None, :] == ops.arange(slots, dtype="int32")[None, :, None]
    added = ops.where(to_itself, 0.0, writes * strongest[:, None, :])
    is_stored = links.sources[..., None] == entering[:, None, None, :]
    retained = retained + ops.sum(ops.where(is_stored, added[:, :, None, :], 0.0), axis=-1)
    added = ops.where(ops.any(is_stored, axis=2) | to_itself, NOT_CHOSEN, added)
    sources = ops.concatenate(
        [links.sources, ops.broadcast_to(entering[:, None, :], ops.shape(links.sources))], axis=-1
    )
    strengths, places = ops.top_k(ops.concatenate([retained, added], axis=-1), count)
    places = ops.reshape(ops.cast(places, "int32"), (-1, count))
    sources = take_by_row(ops.reshape(sources, (-1, 2 * count)), places)
    return SparseLinks(strengths, ops.reshape(sources, (-1, slots, count)))


def follow_sparse_links(links, weights):
    """`follow_links` along `SparseLinks`.

    Args:
        links: `SparseLinks`.
        weights: float (B, R, N).

    Returns:
        forward: float (B, R, N).
        backward: float (B, R, N).
    """
    slots, count = links.strengths.shape[1:]
    heads = weights.shape[1]
    weights, strengths = ops.swapaxes(weights, 1, 2), links.strengths[..., None]
    batch = ops.shape(weights)[0]
    looked_up = take_by_row(weights, ops.reshape(links.sources, (-1, slots * count)))
    looked_up = ops.reshape(looked_up, (-1, slots, count, heads))
    forward = ops.sum(strengths * looked_up, axis=2)
    rows = ops.arange(batch, dtype="int32")[:, None, None] * slots + links.sources
    carried = ops.reshape(strengths * weights[:, :, None, :], (-1, heads))
    backward = ops.segment_sum(carried, ops.reshape(rows, (-1,)), batch * slots)
    backward = ops.reshape(backward, (-1, slots, heads))
    return ops.swapaxes(forward, 1, 2), ops.swapaxes(backward, 1, 2)
