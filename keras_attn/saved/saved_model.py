"""An exported model of any kind; needs TensorFlow's libraries, but none of the model's code."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from keras_attn.checks import check_choice
from keras_attn.contracts import (
    ERROR,
    METADATA_FILE,
    SCORE,
    SENTENCES,
    SOURCE,
    TARGET,
    TERMS,
    TEXT,
    WITHOUT_VIEWS,
)
from keras_attn.progress import Progress
from keras_attn.saved.attended_pair import AttendedPair
from keras_attn.saved.data_types import STRING, type_name
from keras_attn.saved.earlier import views_of
from keras_attn.saved.inputs import check_fit, encoded_text, in_words, inputs_named, text_of
from keras_attn.saved.occlusion import occlusion_view
from keras_attn.saved.predictor import BATCH, Predictor, answered_by
from keras_attn.saved.results import NATS, Drawing, best_of
from keras_attn.saved.session import SavedSession
from keras_attn.serving.declared import VIEWS, check_views, read_metadata
from keras_attn.serving.requests import joined
from keras_attn.text.detokenize import spaced
from keras_attn.viz.declared import DeclaredView, Note, read_views
from keras_attn.viz.declared.matrices import Heads
from keras_attn.viz.declared.pictures import PictureMap
from keras_attn.viz.explorer import ExplorerPage
from keras_attn.viz.views import PictureView

ATTENTION, OCCLUSION = "attention", "occlusion"
"""What an answer is explained by: where the model looked, or what changes the answer."""


class Saved(Predictor):
    """An exported model, called by its signatures; `keras_attn.load` makes one.

    What it takes is known from the names of its inputs, what can be drawn from the views that it
    declares.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.

    Attributes:
        takes: `Inputs`, the kind of its inputs.
        views: declared views of its answers; the first is what `explain` draws.
        notes: `Note`s about its answers.
        answered: names of the outputs with answers and with their scores.

    Raises:
        ValueError: no SavedModel there, damaged metadata, or inputs that `predict` cannot feed.
    """

    def __init__(self, folder):
        self._session = SavedSession(folder)
        self.folder = self._session.folder
        signatures = self._session.signatures
        inputs = {name: set(signature.inputs) for name, signature in signatures.items()}
        outputs = self._session.output_types()
        feeds = self._session.signature("serving_default").inputs
        is_ours = (self.folder / METADATA_FILE).is_file()
        self.metadata = read_metadata(self.folder) if is_ours else {}
        try:
            for name, tensor in feeds.items():
                if tensor.dtype != STRING:
                    kind = type_name(tensor.dtype)
                    raise ValueError(
                        f"Expected a SavedModel of strings. Received: {name} of type {kind}"
                    )
            self.takes = inputs_named(inputs["serving_default"])
            if self.takes_pictures:
                check_fit(self.metadata)
            declared = self.metadata.get(VIEWS)
            if declared is None:
                names = {name: set(kinds) for name, kinds in outputs.items()}
                views = views_of(inputs["serving_default"], names, self.metadata)
            else:
                views = read_views(declared)
            check_views(views, inputs, outputs)
        except ValueError as error:
            raise ValueError(f"{error}, in {self.folder}") from error
        self.views = [view for view in views if isinstance(view, DeclaredView)]
        self.notes = [view for view in views if isinstance(view, Note)]
        self.answered = answered_by(outputs["serving_default"])

    @property
    def signatures(self) -> frozenset[str]:
        """Names of the signatures."""
        return frozenset(self._session.signatures)

    @property
    def scored(self) -> tuple[str, str]:
        """What an input is called, and what a text that is scored is called."""
        given = self.inputs_of("score") if "score" in self.signatures else []
        targets = sorted(set(given) - set(self.inputs_of("serving_default")))
        return self.takes.name, (targets or [TEXT])[0]

    @property
    def version(self) -> str:
        """The version, a number; 1 where the folder is not named for one."""
        return self._session.version

    def inputs_of(self, signature: str) -> list[str]:
        """Names of a signature's inputs.

        Raises:
            ValueError: no such signature.
        """
        return self._session.inputs_of(signature)

    def outputs(self, signature: str, columns: Mapping[str, Sequence[bytes]]) -> dict[str, Any]:
        """A signature's outputs as NumPy arrays, for all rows at once.

        Args:
            signature: its name.
            columns: dict of its inputs, each a list of B strings or an array of them.

        Raises:
            ValueError: no such signature, or other inputs.
        """
        return self._answer(signature, columns)

    def signature_shapes(self) -> dict[str, Any]:
        """The signatures as JSON, as TF Serving describes them."""
        return self._session.signature_shapes()

    def __repr__(self):
        return f"{type(self).__name__}({str(self.folder)!r})"

    @property
    def terms(self) -> str:
        """Terms of use in a line, as `keras-attn export --terms` wrote them; often ''."""
        return str(self.metadata.get(TERMS, ""))

    def explain(
        self, asked: Any, heads=None, word=None, layer=None, by: str = ATTENTION, scale=None
    ) -> Drawing:
        """A picture of where the model looked for its answer, or of what changes the answer.

        Args:
            asked: an input, see `predict`.
            heads: name of a view, such as "encoder", "decoder" or "cross" for every layer and head
                of it; None: the first view.
            word: str. What this word of the text attends to, or None.
            layer: int. With `word`, the layer, from 1.
            by: "attention"; or "occlusion", how much less probable each word of the answer is
                without each region, word or fact of the input, see `keras_attn.saved.occlusion`.
            scale: of the colors of a picture with several words, "each" or "all"; None: the
                view's own.

        Raises:
            ValueError: an unreadable input, no such view, or a scale of what is no picture.
        """
        check_choice("by", by, (ATTENTION, OCCLUSION))
        view = self._view(heads, word, layer) if by == ATTENTION else self._occluded(heads, word)
        fed = self.takes.feed(asked)
        answer = self._answer_to(self._explaining if view is None else view.signature, fed, asked)
        words = in_words(fed, self.metadata)
        best, title = best_of(answer)
        text, title = self._sentence(best), self._sentence(title)
        if others := [value for name, value in words.items() if name != self.takes.name]:
            title = f"{' '.join(others)} → {title}"
        if view is None:
            result = occlusion_view(self, fed, answer, best)
        else:
            result = view.read(answer, words)
        if scale is not None:
            if not isinstance(result, PictureView):
                raise ValueError(f"Expected a scale only for pictures. Received: scale={scale!r}")
            result = replace(result, scale=scale)
        notes = self.notes_on(answer)
        caption = f"{text} ({'; '.join(notes)})" if notes else text
        drawn = result.figure(title) if word is None else result.word_figure(word, layer, title)
        drawn.add_note(result.quantity.meaning)
        return Drawing(caption, drawn, result)

    def explore(self, asked: Any, by: str = ATTENTION) -> ExplorerPage:
        """A page of HTML to look at the answer, and at where the model looked, by hand.

        Args:
            asked: an input, see `predict`.
            by: "attention", or "occlusion" for what changes the answer before it, see `explain`.

        Returns:
            `ExplorerPage`; a notebook shows it, `save` writes it.

        Raises:
            ValueError: an unreadable input, or a model without views.
        """
        check_choice("by", by, (ATTENTION, OCCLUSION))
        first = self._explaining
        if by == OCCLUSION:
            self.check_scores()
        else:
            self._check_views()
        fed = self.takes.feed(asked)
        names = dict.fromkeys([first, *(view.signature for view in self.views)])
        answers = {name: self._answer_to(name, fed, asked) for name in names}
        words = in_words(fed, self.metadata)
        views = [view.read(answers[view.signature], words) for view in self.views]
        if by == OCCLUSION:
            views.insert(0, occlusion_view(self, fed, answers[first], best_of(answers[first])[0]))
        best = self.prediction(answers[first]).alternatives
        other_views = []
        if by == ATTENTION and self.unit == NATS:
            leading = [view for view in self.views if view.signature == first]
            other_views = [
                [view.read(answers[first], words, index) for view in leading]
                for index in range(1, len(best))
            ]
        notes = self.notes_on(answers[first])
        return ExplorerPage(self._title(asked, words), best, views, self.unit, notes, other_views)

    def align(
        self, sources: Sequence[str], targets: Sequence[str], progress: bool | None = None
    ) -> Iterator[AttendedPair | str]:
        """What a model from text to text attends to while it reads given targets, pair by pair.

        Args:
            sources: list of texts, words separated by white space.
            targets: list of as many texts.
            progress: whether to show progress; None: on a terminal.

        Returns:
            iterator of `AttendedPair`, or str: why a pair could not be read.

        Raises:
            ValueError: no lists, or lists of different lengths; a model without the signature
                `align`.
        """
        for side in (sources, targets):
            if isinstance(side, str | bytes) or not isinstance(side, Sequence):
                raise ValueError(f"Expected lists of texts. Received: {side!r:.80}")
        if len(sources) != len(targets):
            raise ValueError(
                f"Expected as many targets as sources. Received: {len(targets)} and {len(sources)}"
            )
        if "align" not in self.signatures:
            raise ValueError(
                "Expected a SavedModel with a signature 'align', of a model from text to text. "
                f"Received: {self.folder}"
            )
        return self._aligned(sources, targets, progress)

    def _aligned(self, sources, targets, progress):
        with Progress("aligning", len(sources), "pair", progress) as done:
            for first in range(0, len(sources), BATCH):
                chunk = [list(texts[first : first + BATCH]) for texts in (sources, targets)]
                encoded = ([encoded_text(text) for text in texts] for texts in chunk)
                answers = self.ask("align", batch=BATCH, **dict(zip((SOURCE, TARGET), encoded)))
                for answer, source, target in zip(answers, *chunk):
                    yield _attended(answer, source, target)
                    done.update()

    def score(self, first: Any, second: str) -> float:
        """Log-probability in nats of a text, given a picture or another text.

        Raises:
            ValueError: an unreadable input, or a model that scores no texts.
        """
        self.check_scores()
        text = encoded_text(second)
        if self.metadata.get(SENTENCES) is False:
            text = encoded_text(spaced(text.decode(errors="surrogateescape")))
        fed = {**self.takes.feed(first), self.scored[1]: text}
        (answer,) = self.ask("score", batch=1, **{key: [value] for key, value in fed.items()})
        if error := answer[ERROR].decode():
            raise ValueError(f"{in_message(first)} and {in_message(second)}: {error}")
        return float(answer[SCORE])

    def check_scores(self) -> None:
        """Raises ValueError for a model that scores no given texts."""
        if "score" not in self.signatures:
            raise ValueError(
                "Expected a SavedModel with a signature 'score'; predict gives the probabilities "
                f"of other models' answers. Received: {self.folder}"
            )

    def _answer_to(self, signature, fed, asked):
        """A signature's answer to one input, as it is fed and as a message repeats it."""
        (answer,) = self.ask(signature, batch=1, **{key: [value] for key, value in fed.items()})
        if error := answer[ERROR].decode():
            raise ValueError(f"{in_message(asked)}: {error}")
        return answer

    @property
    def _explaining(self):
        """The signature that says most about an answer."""
        return "explain" if "explain" in self.signatures else "serving_default"

    def _occluded(self, heads, word):
        """Checks that an answer can be explained by occlusion; None for the view that is drawn."""
        self.check_scores()
        if heads is not None or word is not None:
            raise ValueError(
                f"Expected neither heads nor a word by occlusion. Received: {heads=}, {word=}"
            )

    def _check_views(self):
        if not self.views:
            way_out = self.metadata.get(WITHOUT_VIEWS)
            raise ValueError(
                "Expected a SavedModel with views of where it looked. "
                f"Received: {self.folder}, which declares none"
                f"{f'; {way_out}' if isinstance(way_out, str) else ''}"
            )

    def _view(self, heads, word, layer):
        """The view that is drawn."""
        self._check_views()
        if heads is None and word is None and layer is None:
            return self.views[0]
        names = [view.heads for view in self.views if view.heads]
        follows = [view for view in self.views if isinstance(view, Heads | PictureMap)]
        following = [view for view in follows if view.follows_words]
        named = [view for view in self.views if view.heads and view.heads == heads]
        if heads is not None and named and word is None and layer is None:
            return named[0]
        if heads is None and word is not None and following:
            return following[0]
        choices = [f"heads={', '.join(names)}"] * bool(names)
        choices += ["a word with an optional layer"] * bool(following)
        raise ValueError(
            f"Expected {', or '.join(choices) or 'neither heads nor a word'} for {self.folder}. "
            f"Received: heads={heads!r}, word={word!r}, layer={layer}"
        )

    def _title(self, asked, words):
        """What a page calls an input."""
        if self.takes_pictures:
            return str(asked) if isinstance(asked, str | Path) else "a picture"
        text = words[self.takes.name]
        return "; ".join(text) if isinstance(text, list) else text_of(asked)

    def _answer(self, signature, chunk):
        return self._session.outputs(signature, {key: _strings(chunk[key]) for key in chunk})


def _strings(values):
    """Values of an input as an array of bytes; anything but texts and bytes is a ValueError."""
    values = joined(values)
    array = values if isinstance(values, np.ndarray) else np.array(values, object)
    flat = [encoded_text(value) for value in array.ravel().tolist()]
    strings = np.empty(len(flat), object)
    strings[:] = flat
    return strings.reshape(array.shape)


def _attended(answer, source, target):
    """`AttendedPair`, or why there is none."""
    if error := answer[ERROR].decode():
        return error
    try:
        return AttendedPair.of(answer, source, target)
    except ValueError as error:
        return str(error)


def in_message(asked: Any) -> str:
    """An input as a message repeats it."""
    if isinstance(asked, Path):
        return str(asked)
    return f"{asked!r:.80}" if isinstance(asked, str) else "the input"
