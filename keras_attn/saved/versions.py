"""The folders of a SavedModel and of its versions."""

from pathlib import Path


def version_number(folder: Path) -> str:
    """The version that a folder is named for; 1 where it is named for none."""
    return folder.name if folder.name.isdecimal() else "1"


def version_folder(folder) -> Path:
    """The folder of a SavedModel: `folder` itself or the highest of the versions in it.

    Raises:
        ValueError: no SavedModel there.
    """
    folder = Path(folder)
    numbered = (entry for entry in folder.glob("*") if entry.name.isdecimal())
    versions = [version for version in numbered if (version / "saved_model.pb").is_file()]
    if not (folder / "saved_model.pb").is_file() and versions:
        folder = max(versions, key=lambda version: int(version.name))
    if not (folder / "saved_model.pb").is_file():
        raise ValueError(f"Expected a SavedModel or numbered versions of one. Received: {folder}")
    return folder
