"""Names and sizes shared by the classification tasks."""

IMAGE, LOGITS = "image", "logits"
SOURCE = "source"
LABELS, TOKENIZER = "labels", "tokenizer"
"""Names of the vocabularies; only classifiers of texts have the second."""
TOP = 5
"""k of the top-k accuracy in an evaluation."""
DISTORTED_SIZES = {
    "rotation": 28,
    "rotation_scale_translation": 42,
    "projective": 42,
    "elastic": 28,
    "cluttered": 60,
}
"""Side of the pictures of each distortion, in pixels."""
