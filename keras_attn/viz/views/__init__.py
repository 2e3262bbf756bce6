"""Views of one answer: figures, and parts of the explorer's page."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "picture_view": ["PictureView"],
        "sampling_view": ["SamplingView"],
        "shaded_view": ["ShadedView"],
        "token_view": ["TokenView"],
        "track_view": ["TrackView"],
        "tree_view": ["TreeView"],
        "view": ["View"],
    },
)
