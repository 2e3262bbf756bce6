"""The models that come with the project."""

from pathlib import Path

BUNDLED = Path(__file__).resolve().parents[2] / "saved_models"
"""Where a checkout of the project has its models; an installed package has none."""


def model_folder(named) -> Path:
    """The folder of a model.

    Args:
        named: path of a folder, or the name of a model in `saved_models` of a checkout.

    Raises:
        ValueError: no such folder.
    """
    folder = Path(named)
    if folder.exists():
        return folder
    if len(folder.parts) == 1 and (BUNDLED / folder).is_dir():
        return BUNDLED / folder
    hint = ""
    if len(folder.parts) == 1:
        hint = f"; a release has its models beside the package: unzip {folder}.zip, give its folder"
    raise ValueError(
        "Expected a SavedModel or numbered versions of one. "
        f"Received: {folder}, no such folder{hint}"
    )
