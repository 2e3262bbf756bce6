"""Optimizers with a clip of the global gradient: Adam with slow layers, and SGD."""

import keras
from keras import ops

from keras_attn.lazy_tensorflow import tf
from keras_attn.training.schedules import paper_schedule


@keras.saving.register_keras_serializable(package="keras_attn")
class ClippedSGD(keras.optimizers.SGD):
    """Stochastic gradient descent that clips the norm of the gradient of the global batch.

    Keras' own `global_clipnorm` clips each replica's part before the sum, so that two devices
    train differently from one.

    Args:
        learning_rate: float or Keras schedule.
        clip_norm: float > 0 or None. Largest norm of the gradient of the global batch.
        **kwargs: of `keras.optimizers.SGD`.

    Raises:
        ValueError: a number out of its range.
    """

    def __init__(self, learning_rate=0.01, clip_norm=None, name="clipped_sgd", **kwargs):
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        self.clip_norm = _check_norm(clip_norm)

    def _clip_gradients(self, grads):
        return _clip_early(grads, self.clip_norm, super()._clip_gradients)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return _clip_late(super()._all_reduce_sum_gradients(grads_and_vars), self.clip_norm)

    def get_config(self):
        return {**super().get_config(), "clip_norm": self.clip_norm}


@keras.saving.register_keras_serializable(package="keras_attn")
class ClippedAdam(keras.optimizers.Adam):
    """Adam that clips the gradient as `ClippedSGD` does.

    On TensorFlow an update of a float32 variable is one operation, which goes once over weights,
    moments and gradient where Keras' own Adam goes twelve times; the numbers are the same. Rows of
    an embedding that a batch reads several times are added first: Keras' own Adam on TensorFlow
    squares each of them by itself, and so trains embeddings otherwise than on other backends.

    One layer, or some, may learn more slowly, and later, than the rest: their updates are scaled,
    since Adam does not feel a scaled gradient. Until its first step a slow layer rests, whether it
    has gradients or not; from then on its moments are those of an Adam that starts there. Slow
    layers have no weight decay.

    Args:
        learning_rate: float or Keras schedule.
        clip_norm: float > 0 or None. Largest norm of the gradient of the global batch.
        slow_layer: str, sequence of strs, or None. Names of slow layers.
        slow_rate: float > 0. Its learning rate as a share of the others'.
        slow_from: int ≥ 0. The optimizer step from which it learns.
        **kwargs: of `keras.optimizers.Adam`.

    Raises:
        ValueError: a number out of its range.
    """

    def __init__(
        self,
        learning_rate=1e-3,
        clip_norm=None,
        slow_layer=None,
        slow_rate=1.0,
        slow_from=0,
        name="clipped_adam",
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        self.clip_norm = _check_norm(clip_norm)
        if not slow_rate > 0 or slow_from < 0:
            raise ValueError(
                "Expected slow_rate > 0 and slow_from >= 0. "
                f"Received: slow_rate={slow_rate}, slow_from={slow_from}"
            )
        self.slow_layer, self.slow_rate, self.slow_from = slow_layer, slow_rate, slow_from
        single = slow_layer is None or isinstance(slow_layer, str)
        self._slow_names = {slow_layer} if single else set(slow_layer)

    def build(self, variables):
        """Makes the moments; notes which variables are slow layers'."""
        slow = {
            place: variable
            for place, variable in enumerate(variables)
            if self._slow_names & set(variable.path.split("/"))
        }
        if not self.built:
            self.exclude_from_weight_decay(var_list=list(slow.values()))
        super().build(variables)
        self._slow = set(slow)

    def apply(self, grads, trainable_variables=None):
        """As in Keras, but a slow layer without gradients is no mistake."""
        if trainable_variables is None or not self.built:
            return super().apply(grads, trainable_variables)
        pairs = list(zip(grads, trainable_variables))
        pairs = [
            (gradient, variable)
            for gradient, variable in pairs
            if gradient is not None or not self._is_slow(variable)
        ]
        return super().apply(*map(list, zip(*pairs)))

    def update_step(self, gradient, variable, learning_rate):
        """Adam's update, scaled for the slow layer."""
        gradient = added(gradient)
        if self._is_slow(variable):
            step = self.iterations - self.slow_from
            gradient = ops.where(step >= 0, gradient, ops.zeros_like(gradient))
            learning_rate = learning_rate * self.slow_rate * self._later_start(step)
        if self.amsgrad or not _one_kernel(gradient, variable):
            super().update_step(gradient, variable, learning_rate)
            return
        place, step = self._get_variable_index(variable), ops.cast(self.iterations + 1, "float32")
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[place].value.handle,
            v=self._velocities[place].value.handle,
            beta1_power=ops.power(self.beta_1, step),
            beta2_power=ops.power(self.beta_2, step),
            lr=ops.cast(learning_rate, "float32"),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )

    def _is_slow(self, variable):
        return self._get_variable_index(variable) in self._slow

    def _later_start(self, step):
        """What makes Adam's correction of young moments, √(1 − β₂ᵗ) / (1 − β₁ᵗ), that of `step`."""
        since_start, common = ops.cast(ops.maximum(step, 0) + 1, "float32"), self.iterations + 1
        first, second = (
            (1 - ops.power(beta, since_start)) / (1 - ops.power(beta, ops.cast(common, "float32")))
            for beta in (self.beta_1, self.beta_2)
        )
        return ops.sqrt(second) / first

    def _clip_gradients(self, grads):
        return _clip_early(grads, self.clip_norm, super()._clip_gradients)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return _clip_late(super()._all_reduce_sum_gradients(grads_and_vars), self.clip_norm)

    def get_config(self):
        names = ("clip_norm", "slow_layer", "slow_rate", "slow_from")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def _check_norm(clip_norm):
    """The largest norm of the gradient of the global batch, or None for any.

    Raises:
        ValueError: clip_norm ≤ 0.
    """
    if clip_norm is not None and clip_norm <= 0:
        raise ValueError(f"Expected clip_norm > 0 or None. Received: clip_norm={clip_norm}")
    return clip_norm


def _clip_early(gradients, norm, clip):
    """Gradients clipped; on TensorFlow, where replicas are summed later, by Keras alone."""
    if norm is None or keras.backend.backend() == "tensorflow":
        return clip(gradients)
    return clipped(gradients, norm)


def _clip_late(pairs, norm):
    """Pairs of a gradient, summed over replicas, and its variable: the gradients clipped."""
    if norm is None:
        return pairs
    gradients, variables = zip(*pairs)
    return list(zip(clipped(gradients, norm), variables))


def clipped(gradients, norm):
    """Gradients scaled so that the norm of all together is at most `norm`; None stays None.

    Rows of TensorFlow's `IndexedSlices` that are there more than once, as of a word that an
    embedding has read twice, are added; the result has no `IndexedSlices`.

    Example:
        >>> result = clipped([ops.array([3.0]), None, ops.array([4.0])], 1.0)
        >>> [None if value is None else round(float(value[0]), 4) for value in result]
        [0.6, None, 0.8]
    """
    whole = [None if gradient is None else added(gradient) for gradient in gradients]
    squares = [
        ops.sum(ops.square(ops.cast(gradient, "float32")))
        for gradient in whole
        if gradient is not None
    ]
    scale = norm / ops.maximum(ops.sqrt(sum(squares)), norm)
    return [
        None if gradient is None else gradient * ops.cast(scale, gradient.dtype)
        for gradient in whole
    ]


def added(gradient):
    """A gradient as one tensor."""
    if keras.backend.backend() != "tensorflow" or not isinstance(gradient, tf.IndexedSlices):
        return gradient
    values, places = gradient.values, gradient.indices
    return tf.math.unsorted_segment_sum(values, places, gradient.dense_shape[0])


def _one_kernel(gradient, variable):
    """Whether TensorFlow's own operation can do Adam's update."""
    return (
        keras.backend.backend() == "tensorflow"
        and isinstance(gradient, tf.Tensor)
        and gradient.dtype == variable.dtype == tf.float32
        and hasattr(variable, "handle")
    )


def paper_adam(hidden_dim, warmup_steps=4000, clip_norm=None):
    """The optimizer that the Transformer was trained with: Adam with β₂ 0.98 and ε 1e-9.

    Args:
        hidden_dim: int ≥ 1. d_model, see `paper_schedule`.
        warmup_steps: int ≥ 1, in optimizer steps.
        clip_norm: float > 0 or None, as the paper has none.

    Returns:
        `ClippedAdam`.

    Source: Vaswani et al. 2017, arXiv:1706.03762, 5.3.
    """
    schedule = paper_schedule(hidden_dim, warmup_steps)
    return ClippedAdam(schedule, clip_norm, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
