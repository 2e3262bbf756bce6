"""Asks a SavedModel for captions with TensorFlow and tensorflow-text alone.

Run as a file: `python ask.py saved_models/NAME/VERSION PICTURE...`
"""

import sys

import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)


def ask(version, paths):
    """Prints a line for each picture: path, score in nats, caption (or the error)."""
    caption = tf.saved_model.load(version).signatures["serving_default"]
    answer = caption(image=tf.stack([tf.io.read_file(path) for path in paths]))
    rows = zip(paths, answer["score"].numpy(), answer["text"].numpy(), answer["error"].numpy())
    for path, scores, texts, error in rows:
        print(f"{path}\t{scores[0]:.2f}\t{(error or texts[0]).decode()}")


if __name__ == "__main__":
    ask(sys.argv[1], sys.argv[2:])
