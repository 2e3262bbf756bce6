"""Pictures of attention. They need Pillow and matplotlib."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "alignment": ["Alignment", "alignment_figure"],
        "attention": ["Explanation", "explanation_figure"],
        "caption_heads": ["CaptionHeads"],
        "every_head": ["EveryHead"],
        "heads": ["heads_figure", "words_figure"],
        "parsed_tree": ["ParsedTree", "parsed_tree_figure"],
        "picture_heads": ["PictureHeads", "rollout_figure"],
        "shaded_text": ["ShadedText", "shaded_text_figure"],
        "sampling": ["film", "sampling_figure"],
    },
)
