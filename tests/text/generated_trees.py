"""Trees of every shape, for hypothesis."""

from hypothesis import strategies as st

from keras_attn.text.trees import Leaf, Tree

NAMES = st.text("aXß-=|_./\u2009\xa0\u2028\x85\0☂\U0001f600", min_size=1, max_size=4)
"""Names of all kinds that can stand in brackets."""
LABELS = st.sampled_from(["S", "NP", "NP-SBJ-1", "NP=2", "XX", "-LRB-", "TOP"]) | NAMES
TAGS = st.sampled_from(["NN", "-LRB-", "-NONE-", "NP", ","]) | NAMES
WORDS = st.sampled_from(["XX", "-LRB-", "a\u2009b", "\xa0", "NP"]) | NAMES
LEAVES = st.builds(Leaf, TAGS, WORDS)


def constituents(nodes):
    """Constituents of one to three of these nodes."""
    return st.builds(Tree, LABELS, st.lists(nodes, min_size=1, max_size=3).map(tuple))


NODES = st.recursive(LEAVES, constituents, max_leaves=10)
"""A tree, or a leaf alone."""


def deep(levels, label="NP"):
    """A word in so many constituents."""
    node = Leaf("NN", "cell")
    for _ in range(levels):
        node = Tree(label, (node,))
    return node
