"""How the parts of facts are related, for attention that knows no order of facts."""

from keras import ops

ROLES = 3
"""Parts of a fact: subject, property and object, numbered from 1."""
NUM_RELATIONS = 1 + 2 * ROLES * ROLES


def fact_relations(facts, roles, nodes):
    """Relation of every two tokens of a set of facts.

        r_ij = 1 + 3 (role_i − 1) + (role_j − 1)     in the same fact
               10 + 3 (role_i − 1) + (role_j − 1)    in others, as parts of the same name
               0                                     otherwise, and for padding

    Facts and names are only compared, so neither their numbers nor their order matter.

    Args:
        facts: int (..., S). Number of the fact that a token belongs to.
        roles: int (..., S). 1 subject, 2 property, 3 object; 0 for padding.
        nodes: int (..., S). Number of the name that a token belongs to; facts that share an entity
            share its number.

    Returns:
        int32 (..., S, S), 0 to NUM_RELATIONS − 1.

    Example:
        >>> facts, roles = ops.array([1, 1, 2, 0]), ops.array([1, 3, 1, 0])
        >>> fact_relations(facts, roles, ops.array([5, 7, 7, 0])).numpy().tolist()
        [[1, 3, 0, 0], [7, 9, 16, 0], [0, 12, 1, 0], [0, 0, 0, 0]]

    Source: relative positions as relations, Shaw et al. 2018, arXiv:1803.02155, 3.
    """
    facts, roles, nodes = (ops.cast(ids, "int32") for ids in (facts, roles, nodes))
    pairs = ROLES * (roles[..., :, None] - 1) + roles[..., None, :] - 1
    same_fact = ops.equal(facts[..., :, None], facts[..., None, :])
    same_node = ops.equal(nodes[..., :, None], nodes[..., None, :])
    relations = ops.where(same_node, 1 + ROLES * ROLES + pairs, 0)
    relations = ops.where(same_fact, 1 + pairs, relations)
    real = (roles[..., :, None] > 0) & (roles[..., None, :] > 0)
    return ops.where(real, relations, 0)
