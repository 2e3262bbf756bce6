"""Pictures of attention. They need Pillow and matplotlib."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "head_tracks": ["head_tracks_figure"],
        "heads": ["heads_figure", "words_figure"],
        "matrix": ["matrix_figure"],
        "picture_heads": ["PictureHeads"],
        "picture_panels": ["panels_figure", "rollout_figure", "steps_figure"],
        "sampling": ["film", "sampling_figure"],
        "shaded_text": ["shaded_text_figure"],
        "trees": ["tree_figure"],
    },
)
