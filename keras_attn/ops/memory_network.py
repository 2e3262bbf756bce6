"""End-to-end memory networks: sentences as vectors, their order, and a hop over them."""

from keras import ops

from keras_attn.ops.attend import attention_weights
from keras_attn.ops.masks import zero_masked

BAG, POSITION = ENCODINGS = ("bag", "position")


def encode_sentences(words, mask, encoding=POSITION, width=None):
    """Sums the vectors of a sentence's words.

        "bag":       m = Σ_j x_j
        "position":  m = Σ_j l_j ∘ x_j,  l_kj = 2 (1 − j/J) − 2 (k/D) (1 − 2j/J)

    j counts the sentence's own words from 1 to J, and k the D elements of a vector. The weights
    are 1 + 4 (j/J − ½) (k/D − ½), so their mean is about 1, as in a bag of words.

    Args:
        words: float (..., W, D). Vectors of words.
        mask: bool (..., W). Real words; the others do not count.
        encoding: "bag" or "position".
        width: int. Size of one vector, where those of several tables lie side by side; None: D.

    Returns:
        float32 (..., D); 0 for a sentence without words.

    Example:
        >>> words = ops.array([[[1.0, 1.0], [1.0, 1.0]]])
        >>> encoded = encode_sentences(words, ops.array([[True, True]]))
        >>> [float(value) for value in encoded[0]]
        [2.0, 3.0]

    Source: Sukhbaatar et al. 2015, arXiv:1503.08895, 4.1. Differs: twice its position
    encoding, without which networks that start linear get stuck (bAbI task 16).
    """
    words, real = zero_masked(ops.cast(words, "float32"), mask), ops.cast(mask, "float32")
    if encoding == BAG:
        return ops.sum(words, axis=-2)
    place = ops.cumsum(real, axis=-1) / ops.maximum(ops.sum(real, axis=-1, keepdims=True), 1.0)
    # Two sums over the words take the place of a weight for each word and element.
    weights = ops.stack([2.0 * (1.0 - place) * real, 2.0 * (1.0 - 2.0 * place) * real], axis=-2)
    sums = ops.matmul(weights, words)
    size = words.shape[-1]
    elements = ops.cast(ops.arange(size) % (width or size) + 1, "float32") / (width or size)
    return sums[..., 0, :] - elements * sums[..., 1, :]


def sentence_ages(mask, gaps=None):
    """How many memories follow each memory of a story.

        age_i = Σ_{i' > i} mask_{i'} (1 + gap_{i'})

    Args:
        mask: bool (B, M). Memories that hold a sentence, in the order of the story.
        gaps: int32 (B, M), or None. Empty memories right before each sentence.

    Returns:
        int32 (B, M); 0 for the last sentence. Where the mask is False it has no meaning.

    Example:
        >>> ages = sentence_ages(ops.array([[True, True, True, False]]))
        >>> [int(age) for age in ages[0, :3]]
        [2, 1, 0]
    """
    places = ops.cast(mask, "int32")
    if gaps is not None:
        places = places * (1 + gaps)
    return ops.sum(places, axis=-1, keepdims=True) - ops.cumsum(places, axis=-1)


def newest_sentences(mask, count):
    """The last sentences of each story, as many as there is room for.

    Args:
        mask: bool (B, M). Memories that hold a sentence, in the order of the story.
        count: int > 0. Most sentences of a story.

    Returns:
        bool (B, M).

    Example:
        >>> newest = newest_sentences(ops.array([[True, True, True, False]]), 2)
        >>> [bool(kept) for kept in newest[0]]
        [False, True, True, False]
    """
    return ops.logical_and(mask, sentence_ages(mask) < count)


def dropped_sentences(mask, count):
    """How many sentences of each story there is no room for, the oldest.

    Args:
        mask: bool (B, M). Memories that hold a sentence.
        count: int > 0. Most sentences of a story.

    Returns:
        int32 (B,).

    Example:
        >>> dropped = dropped_sentences(ops.array([[True, True, True, False]]), 2)
        >>> int(dropped[0])
        1
    """
    return ops.maximum(ops.sum(ops.cast(mask, "int32"), axis=-1) - count, 0)


def memory_hop(query, keys, values, mask, linear=False, empty=None):
    """One hop: a query reads a memory.

        p = softmax(uᵀ m_i) over the real memories,  o = Σ_i p_i c_i

    Args:
        query: float (B, D). u.
        keys: float (B, M, D). m, finite also where masked; see `zero_masked`.
        values: float (B, M, F). c, likewise.
        mask: bool (B, M). Real memories.
        linear: bool, or bool scalar tensor. Leaves out the softmax: p_i = uᵀ m_i.
        empty: int (B,), or None. Memories beside these that are 0, and so are their scores: the
            softmax counts them, and they add nothing.

    Returns:
        output: float32 (B, F); 0 where no memory is real.
        weights: float32 (B, M). p, exactly 0 where the mask is False; without `empty`, rows with a
            real memory sum to 1.

    Source: Sukhbaatar et al. 2015, arXiv:1503.08895, equations 1 and 2; 4.2 for `linear`.
    """
    query, keys, values = (ops.cast(array, "float32") for array in (query, keys, values))
    scores = ops.matmul(keys, query[..., None])[..., 0]
    if empty is None:
        weights = attention_weights(scores, mask)
    else:
        empty = ops.cast(empty, "float32")[:, None]
        every = ops.concatenate([scores, ops.log(ops.maximum(empty, 1.0))], axis=1)
        weights = attention_weights(every, ops.concatenate([mask, empty > 0], axis=1))[:, :-1]
    if linear is not False:
        weights = ops.where(linear, ops.where(mask, scores, 0.0), weights)
    return ops.matmul(weights[:, None, :], values)[:, 0], weights
