from keras_attn.text.trees import Leaf, Tree, leaves
from tests.text.generated_trees import deep


def test_leaves_in_their_order():
    first, second, third = (Leaf(f"T{i}", f"w{i}") for i in range(3))
    tree = Tree("S", (Tree("NP", (first, second)), Tree("VP", (third,))))
    assert leaves(tree) == [first, second, third]
    assert leaves(first) == [first]
    assert leaves(Tree("", ())) == []


def test_leaves_of_a_tree_deeper_than_python_calls():
    assert leaves(deep(5000)) == [Leaf("NN", "cell")]
