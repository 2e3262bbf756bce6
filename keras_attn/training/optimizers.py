"""The optimizer: Adam with warm-up, cosine decay and a clip of the global gradient."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_attn")
class ClippedAdam(keras.optimizers.Adam):
    """Adam that clips the norm of the whole gradient after it is summed over replicas.

    Keras' own `global_clipnorm` clips each replica's part before the sum, so that two devices
    train differently from one.

    Args:
        learning_rate: float or Keras schedule.
        clip_norm: float > 0 or None. Largest norm of the gradient of the global batch.
        **kwargs: of `keras.optimizers.Adam`.
    """

    def __init__(self, learning_rate=1e-3, clip_norm=None, name="clipped_adam", **kwargs):
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        if clip_norm is not None and clip_norm <= 0:
            raise ValueError(f"Expected clip_norm > 0 or None. Received: clip_norm={clip_norm}")
        self.clip_norm = clip_norm

    def _all_reduce_sum_gradients(self, grads_and_vars):
        pairs = super()._all_reduce_sum_gradients(grads_and_vars)
        if self.clip_norm is None:
            return pairs
        gradients, variables = zip(*pairs)
        clipped, _ = tf.clip_by_global_norm(gradients, self.clip_norm)
        return list(zip(clipped, variables))

    def get_config(self):
        return {**super().get_config(), "clip_norm": self.clip_norm}


def warmup_cosine(learning_rate, warmup_steps, total_steps):
    """Schedule: from 0 up to `learning_rate` in `warmup_steps`, then by a cosine to 0.

    Args:
        learning_rate: float. The peak.
        warmup_steps: int ≥ 0, in optimizer steps.
        total_steps: int. Steps of the whole training, warm-up included.

    Returns:
        `keras.optimizers.schedules.CosineDecay`.

    Raises:
        ValueError: warmup_steps ≥ total_steps.
    """
    if not 0 <= warmup_steps < total_steps:
        raise ValueError(
            f"Expected 0 <= warmup_steps < total_steps={total_steps}. "
            f"Received: warmup_steps={warmup_steps}"
        )
    return keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=0.0 if warmup_steps else learning_rate,
        decay_steps=total_steps - warmup_steps,
        warmup_target=learning_rate if warmup_steps else None,
        warmup_steps=warmup_steps,
    )
