"""keras-hub's ViT in `vision_speed`, with random weights."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from benchmarks.tensorflow_threads import set_threads
from benchmarks.vision_speed import FORWARD, TRAIN, Task
from benchmarks.worker import serve


def works_of(task, policy, captions):
    """The works of one contender, which writes no captions."""
    keras.config.set_dtype_policy(policy)
    backbone = keras_hub.models.ViTBackbone(
        image_shape=(task.size, task.size, 3),
        patch_size=task.patch,
        num_layers=task.layers,
        num_heads=task.heads,
        hidden_dim=task.units,
        mlp_dim=task.hidden,
    )
    model = keras_hub.models.ViTImageClassifier(backbone, num_classes=10, preprocessor=None)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(1e-4), loss=loss, jit_compile=False)
    images = task.images(task.pictures).astype("float32") / 127.5 - 1
    labels = np.arange(task.pictures) % 10
    data = iter(tf.data.Dataset.from_tensors((images, labels)).repeat())
    model.make_train_function()
    forward = tf.function(lambda pictures: backbone(pictures, training=False), autograph=False)
    given = tf.constant(images)
    return {
        FORWARD: lambda: float(tf.reduce_sum(tf.cast(forward(given), tf.float32))),
        TRAIN: lambda: float(model.train_function(data)["loss"]),
    }


if __name__ == "__main__":
    serve(works_of, Task, set_threads)
