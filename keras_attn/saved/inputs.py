"""Inputs of an exported model: pictures, texts, facts, and stories with a question."""

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from keras_attn.contracts import FACTS, IMAGE, QUESTION, SOURCE, STORY
from keras_attn.images.picture_format import (
    CROP,
    FITS,
    SHORTEST_EDGE,
    SQUASH,
    PictureFormat,
)
from keras_attn.saved.picture_paths import expand_pictures, path_error
from keras_attn.saved.seen_picture import read_picture
from keras_attn.text.fact_json import facts_of, parsed_facts

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


@dataclass(frozen=True)
class Inputs:
    """Conversion of a user's inputs to what the signatures are fed.

    Attributes:
        name: what an input is called, the name of an input of `serving_default`.
        feed: what the signatures are fed, by name, of an input: bytes, or arrays of them. Raises
            ValueError for something of another kind.
        example: an input to try, as a user types it; '' for none.
        expand: the inputs that a user named, one by one: a list of str.
        check: raises ValueError for an input that cannot be answered, before any is; None: `feed`.
    """

    name: str
    feed: Callable[[Any], dict[str, Any]]
    example: str = ""
    expand: Callable[[Sequence[str]], list[str]] = list
    check: Callable[[Any], Any] | None = None

    def reason(self, item: Any) -> str:
        """Why an input cannot be answered; '' if it can."""
        try:
            (self.check or self.feed)(item)
        except ValueError as error:
            return str(error)
        return ""


def text_inputs(name: str) -> Inputs:
    """Texts, of a name."""
    example = "Two dogs play in the snow." if name == SOURCE else ""
    return Inputs(name, lambda text: {name: encoded_text(text)}, example)


def inputs_named(names: set[str]) -> Inputs:
    """The kind of inputs of a `serving_default`.

    Args:
        names: of its inputs.

    Raises:
        ValueError: several inputs that are no story with a question.
    """
    if names == {STORY, QUESTION}:
        return STORIES
    if len(names) != 1:
        raise ValueError(
            f"Expected a SavedModel with one input, or with {STORY} and {QUESTION}. "
            f"Received: {', '.join(sorted(names)) or 'none'}"
        )
    (name,) = names
    return {IMAGE: PICTURES, FACTS: FACT_SETS}.get(name) or text_inputs(name)


def in_words(fed: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What signatures are fed, as declared views read it: pixels of a picture, texts, and of an
    array, such as facts, a line for each row.

    Args:
        fed: bytes, strings or arrays of them, by the name of each input.
        metadata: of the service. Where its pictures are cropped, so are these.
    """
    words: dict[str, Any] = {}
    for name, value in fed.items():
        if name == IMAGE:
            words[name] = _seen(read_picture(value), metadata)
        elif isinstance(value, bytes | str):
            words[name] = text_of(value)
        else:
            rows = (
                row if isinstance(row, bytes | str) else fact_line(map(text_of, row))
                for row in value
            )
            words[name] = [text_of(row) for row in rows]
    return words


def check_fit(metadata: Mapping[str, Any]) -> None:
    """Raises ValueError for metadata that do not say how pictures are fitted."""
    fit, size = metadata.get("fit", SQUASH), metadata.get("image_size")
    if fit not in FITS:
        raise ValueError(f"Expected fit to be one of {', '.join(FITS)}. Received: {fit!r:.80}")
    sides, edge = size if isinstance(size, list) else [], metadata.get("resized_edge")
    if fit == SQUASH and edge is None:
        return
    if not (len(sides) == 2 and all(type(s) is int and s >= 1 for s in sides)):
        raise ValueError(f"Expected two sides in pixels as image_size. Received: {size!r:.80}")
    if edge is not None and type(edge) is not int:
        raise ValueError(f"Expected an integer as resized_edge. Received: {edge!r:.80}")
    height, width = sides
    PictureFormat(height, width, fit, resized_edge=edge)


def _seen(pixels, metadata):
    """The part of a picture, uint8 (height, width, 3), that a model sees, see `PictureFormat`."""
    fit, size = metadata.get("fit", SQUASH), metadata.get("image_size")
    edge = metadata.get("resized_edge")
    if fit == CROP:
        pixels = _center(pixels, size)
    if fit == SHORTEST_EDGE:
        shortest = min(pixels.shape[:2])
        whole = [side * (edge or max(size)) // shortest for side in pixels.shape[:2]]
    elif edge:
        whole = [side * edge // min(size) for side in size]
    else:
        return pixels
    return _middle(pixels, [round(p * s / w) for p, s, w in zip(pixels.shape, size, whole)])


def _center(pixels, size):
    """The largest centered box of an aspect ratio."""
    (rows, columns), (high, wide) = pixels.shape[:2], size
    height = min(rows, max(columns * high // wide, 1))
    width = min(columns, max(rows * wide // high, 1))
    return _middle(pixels, (height, width))


def _middle(pixels, size):
    """The central part of a size, of at least one pixel."""
    top, left = ((side - part) // 2 for side, part in zip(pixels.shape, size))
    height, width = (max(part, 1) for part in size)
    return pixels[top : top + height, left : left + width]


def text_of(value):
    """A text, given as such or as its bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def fact_line(fact: Iterable[str]) -> str:
    """A fact in a line.

    Example:
        >>> fact_line(("Ada", "field", "computing")), fact_line(("", "name", "Ada"))
        ('Ada | field | computing', 'name | Ada')
    """
    return " | ".join(part for part in fact if part)


def encoded_text(text: str | bytes) -> bytes:
    """A text as bytes, surrogates as the bytes they stand for.

    Raises:
        ValueError: no text, or one with a surrogate that stands for no byte.
    """
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise ValueError(f"Expected a text. Received: {text!r:.80}")
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise ValueError(
            f"Expected a text that is UTF-8. Received: {text!r:.80}, with a lone surrogate"
        ) from None


def picture_bytes(item: Any) -> bytes:
    """A picture as an encoded file.

    Args:
        item: path, bytes of a file, or uint8 array (height, width, 3) or (height, width).

    Raises:
        ValueError: something else, or no such file.
        OSError: a file that cannot be read.
    """
    if isinstance(item, bytes):
        return item
    if isinstance(item, str | Path):
        if error := path_error(item):
            raise ValueError(f"Expected a picture. Received: {str(item)!r:.80}, {error}")
        return Path(item).read_bytes()
    data = io.BytesIO()
    Image.fromarray(_pixels(item)).save(data, "PNG")
    return data.getvalue()


def _pixels(item):
    """A picture that is an array.

    Raises:
        ValueError: something else.
    """
    expected = "Expected a path, the bytes of a picture, or uint8 of shape (height, width, 3). "
    try:
        array = np.asarray(item)
    except ValueError:
        raise ValueError(f"{expected}Received: {item!r:.80}") from None
    is_shape = array.ndim in (2, 3) and array.shape[2:] in ((), (3,)) and array.size
    if array.dtype != np.uint8 or not is_shape:
        raise ValueError(
            f"{expected}Received: a {type(item).__name__}, {array.dtype} of shape {array.shape}"
        )
    return array


def story_and_question(text: str) -> tuple[bytes, bytes]:
    """A story, a sentence on each line, and the question, which is the last sentence of a text.

    Raises:
        ValueError: no text.

    Example:
        >>> story_and_question("Mary went home. John left. Where is Mary?")
        (b'Mary went home.\\nJohn left.', b'Where is Mary?')
    """
    text = encoded_text(text).decode(errors="surrogateescape")
    sentences = [part.strip() for part in SENTENCE_END.split(text) if part.strip()]
    return encoded_text("\n".join(sentences[:-1])), encoded_text("".join(sentences[-1:]))


def _facts(item):
    """The facts of an input: triples, or JSON.

    Raises:
        ValueError: no facts.
    """
    if isinstance(item, bytes):
        item = item.decode(errors="surrogateescape")
    return parsed_facts(item) if isinstance(item, str) else facts_of(item)


def _fact_strings(item):
    strings = [[encoded_text(part) for part in fact] for fact in _facts(item)]
    return {FACTS: np.array(strings, object).reshape(-1, 3)}


def _check_picture(item):
    """Raises ValueError for a path that is no file, or an array that is no picture."""
    if isinstance(item, str | Path):
        if error := path_error(item):
            raise ValueError(error)
    elif not isinstance(item, bytes):
        _pixels(item)


PICTURES = Inputs(
    IMAGE, lambda item: {IMAGE: picture_bytes(item)}, expand=expand_pictures, check=_check_picture
)
"""Paths of pictures, encoded bytes, or uint8 arrays, which are fed as PNG."""
FACT_SETS = Inputs(
    FACTS,
    _fact_strings,
    '[["Ada Lovelace", "birth place", "London"], ["Ada Lovelace", "field", "mathematics"]]',
)
"""Lists of triples, or JSON: a list of triples, or an object with "triples" or with a "table" of
fields and values."""
STORIES = Inputs(
    STORY,
    lambda item: dict(zip((STORY, QUESTION), story_and_question(item))),
    "Mary went to the kitchen. John went to the garden. Where is Mary?",
)
"""Texts whose last sentence is the question, and whose other sentences are the story."""
