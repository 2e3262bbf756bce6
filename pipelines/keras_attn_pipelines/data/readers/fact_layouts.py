"""Facts with texts as their data sets have them: WebNLG, GEM, DART, E2E, ToTTo."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from keras_attn.text.fact_json import Fact, triple_parts, triples_in
from keras_attn.text_file import bytes_of
from keras_attn.untrusted import naming_damage, scalar_text
from keras_attn_pipelines.data.facts import FactRecord, FactSet

UNMARKED = "en"
"""The language of texts in WebNLG that name none."""
GOOD = ("", "good")
"""How WebNLG marks texts that are usable."""


class Lex(NamedTuple):
    """A text of an entry.

    Attributes:
        text: itself.
        language: its code; '' if the data set has none.
        mark: of its quality; '' if unmarked.
        order: its facts in the order of their mention, from 0; empty if unknown.
    """

    text: str
    language: str = ""
    mark: str = ""
    order: Sequence[int] = ()


Entry = tuple[tuple[Fact, ...], Sequence[Lex], Any]
"""Facts, their texts, which may be in several languages, and the category of the facts."""


def records_of(
    value: Any, entry_of: Callable[[Any], Entry], name: str, line: int = 0
) -> list[FactRecord]:
    """The records of an entry: one for each language, and one for each text marked as bad; if it is
    malformed, an unusable one.

    Args:
        value: JSON or XML.
        entry_of: function that makes an `Entry` of it.
        name: what messages call it.
        line: of the entry, from 1, or 0 if unknown.
    """
    try:
        return list(_records_of(entry_of(value), line))
    except ValueError as error:
        return [unusable_facts(line, str(error))]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        received = f"{type(error).__name__} {error}"
        return [unusable_facts(line, f"expected {name}, received {received}")]


def unusable_facts(line: int, reason: str, language: str = "") -> FactRecord:
    """An unusable record."""
    return FactRecord(FactSet((), (), line=line), reason, language=language)


def _records_of(entry, line) -> Iterator[FactRecord]:
    facts, lexes, category = entry
    said: dict[str, list[Lex]] = {} if lexes else {"": []}
    for lex in lexes:
        if not isinstance(lex.text, str):
            raise ValueError(f"the text is not a string: {lex.text!r:.40}")
        own, mark = said.setdefault(lex.language.strip().lower(), []), lex.mark.strip()
        if mark.lower() in GOOD:
            own.append(lex)
        else:
            yield unusable_facts(line, f"a text marked {mark!r:.40}", lex.language.strip().lower())
    category = category if isinstance(category, str) else ""
    for language, own in said.items():
        texts = tuple(lex.text for lex in own)
        orders = tuple(tuple(lex.order) for lex in own)
        yield FactRecord(FactSet(facts, texts, orders, category, line), language=language)


def read_webnlg(path: Path) -> Iterator[FactRecord]:
    """Yields the records of an XML file of WebNLG, of 2017, 2020 or 2023: an entry for each of its
    languages. Texts marked as bad are unusable records.

    Raises:
        ValueError: damaged XML.
    """
    data = bytes_of(path)
    with naming_damage(f"XML in {path}"):
        root = ElementTree.fromstring(data)
    for number, entry in enumerate(root.iter("entry"), 1):
        for record in records_of(entry, _webnlg_xml, "an entry of WebNLG"):
            reason = record.reason and f"entry {number}: {record.reason}"
            yield replace(record, reason=reason)


def _webnlg_xml(entry: ElementTree.Element) -> Entry:
    facts = triples_in(node.text for node in entry.iterfind("modifiedtripleset/mtriple"))
    lexes = []
    for lex in entry.iterfind("lex"):
        said = [triple_parts(node.text) for node in lex.iterfind("sortedtripleset//striple")]
        order = dict.fromkeys(facts.index(fact) for fact in said if fact in facts)
        text = (lex.findtext("text") or lex.text or "").strip()
        lexes.append(_lex(text, lex.get("lang"), lex.get("comment"))._replace(order=list(order)))
    return facts, lexes, entry.get("category", "")


def _lex(text, language=None, comment=None):
    """A text of WebNLG, of which a language or a mark that is missing may be empty or None."""
    return Lex(text, (language or "").strip() or UNMARKED, comment or "")


def _webnlg(value) -> Entry:
    """WebNLG as it is released."""
    facts = tuple(
        (fact["subject"], fact["property"], fact["object"]) for fact in value["modifiedtripleset"]
    )
    lexes = [
        _lex(lex["lex"], lex.get("lang"), lex.get("comment")) for lex in value["lexicalisations"]
    ]
    return facts, lexes, value.get("category")


def _hub_webnlg(value) -> Entry:
    """WebNLG as hubs have it."""
    (triples, *_) = value["modified_triple_sets"]["mtriple_set"]
    lex = value["lex"]
    empty = [""] * len(lex["text"])
    marks = zip(lex["text"], lex.get("lang") or empty, lex.get("comment") or empty)
    return triples_in(triples), [_lex(*own) for own in marks], value.get("category")


def _is_gem(value):
    facts = value.get("input")
    is_listed = isinstance(facts, list) and facts and all(isinstance(fact, str) for fact in facts)
    return bool(is_listed) and not {"triples", "table"} & set(value)


def _gem(value) -> Entry:
    """GEM's WebNLG: triples in strings; its texts are its references, or its target."""
    texts = value.get("references") or [value.get("target")]
    return triples_in(value["input"]), list(map(Lex, texts)), value.get("category")


def _dart(value) -> Entry:
    """DART: lists of three parts, and annotations."""
    for number, fact in enumerate(value["tripleset"], 1):
        if not (isinstance(fact, list) and list(map(type, fact)) == [str] * 3):
            raise ValueError(f"fact {number} without three parts")
    facts = tuple((subject, name, thing) for subject, name, thing in value["tripleset"])
    return facts, [Lex(annotation["text"]) for annotation in value["annotations"]], ""


def _totto(value) -> Entry:
    """A table as ToTTo's: each highlighted cell is a fact of the page, whose property is the cell's
    header."""
    title = value.get("table_page_title")
    subject = title if isinstance(title, str) else ""
    texts = [said["final_sentence"] for said in value.get("sentence_annotations") or []]
    facts = tuple(_cells(value["table"], value["highlighted_cells"], subject))
    return facts, list(map(Lex, texts)), ""


def _cells(table, highlighted, subject):
    """A fact of each highlighted cell, whose header is the nearest one above or left of it."""
    grid = [_spread(row) for row in table]
    for row, place in highlighted:
        cell = table[row][place]
        column = sum(int(other.get("column_span", 1)) for other in table[row][:place])
        above = [
            own[column] for own in grid[:row] if column < len(own) and own[column]["is_header"]
        ]
        left = [other for other in table[row][:place] if other["is_header"]]
        header = [*above, *left][-1:] or [{"value": "value"}]
        yield subject, scalar_text(header[0]["value"]), scalar_text(cell["value"])


def _spread(row: Sequence[Mapping[str, Any]]):
    """The cells of a row by their columns."""
    return [cell for cell in row for _ in range(int(cell.get("column_span", 1)))]


def _has(*keys):
    return lambda value: set(keys) <= set(value)


OBJECTS = (
    ("an entry of WebNLG", _has("lexicalisations"), _webnlg),
    ("an entry of WebNLG", _has("lex", "modified_triple_sets"), _hub_webnlg),
    ("a table with highlighted cells and sentences", _has("table", "highlighted_cells"), _totto),
    ("an entry of GEM's WebNLG", _is_gem, _gem),
    ("an entry of DART", _has("tripleset", "annotations"), _dart),
)
"""What data sets have in JSON: what messages call it, a function from an object to whether it is
one, and one from the object to its `Entry`. Other objects have triples or a table, and texts."""
