"""keras-attn in `transformer_speed`: in Python, or as a SavedModel that TensorFlow alone runs."""

import json
import subprocess
import sys

import numpy as np
import tensorflow as tf

from benchmarks.translation_task import BEAM, GREEDY, SHOW, SINGLE, TRAIN, Task
from benchmarks.worker import serve


def model_of(task, weights, policy="float32"):
    """The `Transformer` with the weights of an .npz."""
    import keras

    from keras_attn.models.transformer.transformer import Transformer
    from keras_attn.models.transformer.transformer_config import TransformerConfig

    keras.config.set_dtype_policy(policy)
    each = task.units // task.heads
    sizes = {"num_layers": task.layers, "hidden_dim": task.units, "intermediate_dim": task.hidden}
    heads = {"num_heads": task.heads, "key_dim": each, "value_dim": each}
    model = Transformer(TransformerConfig(task.vocabulary, **sizes, **heads, epsilon=1e-5))
    model.build()
    with np.load(weights) as arrays:
        for variable in model.weights:
            own = arrays[variable.path.split("/", 1)[1]]
            variable.assign(own.reshape(variable.shape))
    return model


def decoders(model, task, compiled=False):
    """Functions of a graph, or compiled by XLA, from sources to tokens (B, T), by name."""
    from keras_attn.decoding import Beam, Greedy, decode

    def decoder(strategy):
        def tokens(source):
            return decode(model, source, strategy, task.target, with_weights=False).tokens[:, 0]

        spec = tf.TensorSpec((None, None), tf.int32, name="source")
        return tf.function(
            tokens, input_signature=[spec], autograph=False, jit_compile=compiled or None
        )

    return {GREEDY: decoder(Greedy()), BEAM: decoder(Beam(4))}


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


def works(decoding, task):
    """The works of decoding, by name."""
    source = tf.constant(task.sources())

    def done(name, rows):
        return lambda: int(decoding[name](source[:rows]).numpy().shape[1])

    def show():
        return {name: value(source).numpy().tolist() for name, value in decoding.items()}

    return {GREEDY: done(GREEDY, None), BEAM: done(BEAM, None), SINGLE: done(GREEDY, 1), SHOW: show}


def make(settings):
    """The works of one contender: `exported` runs a SavedModel, `compiled` decodes by XLA,
    `training` trains."""
    task = Task(**settings["task"])
    tf.config.threading.set_intra_op_parallelism_threads(task.cores)
    tf.config.threading.set_inter_op_parallelism_threads(task.cores)
    if settings.get("exported"):
        program = [sys.executable, "-m", "benchmarks.our_translator"]
        given = [json.dumps(settings["task"]), settings["weights"], settings["exported"]]
        subprocess.run([*program, *given], check=True)  # Keras would count in the memory.
        loaded = tf.saved_model.load(settings["exported"]).signatures
        names = {GREEDY: "greedy", BEAM: "beam"}
        decoding = {
            name: lambda source, key=key: loaded[key](source=source)["tokens"]
            for name, key in names.items()
        }
        return works(decoding, task)
    model = model_of(task, settings["weights"], settings["policy"])
    if settings.get("training"):
        return {TRAIN: trainer(model, task)}
    return works(decoders(model, task, settings.get("compiled", False)), task)


def export(task, weights, folder):
    """Writes a SavedModel with a signature for each decoder."""
    model = model_of(task, weights)
    decoding = decoders(model, task)
    holder = tf.Module()
    holder.weights = [variable.value for variable in model.weights]

    def signature(decode):
        spec = tf.TensorSpec((None, None), tf.int32, name="source")
        return tf.function(lambda source: {"tokens": decode(source)}, input_signature=[spec])

    signatures = {"greedy": signature(decoding[GREEDY]), "beam": signature(decoding[BEAM])}
    tf.saved_model.save(holder, folder, signatures)


if __name__ == "__main__":
    if sys.argv[1:]:
        export(Task(**json.loads(sys.argv[1])), *sys.argv[2:])
    else:
        serve(make)
