"""Readers of services: encoded pictures and strings to a model's features."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "facts": ["FactReader"],
        "pictures": ["PictureReader"],
        "questions": ["QuestionReader"],
        "reader": ["Read", "Reader"],
        "sentences": ["SentenceReader"],
        "texts": ["TextReader"],
    },
)
