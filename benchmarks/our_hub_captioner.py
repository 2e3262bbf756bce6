"""keras-attn in `hub_captioner_speed`: a checkpoint read by `load_captioner`."""

import tensorflow as tf

from benchmarks.hub_captioner_speed import Task, works_of
from benchmarks.tensorflow_threads import set_threads
from benchmarks.worker import serve


def works(task, folder):
    """The works."""
    from keras_attn.contracts import IMAGE
    from keras_attn.decoding import Beam, Greedy, decode
    from keras_attn.pretrained import load_captioner

    captioner = load_captioner(folder)
    shape = (None, task.size, task.size, 3)
    spec = tf.TensorSpec(shape, tf.uint8, name=IMAGE)

    def decoder(strategy):
        def tokens(images):
            found = decode(captioner.model, {IMAGE: images}, strategy, task.length, False)
            return found.tokens[:, 0]

        return tf.function(tokens, input_signature=[spec], autograph=False)

    decoders = {1: decoder(Greedy()), 4: decoder(Beam(4, 1.0, normalization="average"))}
    images = tf.constant(task.images())

    def tokens(place, count, beams):
        found = decoders[beams](images[place : place + count]).numpy()
        return captioner.rows[found].tolist()

    return works_of(task, tokens)


if __name__ == "__main__":
    serve(works, Task, set_threads)
