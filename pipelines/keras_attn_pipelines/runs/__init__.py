"""Training, resuming, averaging, evaluation and export of any experiment."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "prepared": ["Prepared", "prepare"],
        "run": ["Run"],
        "warm_start": ["WarmStart"],
    },
)
