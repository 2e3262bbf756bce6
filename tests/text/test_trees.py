from keras_attn.text.trees import Leaf, Tree, leaves
from tests.text.generated_trees import deep


def test_leaves_in_their_order():
    single, two, three = (Leaf(f"T{i}", f"w{i}") for i in range(3))
    assert leaves(Tree("S", (Tree("NP", (single, two)), Tree("VP", (three,))))) == [
        single,
        two,
        three,
    ]
    assert leaves(single) == [single]
    assert leaves(Tree("", ())) == []


def test_leaves_of_a_tree_deeper_than_python_calls():
    assert leaves(deep(5000)) == [Leaf("NN", "cell")]
