"""keras-attn in `vision_speed`."""

import keras
import numpy as np
import tensorflow as tf

from benchmarks.tensorflow_threads import set_threads
from benchmarks.vision_speed import CAPTIONS, FORWARD, TRAIN, Task, turns
from benchmarks.worker import serve
from keras_attn.contracts import END_ID
from keras_attn.decoding import Beam, Greedy, MinimumLength, decode
from keras_attn.models.captioner.captioner import Captioner
from keras_attn.models.captioner.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.transformer.transformer_config import DECODER, LEARNED, TransformerConfig
from keras_attn.models.vision_transformer.image_classifier import ImageClassifier
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.models.vision_transformer.vision_transformer_config import VisionTransformerConfig
from keras_attn.training.optimizers import ClippedAdam


def encoder_of(task, layers, units, hidden, heads):
    """A `VisionTransformer`."""
    sizes = {"num_layers": layers, "hidden_dim": units, "intermediate_dim": hidden}
    size = (task.size, task.size)
    return VisionTransformer(VisionTransformerConfig(size, task.patch, num_heads=heads, **sizes))


def captioner_of(task):
    """A `Captioner` that is only Transformers."""
    units, heads = task.tiny_units, task.tiny_heads
    sizes = TransformerConfig(
        task.vocabulary,
        num_layers=task.decoder_layers,
        hidden_dim=units,
        intermediate_dim=4 * units,
        num_heads=heads,
        key_dim=units // heads,
        value_dim=units // heads,
        normalize_first=True,
        positions=LEARNED,
        max_sequence_length=64,
        tied=DECODER,
    )
    encoder = encoder_of(task, task.tiny_layers, units, 4 * units, heads)
    model = Captioner(encoder, TransformerCaptionDecoder(sizes), (task.size, task.size), 0.0)
    model.build()
    return model


def captioning(task):
    """The works of a captioner, by name; every caption has its greatest length."""
    model = captioner_of(task)

    # A batch of any size, as in an exported model.
    signature = [tf.TensorSpec((None, task.size, task.size, 3), tf.uint8)]

    def work(beams, batch):
        strategy = Beam(beams) if beams > 1 else Greedy()

        @tf.function(input_signature=signature)
        def captions(images):
            limits = [MinimumLength(task.length)]
            return decode(model, images, strategy, task.length, False, limits).tokens

        images = tf.constant(task.images(batch))

        def all_captions():
            return [int(np.sum(captions(images).numpy()[0, 0] != END_ID)) for _ in turns(batch)]

        return all_captions

    return {name: work(*sizes) for name, sizes in CAPTIONS.items()}


def encoding(task):
    """The works of an encoder, by name."""
    encoder = encoder_of(task, task.layers, task.units, task.hidden, task.heads)
    model = ImageClassifier(encoder, 10)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(ClippedAdam(1e-4), loss)
    images = tf.constant(task.images(task.pictures))
    data = tf.data.Dataset.from_tensors((images, np.arange(task.pictures) % 10))
    iterator = iter(data.repeat())
    model.make_train_function()
    forward = tf.function(lambda pictures: encoder(pictures, training=False), autograph=False)
    return {
        FORWARD: lambda: float(tf.reduce_sum(tf.cast(forward(images), tf.float32))),
        TRAIN: lambda: float(model.train_function(iterator)["loss"]),
    }


def works_of(task, policy, captions):
    """The works of one contender."""
    keras.config.set_dtype_policy(policy)
    return captioning(task) if captions else encoding(task)


if __name__ == "__main__":
    serve(works_of, Task, set_threads)
