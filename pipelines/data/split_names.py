"""Names of split files and folders."""

SPLIT_NAMES = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation"),
    "test": ("test",),
}
