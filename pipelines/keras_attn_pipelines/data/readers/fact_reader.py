"""Files of facts with texts: JSON lines, tables with a header, WebNLG's XML."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from keras_attn.text.fact_json import facts_of
from keras_attn.text_file import bytes_of
from keras_attn.untrusted import naming_damage, parse_json
from keras_attn_pipelines.data.facts import FactRecord, FactSet, collected_facts
from keras_attn_pipelines.data.pairs import PairFile
from keras_attn_pipelines.data.readers.csv_reader import header_and_rows, header_of
from keras_attn_pipelines.data.readers.forms import DELIMITERS, LINES, SNIFFED
from keras_attn_pipelines.data.readers.parallel_reader import files_by_stem
from keras_attn_pipelines.data.readers.tfds_reader import is_tfds, materialized_facts
from keras_attn_pipelines.data.record import AUTO, lines_of, suffix_of, text_of

XML = ".xml"
SUFFIXES = (*LINES, *DELIMITERS, XML)
TEXTS = ("texts", "text", "target", "targets", "references", "sentence", "description", "ref")


class FactSource(NamedTuple):
    """A file of facts with texts, not read yet.

    Attributes:
        path: path of the file.
        form: description of the format.
        records: function that yields its records.
        joins: whether records with the same facts are joined, in formats with one text for each.
    """

    path: Path
    form: str
    records: Callable[[], Iterator[FactRecord]]
    joins: bool = False

    def read(self) -> PairFile[FactSet]:
        """Reads its records.

        Raises:
            ValueError: as the readers do, or nothing usable.
        """
        return collected_facts(self.path, self.form, self.records(), self.joins)


def fact_sources(data, text_column: str = AUTO) -> dict[str, FactSource]:
    """Finds files of facts with texts, each plain or .gz, UTF-8.

    JSON lines with "triples" (lists of subject, property and object) or "table" (an object of
    fields and values), and "texts" (texts, or objects with text and order of mention); CSV or TSV
    whose header names the fields, where rows of the same facts are joined; XML of WebNLG.

    Args:
        data: path of a data folder or of one such file, or "tfds:NAME[/CONFIG]".
        text_column: column of a table or key of a JSON object with the text; "auto" knows usual
            names.

    Returns:
        dict from the stem of a file's name ("train") to its `FactSource`.

    Raises:
        ValueError: nothing found, two files with the same stem, or a table without a text column.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    folder = materialized_facts(str(data)) if is_tfds(data) else Path(data)
    files = files_by_stem(folder, SUFFIXES, "facts with texts")
    return {stem: _source(path, text_column) for stem, path in files.items()}


def _source(path, text_column):
    suffix = suffix_of(path)
    if suffix in DELIMITERS:
        delimiter, name = DELIMITERS[suffix]
        names = header_of(text_of(bytes_of(path, SNIFFED)), delimiter)
        _text_column(names, text_column, path)
        return FactSource(path, name, partial(_read_table, path, delimiter, text_column), True)
    if suffix in LINES:
        return FactSource(path, "JSON lines", partial(_read_lines, path, text_column))
    if suffix == XML:
        return FactSource(path, "WebNLG XML", partial(_read_xml, path))
    raise ValueError(f"Expected a file of {', '.join(SUFFIXES)}. Received: {path}")


def _chosen(names: Sequence[str], text_column: str) -> str | None:
    """The name of the text among column names or keys, or None."""
    if text_column != AUTO:
        return text_column if text_column in names else None
    plain = {name.strip().lower(): name for name in reversed(names)}
    return next((plain[name] for name in TEXTS if name in plain), None)


def _text_column(names, text_column, path) -> str:
    chosen = _chosen(names, text_column)
    if chosen is None or len(names) < 2 or len(set(names)) < len(names):
        wanted = ", ".join(TEXTS) if text_column == AUTO else repr(text_column)
        raise ValueError(
            f"Expected a header with different fields and a column for the text, one of {wanted} "
            f"(set --text-column), in {path}. Received: {names}"
        )
    return chosen


def _read_table(path, delimiter, text_column):
    names, rows = header_and_rows(path, delimiter)
    text = _text_column(names, text_column, path)
    for line, row, reason in rows:
        values = dict(zip(names, row))
        said = values.pop(text, "")
        facts = tuple(("", name, value) for name, value in values.items() if value.strip())
        yield FactRecord(FactSet(facts, (said,), ((),), line=line), reason)


def _read_lines(path, text_column):
    for line, text in enumerate(lines_of(path), 1):
        if not text.strip():
            continue
        try:
            value = parse_json(text)
        except ValueError as error:
            yield _unusable(line, f"malformed JSON: {error}")
            continue
        yield _record(value, line, text_column)


def _record(value, line, text_column) -> FactRecord:
    """The record in a JSON object."""
    if not isinstance(value, dict):
        return _unusable(line, f"expected an object, received {value!r:.40}")
    try:
        facts, reason = facts_of(value), ""
    except ValueError as error:
        return _unusable(line, str(error))
    key = _chosen(list(value), text_column)
    said = [] if key is None else value[key]
    said = said if isinstance(said, list) else [said]
    texts, orders = [], []
    for item in said:
        entry = item if isinstance(item, dict) else {"text": item}
        text, order = entry.get("text"), entry.get("order", [])
        if not isinstance(text, str):
            reason = reason or f"the text is not a string: {text!r:.40}"
        elif not _is_order(order, len(facts)):
            reason = reason or f"no order of {len(facts)} facts: {order!r:.40}"
        else:
            texts.append(text)
            orders.append(tuple(order))
    category = value.get("category", "")
    category = category if isinstance(category, str) else ""
    return FactRecord(FactSet(facts, tuple(texts), tuple(orders), category, line), reason)


def _is_order(order, count) -> bool:
    """Whether a JSON value is an order of some of `count` facts."""
    known = isinstance(order, list) and all(type(place) is int for place in order)
    return known and len(set(order)) == len(order) and set(order) <= set(range(count))


def _read_xml(path):
    data = bytes_of(path)
    with naming_damage(f"XML in {path}"):
        root = ElementTree.fromstring(data)
    for number, entry in enumerate(root.iter("entry"), 1):
        triples = [_triple(node) for node in entry.iterfind("modifiedtripleset/mtriple")]
        bad = next((place for place, fact in enumerate(triples, 1) if fact is None), 0)
        facts = tuple(fact for fact in triples if fact is not None)
        texts, orders = [], []
        for lex in entry.iterfind("lex"):
            texts.append((lex.findtext("text") or lex.text or "").strip())
            said = (_triple(node) for node in lex.iterfind("sortedtripleset//striple"))
            order = [facts.index(fact) for fact in said if fact in facts]
            orders.append(tuple(dict.fromkeys(order)))
        reason = f"fact {bad} without three parts between |" if bad else ""
        found = FactSet(facts, tuple(texts), tuple(orders), entry.get("category", ""))
        yield FactRecord(found, f"entry {number}: {reason}" if reason else "")


def _triple(node):
    """Subject, property and object of "Aarhus | country | Denmark", or None."""
    parts = tuple(part.strip() for part in (node.text or "").split(" | "))
    return parts if len(parts) == 3 else None


def _unusable(line, reason):
    return FactRecord(FactSet((), (), line=line), reason)
