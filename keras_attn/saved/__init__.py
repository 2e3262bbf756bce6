"""Exported models from Python: answers, scores and pictures; none of the model's code is needed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "attended_pair": ["AttendedPair"],
        "loading": ["load"],
        "results": ["Drawing", "Prediction"],
    },
)
