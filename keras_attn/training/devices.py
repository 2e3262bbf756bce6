"""Where and in what precision to train: distribution strategies, precision, XLA."""

import contextlib
import functools
import os
from collections.abc import Mapping
from pathlib import Path

import keras

from keras_attn.cluster import MULTIWORKER, TF_CONFIG, Cluster
from keras_attn.lazy_tensorflow import tf
from keras_attn.tpu_package import TPU, check_tpu_package
from keras_attn.training.jax_devices import JaxDevices, bfloat16_pays, jax_strategy

STRATEGIES = ("one", "mirrored", MULTIWORKER, TPU)
AUTO = "auto"
TPU_ADDRESSES = ("TPU_NAME", "COLAB_TPU_ADDR", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS")
"""Environment variables in which TPU machines, Colab and Kubernetes give a TPU's address."""
LOCAL = "local"
"""What TensorFlow calls the TPU of this machine."""
PRECISIONS = ("auto", "float32", "bfloat16", "float16")


def strategy_for(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """The name of a strategy; for "auto", that of the strategy that this machine is for.

    Args:
        name: one of `STRATEGIES`, or "auto": "tpu" where the environment has the address of a TPU,
            or JAX finds one, "multiworker" where its TF_CONFIG names several workers, "mirrored"
            where there are several GPUs, and "one" otherwise, and always on PyTorch.
        environment: environment variables.

    Returns:
        one of `STRATEGIES`.

    Raises:
        ValueError: unknown name ("Expected a strategy of ('auto', 'one', 'mirrored',
            'multiworker', 'tpu'). Received: 'two'"); for "auto", a bad TF_CONFIG.

    Example:
        >>> strategy_for("auto", {"TPU_NAME": "local"})
        'tpu'
    """
    if name not in (AUTO, *STRATEGIES):
        raise ValueError(f"Expected a strategy of {(AUTO, *STRATEGIES)}. Received: {name!r}")
    if name != AUTO:
        return name
    if keras.backend.backend() == "jax":
        return jax_strategy()
    if keras.backend.backend() == "torch":
        return "one"
    if any(environment.get(variable) for variable in TPU_ADDRESSES):
        return "tpu"
    if environment.get(TF_CONFIG) and len(Cluster.read(environment).addresses) > 1:
        return MULTIWORKER
    return "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "one"


def strategy_named(name, resolver=None):
    """Makes a distribution strategy.

    Args:
        name: "one" (the default device), "mirrored" (all GPUs, or all logical CPUs where there is
            no GPU), "multiworker" (the workers that TF_CONFIG names, each with all its GPUs
            or one CPU; in one process always the same, see `MultiWorkerStrategy`) or "tpu" (the TPU
            that the environment names, or this machine's), or "auto", see `strategy_for`.
        resolver: function that makes a TPU cluster resolver; None for TensorFlow's.

    Returns:
        `tf.distribute.Strategy`; `JaxDevices` on the JAX backend, `OneDevice` on PyTorch.

    Raises:
        ValueError: unknown name; no TPU found, or a TensorFlow that cannot drive one; a bad
            TF_CONFIG, or TensorFlow has already run something, before it knew of other workers; on
            PyTorch, another than "one".
    """
    name = strategy_for(name)
    if keras.backend.backend() == "jax":
        return JaxDevices(name)
    if keras.backend.backend() == "torch":
        if name != "one":
            raise ValueError(f"Expected strategy 'one' on the PyTorch backend. Received: {name!r}")
        return OneDevice()
    if name == "one":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        gpus = tf.config.list_logical_devices("GPU")
        devices = gpus or tf.config.list_logical_devices("CPU")
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    if name == MULTIWORKER:
        return _multi_worker_strategy()
    check_tpu_package()
    return _tpu_strategy(resolver or _tpu_resolver)


def _tpu_resolver(environment=os.environ):
    named = any(environment.get(variable) not in (None, "", LOCAL) for variable in TPU_ADDRESSES)
    return tf.distribute.cluster_resolver.TPUClusterResolver(None if named else LOCAL)


def _tpu_strategy(resolver):
    try:
        cluster = resolver()
        tf.config.experimental_connect_to_cluster(cluster)
        tf.tpu.experimental.initialize_tpu_system(cluster)
    except (ValueError, RuntimeError, OSError, tf.errors.OpError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"Expected a TPU for strategy {TPU!r}. Received: {reason}") from error
    return tf.distribute.TPUStrategy(cluster)


@functools.cache
def _multi_worker_strategy():
    from keras_attn.training.multi_worker_strategy import MultiWorkerStrategy

    try:
        return MultiWorkerStrategy()
    except tf.errors.OpError as error:
        addresses = ", ".join(Cluster.read().addresses)
        reason = str(error.message).splitlines()[0]
        raise ValueError(f"Expected to meet workers {addresses}. Received: {reason}") from error
    except RuntimeError as error:
        raise ValueError(
            f"Expected strategy {MULTIWORKER!r} before TensorFlow has run anything in this "
            f"process. Received: {error}"
        ) from error


def precision_policy(precision="auto", strategy="one"):
    """The Keras dtype policy for a choice of precision.

    "auto" takes bfloat16 where it pays: on a TPU, on GPUs of compute capability 8 and up, on CPUs
    with AMX if TensorFlow computes; float32 elsewhere. "float16" is for GPUs of compute capability
    7, which have no bfloat16; the optimizer has to scale the loss, see `LossScaled`.

    Args:
        precision: "auto", "float32", "bfloat16" or "float16".
        strategy: name of the strategy.

    Returns:
        "float32", "mixed_bfloat16" or "mixed_float16".

    Raises:
        ValueError: unknown precision.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"Expected a precision of {PRECISIONS}. Received: {precision!r}")
    backend = keras.backend.backend()
    if backend == "jax" and precision == "float16":
        raise ValueError(
            "Expected precision 'auto', 'float32' or 'bfloat16' on the JAX backend. "
            f"Received: {precision!r}"
        )
    if precision == "auto":
        pays = {"jax": bfloat16_pays, "torch": _pays_on_torch}.get(backend, _fast_bfloat16)
        fast = strategy == "tpu" or pays()
        precision = "bfloat16" if fast else "float32"
    return precision if precision == "float32" else f"mixed_{precision}"


def _fast_bfloat16(cpu_info=Path("/proc/cpuinfo")):
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = (tf.config.experimental.get_device_details(gpu) for gpu in gpus)
        return all(device.get("compute_capability", (0, 0))[0] >= 8 for device in details)
    return cpu_info.exists() and "amx_bf16" in cpu_info.read_text(errors="replace")


def _pays_on_torch():
    import torch

    return torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 8


class OneDevice:
    """What `tf.distribute.get_strategy` is to TensorFlow: the device that Keras uses anyway.

    Attributes:
        num_replicas_in_sync: int, 1.
    """

    num_replicas_in_sync = 1

    def scope(self):
        """Context in which models are built, trained and restored."""
        return contextlib.nullcontext()


def jit_compile_for(strategy="one", small_steps=False):
    """Whether the training step should be compiled by XLA: on a TPU it is anyway.

    On one GPU it pays; on CPUs it costs bfloat16 its speed, and pays for small steps in float32
    alone; with several replicas it fails. On JAX every step is, on PyTorch none.

    Args:
        strategy: name of the strategy.
        small_steps: whether a step is many operations on few numbers, in float32.
    """
    if keras.backend.backend() != "tensorflow":
        return keras.backend.backend() == "jax"
    return strategy == "one" and (small_steps or bool(tf.config.list_physical_devices("GPU")))
