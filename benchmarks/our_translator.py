"""keras-attn in `transformer_speed`: in Python, or as a SavedModel that TensorFlow alone runs."""

import json
import sys

import numpy as np
import tensorflow as tf

from benchmarks.tensorflow_threads import set_threads
from benchmarks.translation_task import TRAIN, Task, decoding_works, in_another_process
from benchmarks.worker import serve

SIGNATURES = {1: "greedy", 4: "beam"}
"""Of an exported model, by the width of the beam."""


def model_of(task, weights, policy="float32"):
    """The `Transformer` with the weights of an .npz."""
    import keras

    from keras_attn.models.transformer.transformer import Transformer
    from keras_attn.models.transformer.transformer_config import TransformerConfig

    keras.config.set_dtype_policy(policy)
    each = task.units // task.heads
    sizes = {"num_layers": task.layers, "hidden_dim": task.units, "intermediate_dim": task.hidden}
    heads = {"num_heads": task.heads, "key_dim": each, "value_dim": each}
    sizes |= {"epsilon": 1e-5, "activation": task.activation}
    model = Transformer(TransformerConfig(task.vocabulary, **sizes, **heads))
    model.build()
    with np.load(weights) as arrays:
        for variable in model.weights:
            array = arrays[variable.path.split("/", 1)[1]]
            variable.assign(array.reshape(variable.shape))
    return model


def decoders(model, task, compiled=False):
    """Functions of a graph, or compiled by XLA, from sources to tokens (B, T), by beam width."""
    from keras_attn.decoding import Beam, Greedy, decode

    def decoder(strategy):
        def tokens(source):
            return decode(model, source, strategy, task.target, with_weights=False).tokens[:, 0]

        spec = tf.TensorSpec((None, None), tf.int32, name="source")
        return tf.function(
            tokens, input_signature=[spec], autograph=False, jit_compile=compiled or None
        )

    return {1: decoder(Greedy()), 4: decoder(Beam(4))}


def trainer(model, task):
    """A function that does one training step."""
    from keras_attn.contracts import SOURCE, START_ID, TOKENS
    from keras_attn.training.losses import TokenCrossEntropy
    from keras_attn.training.optimizers import ClippedAdam

    model.compile(ClippedAdam(1e-4), TokenCrossEntropy())
    source, target = task.pairs_of_tokens()
    start = np.full((task.pairs, 1), START_ID, "int32")
    batch = {SOURCE: source, TOKENS: np.concatenate([start, target[:, :-1]], axis=1)}
    data = tf.data.Dataset.from_tensors((batch, target, np.ones(target.shape, "float32")))
    iterator = iter(data.repeat())
    model.make_train_function()
    return lambda: float(model.train_function(iterator)["loss"])


def decoding(decoders, task):
    """The works of decoding, by name; decoders as of `decoders`."""
    source = tf.constant(task.sources())
    return decoding_works(task, lambda rows, beams: decoders[beams](source[:rows]).numpy())


def works_of(
    task, weights, policy="float32", exported="", compiled=False, products="float32", training=False
):
    """The works of one contender: `exported` runs a SavedModel, `compiled` decodes by XLA,
    `products` are float32 or int8, `training` trains."""
    if exported:
        # Keras would count in the memory of this process.
        in_another_process("benchmarks.our_translator", task, weights, exported)
        loaded = tf.saved_model.load(exported).signatures
        functions = {
            beams: lambda source, key=key: loaded[key](source=source)["tokens"]
            for beams, key in SIGNATURES.items()
        }
        return decoding(functions, task)
    from keras_attn.serving.eight_bits import EightBitProducts

    model = model_of(task, weights, policy)
    if training:
        return {TRAIN: trainer(model, task)}
    functions = decoders(model, task, compiled)
    inputs = [tf.TensorSpec((None, None), tf.int32)]
    probed = {beams: (each, inputs) for beams, each in decoders(model, task).items()}
    with EightBitProducts(model, probed, products).apply():
        for function in functions.values():
            function.get_concrete_function()
    return decoding(functions, task)


def export(task, weights, folder):
    """Writes a SavedModel with a signature for each decoder."""
    model = model_of(task, weights)
    functions = decoders(model, task)
    holder = tf.Module()
    holder.weights = [variable.value for variable in model.weights]

    def signature(decode):
        spec = tf.TensorSpec((None, None), tf.int32, name="source")
        return tf.function(lambda source: {"tokens": decode(source)}, input_signature=[spec])

    signatures = {key: signature(functions[beams]) for beams, key in SIGNATURES.items()}
    tf.saved_model.save(holder, folder, signatures)


if __name__ == "__main__":
    if sys.argv[1:]:
        export(Task(**json.loads(sys.argv[1])), *sys.argv[2:])
    else:
        serve(works_of, Task, set_threads)
