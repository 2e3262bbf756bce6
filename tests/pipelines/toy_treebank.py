"""A toy treebank: sentences of a small grammar, in brackets with a root, a trace and functions."""

import numpy as np

from keras_attn.text.bracket_text import parse_tree
from keras_attn.text.tree_rules import normalized
from keras_attn.text.trees import leaves
from keras_attn_pipelines.data.readers.tree_reader import TreePair

NOUNS, VERBS, ADJECTIVES = ("cell", "gene", "mouse"), ("grows", "divides"), ("small", "old")
TINY = {
    "hidden_dim": 12,
    "intermediate_dim": 11,
    "num_heads": 2,
    "num_layers": 1,
    "vocabulary_size": 310,
    "lengths": (13, 23, 43),
    "source_lengths": (11, 17, 31),
    "scored": 7,
}
"""Field values with which `parser_transformer` trains on it in seconds."""


def lines(count, seed=0):
    """Trees as they stand in a treebank's file, one a line."""
    random = np.random.default_rng(seed)

    def noun():
        adjective = f"(JJ {random.choice(ADJECTIVES)}) " if random.random() < 0.5 else ""
        return f"(NP (DT the) {adjective}(NN {random.choice(NOUNS)}))"

    def sentence():
        where = f" (PP-LOC (IN near) {noun()})" if random.random() < 0.5 else ""
        aside = " (-LRB- -LRB-) (NP (NN n=3)) (-RRB- -RRB-)" if random.random() < 0.2 else ""
        verb = f"(VP (VBZ {random.choice(VERBS)}) (NP (-NONE- *)){where})"
        return f"( (S (NP-SBJ {noun()}{aside}) {verb} (. .)))"

    return [sentence() for _ in range(count)]


def pairs(count, seed=0):
    """The same as `TreePair`s, after the rules."""
    trees = [normalized(parse_tree(line)) for line in lines(count, seed)]
    return [TreePair(" ".join(leaf.word for leaf in leaves(tree)), tree) for tree in trees]


def written(folder, train=53, dev=17):
    """A data folder with train.mrg and dev.mrg."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, count) in enumerate({"train": train, "dev": dev}.items()):
        (folder / f"{name}.mrg").write_text("\n".join(lines(count, seed)) + "\n")
    return folder
