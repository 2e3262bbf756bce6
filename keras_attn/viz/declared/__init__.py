"""Views that a service declares: which of its answers can be looked at, and as what."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "axes": ["Before", "Numbered", "Pieces", "Requested", "Strings"],
        "declared_view": ["DeclaredView"],
        "matrices": ["Heads", "Matrix"],
        "notes": ["Note"],
        "pictures": ["PictureMap", "Samples"],
        "reading": ["read_views"],
        "texts": ["ShadedText", "Tracks", "Tree"],
    },
)
