"""Names and sizes that the modules of the classification tasks share."""

IMAGE, LOGITS = "image", "logits"
LABELS = "labels"
"""Name of the vocabulary."""
TOP = 5
"""So many labels, the most probable, are looked at in an evaluation."""
DISTORTED_SIZES = {
    "rotation": 28,
    "rotation_scale_translation": 42,
    "projective": 42,
    "elastic": 28,
    "cluttered": 60,
}
"""Pixels a side of the digits of each distortion."""
