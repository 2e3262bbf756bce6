"""The package by which TensorFlow drives a TPU."""

from importlib import metadata

TPU = "tpu"
"""Name of the strategy that trains on one."""
TPU_PACKAGE = "tensorflow-tpu"


def check_tpu_package() -> None:
    """Raises ValueError where TensorFlow is not the build that drives a TPU."""
    try:
        metadata.version(TPU_PACKAGE)
    except metadata.PackageNotFoundError:
        raise ValueError(
            f"Expected KERAS_BACKEND=jax for strategy {TPU!r} (pip install 'jax[tpu]'), or the "
            f"package {TPU_PACKAGE} instead of tensorflow. Received: a TensorFlow that cannot "
            "drive a TPU"
        ) from None
