"""Devices that JAX trains on."""

import contextlib

import keras

from keras_attn.lazy_tensorflow import tf


class JaxDevices:
    """What `tf.distribute` is to TensorFlow: one device, or all, which share every batch.

    Several devices compute the step of the whole batch together
    (`keras.distribution.DataParallel`), so that a batch needs a multiple of them in rows.
    TensorFlow, where it reads the data, leaves GPUs to JAX from then on.

    Args:
        name: "one", "mirrored" (all devices of JAX's platform) or "tpu" (all cores of a TPU).

    Attributes:
        num_replicas_in_sync: int. Devices that share a batch.

    Raises:
        ValueError: another strategy; "tpu" without a TPU.
    """

    def __init__(self, name):
        if name not in ("one", "mirrored", "tpu"):
            raise ValueError(
                "Expected strategy 'one', 'mirrored' or 'tpu' on the JAX backend. "
                f"Received: {name!r}"
            )
        if name == "tpu" and jax_platform() != "tpu":
            raise ValueError(
                f"Expected a TPU for strategy 'tpu'. Received: JAX finds a {jax_platform()} only"
            )
        # TensorFlow has initialized its GPUs, or is missing.
        with contextlib.suppress(RuntimeError, ImportError):
            tf.config.set_visible_devices([], "GPU")
        devices = keras.distribution.list_devices()
        self.num_replicas_in_sync = 1 if name == "one" else len(devices)
        self._distribution = None
        if self.num_replicas_in_sync > 1:
            self._distribution = keras.distribution.DataParallel(devices=devices)

    def scope(self):
        """Context in which models are built, trained and restored."""
        is_single = self._distribution is None
        return contextlib.nullcontext() if is_single else self._distribution.scope()


def check_even(spec, devices: int) -> None:
    """Raises ValueError unless devices can share batches evenly.

    Args:
        spec: `element_spec` of a data set of batches; rows that differ from batch to batch are not
            checked.
        devices: number of them.
    """
    for part in keras.tree.flatten(spec):
        rows = part.shape[0] if part.shape.rank else None
        if rows is not None and rows % devices:
            raise ValueError(
                f"Expected batches of a multiple of {devices} rows, which {devices} devices of JAX "
                f"share evenly. Received: {rows} rows; set --batch-size"
            )


def jax_platform() -> str:
    """What JAX computes on: "cpu", "gpu" or "tpu"."""
    return keras.distribution.list_devices()[0].partition(":")[0]


def jax_strategy() -> str:
    """The strategy that this machine is for: "tpu", "mirrored" (several GPUs) or "one"."""
    platform, count = jax_platform(), len(keras.distribution.list_devices())
    if platform == "tpu":
        return "tpu"
    return "mirrored" if platform == "gpu" and count > 1 else "one"


def bfloat16_pays() -> bool:
    """Whether JAX is faster in bfloat16: on TPUs, and on GPUs of compute capability 8 and up.

    On CPUs, XLA does not use AMX.
    """
    import jax

    if jax_platform() != "gpu":
        return jax_platform() == "tpu"
    return all(float(device.compute_capability) >= 8 for device in jax.devices())
