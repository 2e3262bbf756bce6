"""Facts with texts as their data sets have them: WebNLG, GEM, DART, E2E, ToTTo."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from keras_attn.text_file import bytes_of
from keras_attn.untrusted import naming_damage, scalar_text
from keras_attn_pipelines.data.facts import FactRecord, FactSet

UNMARKED = "en"
"""The language of texts in WebNLG that name none."""
GOOD = ("", "good")
"""How WebNLG marks texts that are usable."""
MEANING = ("mr", "meaning_representation")
"""Columns of meaning representations, as of E2E: name[The Mill], food[Italian]."""
SLOT = re.compile(r"\s*([^\[\],]+?)\s*\[([^\[\]]*)\]\s*(?:,|$)")


class Lex(NamedTuple):
    """A text of WebNLG.

    Attributes:
        text: itself.
        language: its code; '' or None if unmarked.
        comment: the mark of its quality; '' or None if unmarked.
        order: its triples in the order of their mention; empty if unknown.
    """

    text: str
    language: str | None
    comment: str | None
    order: Sequence[tuple[str, ...] | None] = ()


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
        triples = [_parts(node.text) for node in entry.iterfind("modifiedtripleset/mtriple")]
        lexes = [
            Lex(
                (lex.findtext("text") or lex.text or "").strip(),
                lex.get("lang"),
                lex.get("comment"),
                [_parts(node.text) for node in lex.iterfind("sortedtripleset//striple")],
            )
            for lex in entry.iterfind("lex")
        ]
        for record in _entry(triples, lexes, entry.get("category", "")):
            reason = record.reason and f"entry {number}: {record.reason}"
            yield replace(record, reason=reason)


def _entry(triples, lexes, category, line=0) -> Iterator[FactRecord]:
    """The records of an entry: one for each language, and one for each text marked as bad."""
    bad = next((number for number, fact in enumerate(triples, 1) if fact is None), 0)
    reason = f"fact {bad} without three parts between |" if bad else ""
    facts = tuple(fact for fact in triples if fact is not None)
    said: dict[str, list[Lex]] = {}
    for lex in lexes:
        language, mark = (
            (lex.language or "").strip().lower() or UNMARKED,
            (lex.comment or "").strip(),
        )
        own = said.setdefault(language, [])
        if mark.lower() in GOOD:
            own.append(lex)
        else:
            found = FactSet((), (), line=line)
            yield FactRecord(found, f"a text marked {mark!r:.40}", language=language)
    for language, own in said.items() or [("", [])]:
        orders = (
            dict.fromkeys(facts.index(fact) for fact in lex.order if fact in facts) for lex in own
        )
        texts = tuple(lex.text for lex in own)
        found = FactSet(facts, texts, tuple(map(tuple, orders)), category, line)
        yield FactRecord(found, reason, language=language)


def _parts(text):
    """Subject, property and object of "Aarhus | country | Denmark", or None."""
    parts = tuple(part.strip() for part in (text or "").split(" | "))
    return parts if len(parts) == 3 else None


def is_webnlg(value: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an entry of WebNLG, as it is released or as hubs have it."""
    return "lexicalisations" in value or ("lex" in value and "modified_triple_sets" in value)


def webnlg_records(value: Mapping[str, Any], line: int) -> Iterator[FactRecord]:
    """Yields the records of an entry of WebNLG in JSON, one for each of its languages."""
    try:
        triples, lexes = _of_entry(value)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        reason = f"expected an entry of WebNLG, received {type(error).__name__} {error}"
        yield FactRecord(FactSet((), (), line=line), reason)
        return
    yield from _entry(triples, lexes, value.get("category", ""), line)


def _of_entry(value):
    """The triples of an entry, and its texts."""
    if "lexicalisations" in value:
        sets = value["modifiedtripleset"]
        triples = [(one["subject"], one["property"], one["object"]) for one in sets]
        lexes = value["lexicalisations"]
        return triples, [Lex(lex["lex"], lex.get("lang"), lex.get("comment")) for lex in lexes]
    (triples, *_) = value["modified_triple_sets"]["mtriple_set"]
    lex = value["lex"]
    empty = [""] * len(lex["text"])
    marks = zip(lex["text"], lex.get("lang") or empty, lex.get("comment") or empty)
    return [_parts(text) for text in triples], [Lex(*own) for own in marks]


def is_gem(value: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an entry of GEM's WebNLG: triples in strings, and references."""
    facts = value.get("input")
    is_listed = isinstance(facts, list) and facts and all(isinstance(one, str) for one in facts)
    return bool(is_listed) and not {"triples", "table"} & set(value)


def gem_record(value: Mapping[str, Any], line: int) -> FactRecord:
    """The record of an entry of GEM's WebNLG; its texts are its references, or its target."""
    texts = value.get("references") or [value.get("target")]
    return _listed(list(map(_parts, value["input"])), texts, value.get("category", ""), line)


def is_dart(value: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an entry of DART: lists of three parts, and annotations."""
    return "tripleset" in value and "annotations" in value


def dart_record(value: Mapping[str, Any], line: int) -> FactRecord:
    """The record of an entry of DART."""
    sets, annotations = value["tripleset"], value["annotations"]
    if not isinstance(sets, list) or not isinstance(annotations, list):
        return _no_facts("expected lists as tripleset and annotations", line)
    facts = [
        tuple(fact)
        if isinstance(fact, list) and len(fact) == 3 and all(isinstance(p, str) for p in fact)
        else None
        for fact in sets
    ]
    texts = [own.get("text") if isinstance(own, dict) else None for own in annotations]
    return _listed(facts, texts, "", line)


def _listed(facts, texts, category, line):
    """A record of facts, None for malformed ones, and texts."""
    if None in facts:
        return _no_facts(f"fact {facts.index(None) + 1} without three parts", line)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return _no_facts("expected a list of texts", line)
    category = category if isinstance(category, str) else ""
    return FactRecord(FactSet(tuple(facts), tuple(texts), ((),) * len(texts), category, line))


def _no_facts(reason, line):
    return FactRecord(FactSet((), (), line=line), reason)


def meant(text: str) -> tuple[tuple[str, str, str], ...]:
    """The facts in a meaning representation: their subject is its name, if it has one; none if it
    is malformed.

    Example:
        >>> meant("name[The Mill], food[Italian]")
        (('The Mill', 'name', 'The Mill'), ('The Mill', 'food', 'Italian'))
    """
    slots, end = [], 0
    while match := SLOT.match(text, end):
        slots.append(match.groups())
        end = match.end()
    if text[end:].strip():
        return ()
    subject = next((value for slot, value in slots if slot.lower() == "name"), "")
    return tuple((subject, slot, value) for slot, value in slots)


def is_totto(value: Mapping[str, Any]) -> bool:
    """Whether a JSON object has a table with highlighted cells, as ToTTo's."""
    return isinstance(value.get("table"), list) and "highlighted_cells" in value


def totto_record(value: Mapping[str, Any], line: int) -> FactRecord:
    """The record of a table as ToTTo's: each highlighted cell is a fact of the page, whose property
    is the cell's header."""
    try:
        facts = tuple(_cells(value["table"], value["highlighted_cells"], _title(value)))
        annotations = value.get("sentence_annotations") or []
        texts = tuple(annotation["final_sentence"] for annotation in annotations)
        known = all(isinstance(text, str) for text in texts)
    except (KeyError, IndexError, TypeError) as error:
        known, error_text = False, f"{type(error).__name__} {error}"
    else:
        error_text = "a text that is no string"
    if not known:
        reason = f"expected a table with highlighted cells and sentences, received {error_text}"
        return FactRecord(FactSet((), (), line=line), reason)
    return FactRecord(FactSet(facts, texts, ((),) * len(texts), line=line))


def _title(value):
    title = value.get("table_page_title")
    return title if isinstance(title, str) else ""


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
