"""Slow NumPy twins of the data-to-text mechanisms, from their papers' formulas."""

import numpy as np

from tests.reference.attention import multiplicative


def softmax(scores, mask):
    """Softmax of a vector over the places of a mask; 0 elsewhere."""
    weights = np.where(mask, np.exp(scores - scores[mask].max()), 0.0) if mask.any() else 0 * scores
    return weights / max(weights.sum(), 1e-30)


def hybrid(content, gate, table, fields, mask):
    """Weights (T, S) of one sequence.

    Args:
        content: (T, S), weights of the content-based attention.
        gate: (T,), z.
        table: (F + 1, F), the link matrix, the first step's row last.
        fields: (S,).
        mask: bool (S,).
    """
    previous, rows = None, []
    for weights, z in zip(content, gate):
        scores = np.zeros(len(fields))
        for j, following in enumerate(fields):
            if previous is None:
                scores[j] = table[-1, following]
            else:
                for i, followed in enumerate(fields):
                    scores[j] += previous[i] * table[followed, following]
        previous = z * weights + (1 - z) * softmax(scores, mask)
        rows.append(previous)
    return np.array(rows)


def hybrid_attention(
    query, value, fields, mask, links, vectors, gate_kernel, gate_bias, kernel, least, most
):
    """Contexts (T, E) and weights (T, S) of one sequence, with a bilinear score of the contents.

    Args:
        query: (T, D).
        value: (S, E).
        fields: (S,).
        mask: bool (S,).
        links: (F + 1, F), the link matrix, the first step's row last.
        vectors: (F, n), of the fields.
        gate_kernel: (D + n, 1).
        gate_bias: (1,).
        kernel: (D, E), of the score.
        least: of the content's share, z.
        most: likewise.
    """
    contents, gates = [], []
    for row in query:
        scores = np.array([multiplicative(row, key, kernel) for key in value])
        contents.append(softmax(scores, mask))
        attended = sum(weight * vectors[f] for weight, f in zip(contents[-1], fields))
        logit = np.concatenate([row, attended]) @ gate_kernel[:, 0] + gate_bias[0]
        gates.append(least + (most - least) / (1 + np.exp(-logit)))
    weights = hybrid(contents, gates, links, fields, mask)
    return np.array([sum(w * v for w, v in zip(row, value)) for row in weights]), weights


def copies(logits, weights, switch, tokens):
    """Log-probabilities (V,) of one step.

    Args:
        logits: (V,).
        weights: (S,), where the pointer points.
        switch: log-odds of copying.
        tokens: (S,), ids of the source.
    """
    share = 1 / (1 + np.exp(-switch))
    probabilities = (1 - share) * softmax(logits, np.ones(len(logits), bool))
    for weight, token in zip(weights, tokens):
        probabilities[token] += share * weight
    return np.log(probabilities)


def relation(first, second):
    """Relation of two tokens, each (fact, role, node)."""
    (fact, role, node), (other_fact, other_role, other_node) = first, second
    if 0 in (role, other_role):
        return 0
    pair = 3 * (role - 1) + other_role
    if fact == other_fact:
        return pair
    return 9 + pair if node == other_node else 0
