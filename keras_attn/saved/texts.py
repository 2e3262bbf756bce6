"""Exported models that take texts."""

from collections.abc import Iterator, Sequence

from tqdm import tqdm

from keras_attn.contracts import END_PIECE, ERROR, LABEL_SCORES, LABELS, SOURCE, TAGS, TARGET
from keras_attn.saved.attended_pair import AttendedPair
from keras_attn.saved.results import Drawing
from keras_attn.saved.saved_model import BATCH, PROBABILITY, Saved, encoded_text, refuse_choices
from keras_attn.viz.alignment import Alignment, alignment_figure
from keras_attn.viz.every_head import EveryHead
from keras_attn.viz.explorer import ExplorerPage, ShadedView, TokenView
from keras_attn.viz.parsed_tree import ParsedTree, parsed_tree_figure
from keras_attn.viz.shaded_text import ShadedText, shaded_text_figure


class SavedTexts(Saved):
    """Abstract: an exported model that takes texts."""

    scored = (SOURCE, TARGET)

    def fed(self, item):
        """See `Saved`: a text."""
        return {SOURCE: encoded_text(item)}


class SavedTextModel(SavedTexts):
    """An exported model from text to text."""

    def align(
        self, sources: Sequence[str], targets: Sequence[str], progress: bool | None = None
    ) -> Iterator[AttendedPair | str]:
        """What the model attends to while it reads given targets, pair by pair.

        Args:
            sources: list of texts, words separated by white space.
            targets: list of as many texts.
            progress: whether to show a progress bar; None: on a terminal.

        Returns:
            iterator of `AttendedPair`, or str: why a pair could not be read.

        Raises:
            ValueError: no lists, or lists of different lengths; a model without the signature
                `align`.
        """
        for side in (sources, targets):
            if isinstance(side, str | bytes):
                raise ValueError(f"Expected lists of texts. Received: {side!r:.80}")
        if len(sources) != len(targets):
            raise ValueError(
                f"Expected as many targets as sources. Received: {len(targets)} and {len(sources)}"
            )
        if "align" not in self.signatures:
            raise ValueError(
                "Expected a SavedModel with a signature 'align'; export the run again. "
                f"Received: {self.folder}"
            )
        return self._aligned(sources, targets, progress)

    def _aligned(self, sources, targets, progress):
        hidden = None if progress is None else not progress
        with tqdm(total=len(sources), unit="pair", disable=hidden) as bar:
            for first in range(0, len(sources), BATCH):
                chunk = [list(texts[first : first + BATCH]) for texts in (sources, targets)]
                encoded = ([encoded_text(text) for text in texts] for texts in chunk)
                answers = self.ask("align", batch=BATCH, **dict(zip(self.scored, encoded)))
                for answer, source, target in zip(answers, *chunk):
                    yield _attended(answer, source, target)
                    bar.update()

    def drawn(self, asked, heads, word, layer):
        """See `Saved`: an alignment, or a parsed tree."""
        if layer is not None and word is None:
            raise ValueError(f"Expected a word with a layer. Received: layer={layer} alone")
        if heads is not None and word is not None:
            raise ValueError(f"Expected heads or a word. Received: heads={heads!r}, word={word!r}")
        if heads is not None or word is not None:
            every = EveryHead.of(self.answer_of("attention", asked))
            figure = every.word_figure(word, layer) if heads is None else every.figure(heads)
            return Drawing(every.text, figure, every)
        answer = self.answer_of("explain", asked)
        if TAGS in answer:
            tree = ParsedTree.of(answer)
            return Drawing(tree.text, parsed_tree_figure(tree), tree)
        alignment = Alignment.of(answer).in_words()
        return Drawing(alignment.text, alignment_figure(alignment), alignment)

    def explore(self, asked):
        """See `Saved`: the alignment of words, or of brackets with words, and every head."""
        answer = self.answer_of("explain", asked)
        views, source = [], encoded_text(asked).decode(errors="replace")
        if TAGS in answer:
            tree = ParsedTree.of(answer)
            words = (*tree.words, END_PIECE)
            weights, titles = tree.weights[None, None], ("tree", "sentence")
            views.append(TokenView("Brackets", tree.symbols, words, weights, titles))
        if "attention" in self.signatures:
            views += EveryHead.of(self.answer_of("attention", asked)).views()
        elif not views:
            alignment = Alignment.of(answer).in_words()
            weights = alignment.weights[None, None]
            views.append(TokenView("Alignment", alignment.target, alignment.source, weights))
        return ExplorerPage(source, self.best_of(answer), views)


def _attended(answer, source, target):
    """`AttendedPair`, or why there is none."""
    if error := answer[ERROR].decode():
        return error
    try:
        return AttendedPair.of(answer, source, target)
    except ValueError as error:
        return str(error)


class SavedTextClassifier(SavedTexts):
    """An exported classifier of texts."""

    answered = (LABELS, LABEL_SCORES)

    def drawn(self, asked, heads, word, layer):
        """See `Saved`: the text, each word shaded by its weight; neither heads nor words."""
        refuse_choices("a classifier of texts", heads=heads, word=word, layer=layer)
        shaded = ShadedText.of(self.answer_of("explain", asked))
        return Drawing(shaded.label, shaded_text_figure(shaded), shaded)

    def explore(self, asked):
        """See `Saved`: the text, each word shaded by its weight."""
        answer = self.answer_of("explain", asked)
        shaded = ShadedText.of(answer)
        view = ShadedView("Weight of each word", shaded.words, shaded.weights)
        source = encoded_text(asked).decode(errors="replace")
        return ExplorerPage(source, self.best_of(answer), [view], PROBABILITY)
