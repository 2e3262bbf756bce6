"""Statistical word alignment; needs NumPy and SciPy, neither Keras nor TensorFlow."""

from keras_attn.alignment.aligner import Aligner
from keras_attn.alignment.error_rate import AlignmentScores, Gold, alignment_scores
from keras_attn.alignment.fertility_models import fertility_alignments
from keras_attn.alignment.files import SentencePairs, pharaoh, read_gold, read_pairs
from keras_attn.alignment.options import AlignerOptions
from keras_attn.alignment.saved_aligner import load_aligner, save_aligner
from keras_attn.alignment.symmetrization import SYMMETRIZATIONS, symmetrize

__all__ = [
    "SYMMETRIZATIONS",
    "Aligner",
    "AlignerOptions",
    "AlignmentScores",
    "Gold",
    "SentencePairs",
    "alignment_scores",
    "fertility_alignments",
    "load_aligner",
    "pharaoh",
    "read_gold",
    "read_pairs",
    "save_aligner",
    "symmetrize",
]
