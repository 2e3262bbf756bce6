"""Writers of services: decoded tokens to text, and probabilities to labels."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "brackets": ["BracketWriter"],
        "labels": ["LabelWriter"],
        "plain_text": ["TextWriter"],
        "slots": ["SlotWriter"],
        "writer": ["Writer"],
    },
)
