"""Random trees, and copies of trees with the faults that parsers make; the same for a seed."""

from keras_attn.text.trees import Leaf, Tree

LABELS = ("S", "NP", "NP-SBJ", "VP", "ADVP", "PRT", "TOP", "PP=2", "-X-")
TAGS = ("NN", "NN", "DT", "VB", "PRT", "ADVP", ",", ".", "``", "-NONE-")


def random_tree(random, levels=4):
    """A tree over a few words, some of them punctuation."""
    children = [_random_node(random, levels) for _ in range(random.randint(1, 4))]
    return Tree(random.choice(LABELS), tuple(children))


def damaged(tree, random, share=0.1):
    """A copy with labels and tags changed, and brackets removed, added and moved."""
    children = [new for child in tree.children for new in _damaged(child, random, share)]
    return Tree(tree.label, tuple(children))


def with_other_words(tree, random):
    """A copy with another first word, or with one word more; or as it is."""
    more = Leaf("NN", "more")
    return random.choice([tree, Tree(tree.label, (*tree.children, more)), _renamed(tree)])


def _renamed(node):
    if isinstance(node, Leaf):
        return Leaf(node.tag, f"{node.word}s")
    return Tree(node.label, (_renamed(node.children[0]), *node.children[1:]))


def _random_node(random, levels):
    if levels == 0 or random.random() < 0.3:
        return Leaf(random.choice(TAGS), f"w{random.randrange(5)}")
    if random.random() < 0.3:  # A chain, often of one label.
        return Tree(random.choice(LABELS[:3]), (_random_node(random, levels - 1),))
    return random_tree(random, levels - 1)


def _damaged(node, random, share):
    """What stands in a node's place: itself, its children, or itself and its last child."""
    if isinstance(node, Leaf):
        return [Leaf(random.choice(TAGS[:6]), node.word) if random.random() < share / 9 else node]
    children = [new for child in node.children for new in _damaged(child, random, share)]
    if len(children) > 2 and random.random() < 2 * share:
        start = random.randrange(len(children) - 1)
        children[start : start + 2] = [Tree("NP", tuple(children[start : start + 2]))]
    if random.random() < share:
        return children
    label = random.choice(LABELS) if random.random() < share else node.label
    if len(children) > 1 and random.random() < share:
        return [Tree(label, tuple(children[:-1])), children[-1]]
    return [Tree(label, tuple(children))]
