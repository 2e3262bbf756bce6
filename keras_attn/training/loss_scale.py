"""Loss scaling, which keeps small gradients above zero in float16."""

import keras
from keras import ops

from keras_attn.lazy_tensorflow import tf
from keras_attn.ops.replicas import sum_over_replicas

INITIAL_SCALE = 2.0**15
GROWTH_STEPS = 2000


@keras.saving.register_keras_serializable(package="keras_attn")
class LossScaled(keras.optimizers.LossScaleOptimizer):
    """An optimizer for float16: the loss is scaled, and its gradients are scaled back.

    Unlike Keras' own `LossScaleOptimizer`,

    - a step is skipped if the gradient of any replica is not finite, where Keras asks the first
      replica alone;
    - `iterations` counts skipped steps too: it says how many batches were seen, so that training
      resumes with the batch that comes next. `inner_optimizer.iterations`, which learning rates
      and slow layers follow, counts the steps that were taken.

    The inner optimizer gets gradients that are scaled back: it clips and averages those.

    Args:
        inner_optimizer: `keras.optimizers.Optimizer`.
        initial_scale: float > 0. It halves at each step that is skipped.
        dynamic_growth_steps: int ≥ 1. After so many steps in a row that were not, it doubles.

    Example:
        >>> optimizer = LossScaled(keras.optimizers.SGD(1.0), initial_scale=8.0)
        >>> weight = keras.Variable([5.0])
        >>> optimizer.apply([ops.array([16.0])], [weight])
        >>> optimizer.apply([ops.array([np.inf])], [weight])
        >>> float(weight[0]), float(optimizer.dynamic_scale), int(optimizer.iterations)
        (3.0, 4.0, 2)

    Source: Micikevicius et al. 2018, arXiv:1710.03740, 3.2.
    """

    def __init__(
        self,
        inner_optimizer,
        initial_scale=INITIAL_SCALE,
        dynamic_growth_steps=GROWTH_STEPS,
        name="loss_scaled",
        **kwargs,
    ):
        super().__init__(inner_optimizer, initial_scale, dynamic_growth_steps, name, **kwargs)

    @property
    def iterations(self):
        """Batches seen, those of skipped steps included; on JAX, steps taken."""
        if keras.backend.backend() != "tensorflow":
            return super().iterations
        return self._iterations

    def apply(self, grads, trainable_variables=None):
        super().apply(grads, trainable_variables)
        self._iterations.assign_add(1)

    def check_finite(self, grads):
        """Whether the gradients of all replicas are finite."""
        values = [gradient for gradient in grads if gradient is not None]
        if keras.backend.backend() == "tensorflow":
            values = [
                value.values if isinstance(value, tf.IndexedSlices) else value for value in values
            ]
        bad = sum(
            ops.sum(ops.cast(ops.logical_not(ops.isfinite(value)), "float32")) for value in values
        )
        return ops.equal(sum_over_replicas(bad), 0.0)


def scaled_for(policy: str, optimizer):
    """The optimizer for a precision: with loss scaling in float16, as it is otherwise.

    Args:
        policy: name of the Keras dtype policy, see `precision_policy`.
        optimizer: Keras optimizer.
    """
    return LossScaled(optimizer) if policy == "mixed_float16" else optimizer
