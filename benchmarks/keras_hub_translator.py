"""keras-hub's BART in `transformer_speed`: of the same shape, but with weights of its own."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import keras_hub
import numpy as np

from benchmarks.tensorflow_threads import set_threads
from benchmarks.translation_task import DECODING, TRAIN, Task, decoding_works
from benchmarks.worker import serve

START = 2


def works_of(task, weights, policy, training=False):
    """The works; its weights are of its own."""
    keras.config.set_dtype_policy(policy)
    backbone = keras_hub.models.BartBackbone(
        vocabulary_size=task.vocabulary,
        num_layers=task.layers,
        num_heads=task.heads,
        hidden_dim=task.units,
        intermediate_dim=task.hidden,
        dropout=0.1,
        max_sequence_length=max(128, task.target + 1),
    )
    if training:
        return {TRAIN: trainer(backbone, task)}
    decoders = {
        1: decoder(backbone, task, keras_hub.samplers.GreedySampler()),
        4: decoder(backbone, task, keras_hub.samplers.BeamSampler(num_beams=4)),
    }
    return decoding_works(task, lambda rows, beams: decoders[beams](rows), DECODING)


def decoder(backbone, task, sampler):
    """A function that decodes so many sentences."""
    model = keras_hub.models.BartSeq2SeqLM(backbone=backbone, preprocessor=None)
    model.compile(sampler=sampler, jit_compile=True)
    sources = task.sources()

    def run(rows):
        given = sources[:rows]
        tokens = np.zeros((len(given), task.target + 1), "int32")
        tokens[:, 0] = START
        batch = {
            "encoder_token_ids": given,
            "encoder_padding_mask": np.ones_like(given),
            "decoder_token_ids": tokens,
            "decoder_padding_mask": (tokens > 0).astype("int32"),
        }
        model.generate(batch, stop_token_ids=None)
        return tokens

    return run


def trainer(backbone, task):
    """A function that does one training step."""
    model = keras_hub.models.BartSeq2SeqLM(backbone=backbone, preprocessor=None)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(1e-4), loss=loss, jit_compile=False)
    source, target = task.pairs_of_tokens()
    batch = {
        "encoder_token_ids": source,
        "encoder_padding_mask": np.ones_like(source),
        "decoder_token_ids": target,
        "decoder_padding_mask": np.ones_like(target),
    }
    return lambda: float(np.ravel(model.train_on_batch(batch, target))[0])


if __name__ == "__main__":
    serve(works_of, Task, set_threads)
