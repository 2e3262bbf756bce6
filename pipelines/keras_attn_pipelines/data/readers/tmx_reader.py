"""TMX, the exchange format of translation memories."""

import io
import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from keras_attn.text_file import bytes_of
from keras_attn.untrusted import DamagedFileError
from keras_attn_pipelines.data.columns import Columns
from keras_attn_pipelines.data.record import Reader, Record

TMX = ".tmx"
LANGUAGES = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")
FIRST_UNITS = 20
"""In which both languages have to be found."""
CODES = ("bpt", "ept", "it", "ph", "ut")
"""Elements inside a text that hold the markup of another program."""


def read_tmx(path: Path, columns: Columns) -> Iterator[Record]:
    """Yields the records of units, whose languages are the columns; of several texts in one
    language, a record for each pair.

    A language also stands for its variants, such as en for en-US, if there is only one.

    Raises:
        ValueError: the XML is damaged, or a language has several variants.
    """
    names = columns.first.lower(), columns.second.lower()
    variants: tuple[set[str], set[str]] = set(), set()
    for number, unit in enumerate(_units(path), 1):
        found, place = _texts(unit), f"unit {number}: "
        known = [_variants(found, name) for name in names]
        for name, own, seen in zip(names, known, variants):
            seen.update(own)
            if len(seen) > 1:
                raise ValueError(
                    f"Expected one variant of {name} in {path} (set "
                    f"{' and '.join(columns.known.flags)}). Received: {', '.join(sorted(seen))}"
                )
        if not all(known):
            said = f"no text in {' and '.join(names)}; languages: {', '.join(found) or 'none'}"
            yield Record(0, reason=f"{place}{said}")
            continue
        for source, target in itertools.product(*(found[own[0]] for own in known)):
            yield Record(0, source, target)


def open_tmx(path: Path, columns: Columns) -> tuple[str, Reader]:
    """The name of the format, and its reader.

    Raises:
        ValueError: damaged XML, or columns that are no languages of the first units.
    """
    first = itertools.islice(_units(path), FIRST_UNITS)
    there = dict.fromkeys(language for unit in first for language in _texts(unit))
    if not all(_variants(there, name.lower()) for name in (columns.first, columns.second)):
        raise ValueError(
            f"Expected the languages of source and target in {path} (set "
            f"{' and '.join(columns.known.flags)}). Received: {', '.join(there) or 'none'}"
        )
    return "TMX", partial(read_tmx, path, columns)


def _units(path) -> Iterator[ElementTree.Element]:
    try:
        for _, element in ElementTree.iterparse(io.BytesIO(bytes_of(path))):
            element.tag = element.tag.rpartition("}")[2]  # Without its namespace.
            if element.tag == "tu":
                yield element
                element.clear()
    except ElementTree.ParseError as error:
        raise DamagedFileError(f"Expected TMX in {path}. Received: {error}") from error


def _texts(unit) -> dict[str, list[str]]:
    """The texts in each language of a unit."""
    texts: dict[str, list[str]] = {}
    for variant in unit.iter("tuv"):
        language = next(filter(None, map(variant.get, LANGUAGES)), "").lower()
        texts.setdefault(language, []).append(" ".join(map(_plain, variant.iter("seg"))))
    return texts


def _plain(element) -> str:
    """The text in an element without the markup of other programs."""
    inside = "" if element.tag in CODES else element.text or ""
    for child in element:
        inside += ("" if child.tag in CODES else _plain(child)) + (child.tail or "")
    return inside


def _variants(languages, name) -> list[str]:
    """The language of a name, or else its variants."""
    variants = [own for own in languages if own.replace("_", "-").startswith(f"{name}-")]
    return [name] if name in languages else variants
