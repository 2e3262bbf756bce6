"""Figures whose text may be in scripts that matplotlib's own font lacks."""

import functools
import logging
from textwrap import fill

from keras_attn.extras import extra

with extra("pictures"):
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
    from matplotlib.text import Text

FALLBACKS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "Hiragino Sans",
    "PingFang SC",
    "Apple SD Gothic Neo",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "IPAexGothic",
    "Droid Sans Fallback",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Arial Unicode MS",
    "Unifont",
)
"""Fonts that are asked, if they are installed and in this order, for what matplotlib's lacks."""

NOTE_LETTERS, NOTE_INCHES = 14, 0.17
"""Letters of a note for each inch of a figure's width, and the height of its line."""


def _has_news(record):
    """Whether a line of matplotlib's log says more than that a font has a single weight."""
    return "Failed to find font weight" not in record.getMessage()


logging.getLogger("matplotlib.font_manager").addFilter(_has_news)


class ReadableFigure(Figure):
    """A matplotlib Figure whose texts take what their font lacks from other installed fonts.

    Args:
        **options: of Figure.
    """

    def __init__(self, **options):
        super().__init__(**options)
        FigureCanvasAgg(self)

    def add_note(self, text: str) -> None:
        """Writes a line below everything, small and gray, wrapped to the figure's width."""
        note = fill(text, max(round(NOTE_LETTERS * self.get_figwidth()), 30))
        if self.get_layout_engine() is not None:
            lines = note.count("\n") + 1
            self.set_figheight(self.get_figheight() + NOTE_INCHES * lines)
        self.supxlabel(note, fontsize=8, color="0.4")

    def draw(self, renderer):
        """Draws the figure; see Figure."""
        self.add_fallbacks()
        super().draw(renderer)

    def add_fallbacks(self) -> None:
        """Lets the texts there are take glyphs from other fonts; drawing does so too."""
        for text in self.findobj(Text):
            fonts = text.get_fontfamily()
            text.set_fontfamily([*fonts, *(name for name in fallbacks() if name not in fonts)])


@functools.cache
def fallbacks() -> tuple[str, ...]:
    """Those of FALLBACKS that are installed."""
    installed = {font.name for font in fontManager.ttflist}
    return tuple(name for name in FALLBACKS if name in installed)


def can_be_shown(character: str) -> bool:
    """Whether matplotlib's own font or an installed one of FALLBACKS has a character."""
    families = tuple(matplotlib.rcParams["font.family"])
    return ord(character) in _characters((*families, *fallbacks()))


def drawable(text: str) -> str:
    """The text with □ for what no font that is asked can show; $ is no mathematics."""
    visible = "".join(character if can_be_shown(character) else "□" for character in text)
    return visible.replace("$", r"\$")


@functools.cache
def _characters(families):
    """Code points for which one of some fonts has a glyph."""
    paths = [findfont(FontProperties(family=[name])) for name in families]
    return frozenset().union(*(get_font(path).get_charmap() for path in paths))
