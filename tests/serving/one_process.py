"""A SavedModel asked before and after TensorFlow's Python is imported, in a process of its own.

Run as `python -m tests.serving.one_process FOLDER first|last`: whether TensorFlow comes first.
"""

import sys

import keras_attn

SENTENCES = ["one two three", "", "seven"]


def answers(model):
    """What a text model says, and a picture of it."""
    drawn = model.explain(SENTENCES[0])
    return [
        *map(str, model.predict(SENTENCES, progress=False)),
        model.score("one", "zwei"),
        drawn.text,
    ]


def train():
    """A few steps of Keras, and a tokenizer of tensorflow-text."""
    import keras
    import tensorflow as tf
    import tensorflow_text

    model = keras.Sequential([keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    model.fit(tf.ones((5, 2)), tf.ones((5, 3)), verbose=0)
    assert tensorflow_text.WhitespaceTokenizer().tokenize(["a b"]).to_list() == [[b"a", b"b"]]


def main(folder, order):
    """Raises AssertionError for another answer, or for TensorFlow where it is not needed."""
    if order == "first":
        train()
    model = keras_attn.load(folder)
    before = answers(model)
    if order == "last":
        assert not {"tensorflow", "keras"} & set(sys.modules)
        train()
    assert answers(model) == before == answers(keras_attn.load(folder))
    import tensorflow as tf

    function = tf.saved_model.load(str(model.folder)).signatures["serving_default"]
    texts = function(source=tf.constant(SENTENCES))["text"][:, 0].numpy()
    assert [text.decode() for text in texts] == [p.text for p in model.predict(SENTENCES)]
    train()


if __name__ == "__main__":
    main(*sys.argv[1:])
