"""Names by which files and folders are known for splits."""

SPLIT_NAMES = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation"),
    "test": ("test",),
}
