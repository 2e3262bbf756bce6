"""Statistical word alignment; needs NumPy, SciPy and numba, neither Keras nor TensorFlow."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "aligner": ["Aligner"],
        "most_attended": ["attention_links"],
        "error_rate": ["AlignmentScores", "Gold", "alignment_scores"],
        "fertility_models": ["fertility_alignments"],
        "files": ["SentencePairs", "pharaoh", "read_gold", "read_pairs"],
        "options": ["AlignerOptions"],
        "saved_aligner": ["load_aligner", "save_aligner"],
        "symmetrization": ["SYMMETRIZATIONS", "symmetrize"],
    },
)
