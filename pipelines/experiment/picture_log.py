"""Where a run directory keeps pictures for TensorBoard."""

from pathlib import Path


def picture_log(folder: Path) -> Path:
    """TensorBoard's folder for pictures, in a run directory."""
    return Path(folder) / "tensorboard" / "attention"
