"""Files of facts with texts: JSON lines, tables with a header, WebNLG's XML."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from keras_attn.text.fact_json import facts_of, meant_facts
from keras_attn.text_table import header_and_rows, header_of
from keras_attn.untrusted import scalar_text
from keras_attn_pipelines.data.columns import Marks, NoSecondError, chosen
from keras_attn_pipelines.data.data_files import files_below, files_by_stem
from keras_attn_pipelines.data.facts import FactRecord, FactSet, collected_facts
from keras_attn_pipelines.data.readers.csv_reader import FORMS, OTHERS
from keras_attn_pipelines.data.readers.fact_layouts import (
    OBJECTS,
    Entry,
    Lex,
    read_webnlg,
    records_of,
    unusable_facts,
)
from keras_attn_pipelines.data.readers.forms import DELIMITERS, LINES
from keras_attn_pipelines.data.readers.json_reader import json_lines, load_json
from keras_attn_pipelines.data.readers.opened import opened
from keras_attn_pipelines.data.readers.tfds_reader import materialized, write_facts
from keras_attn_pipelines.data.record import AUTO
from keras_attn_pipelines.data.record_file import RecordFile, left_out
from keras_attn_pipelines.data.split_names import check_named_splits, exact_split, split_in
from keras_attn_pipelines.data.text_lines import start_of, suffix_of

LANGUAGE_CODES = ("lang", "locale")
"""Columns of a table that are no fields of facts; a language is."""
TEXTS = ("texts", "text", "target", "targets", "references", "sentence", "description", "ref")


MEANING = ("mr", "meaning_representation")
"""Columns of meaning representations, as of E2E: name[The Mill], food[Italian]."""


def fact_sources(data, text_column: str = AUTO, language: str = AUTO) -> dict[str, RecordFile]:
    """Finds files of facts with texts, each plain or .gz, UTF-8.

    JSON lines with "triples" (lists of subject, property and object) or "table" (an object of
    fields and values), and "texts" (texts, or objects with text and order of mention); CSV or TSV
    whose header names the fields, where rows of the same facts are joined, or with a column of
    meaning representations such as E2E's; XML or JSON of WebNLG, in files or in folders of splits;
    ToTTo's tables.

    Args:
        data: path of a data folder or of one such file, or "tfds:NAME[/CONFIG]".
        text_column: column of a table or key of a JSON object with the text; "auto" knows usual
            names.
        language: of texts that name theirs; "auto" takes the only one.

    Returns:
        dict from the stem of a file's name ("train") to its `RecordFile`.

    Raises:
        ValueError: nothing found, two files with the same stem, or a table without a text column.
        ImportError: tensorflow-datasets is needed but not installed.
    """
    source = opened(data, partial(materialized, write_facts, "tfds-facts"), "facts with texts")
    folder = source.place
    if folders := _folders_of_xml(folder):
        check_named_splits(folder, folders)
        return {
            name: _file(place, "WebNLG XML", read_webnlg, language, files)
            for name, (place, files) in folders.items()
        }
    files = files_by_stem(folder, tuple(OPENERS), "facts with texts")
    sources, without = {}, []
    for stem, path in files.items():
        try:
            sources[stem] = _source(path, text_column, language)
        except NoSecondError as error:
            if len(files) == 1 or split_in(stem) != "test":
                raise ValueError(str(error)) from error
            without.append(path.name)
    return source.naming(data, left_out(sources, without, "texts"))


def _folders_of_xml(folder) -> dict[str, tuple[Path, list[Path]]]:
    """The XML files below folders of splits, as WebNLG has them, by the names of these folders."""
    found: dict[str, tuple[Path, list[Path]]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir() and exact_split(path.name):
            files = [file for file in files_below(path, hidden=False) if suffix_of(file) == ".xml"]
            found |= {path.name: (path, files)} if files else {}
    return found


def _source(path, text_column, language):
    if (opener := OPENERS.get(suffix_of(path))) is None:
        raise ValueError(f"Expected a file of {', '.join(OPENERS)}. Received: {path}")
    return _file(path, *opener(path, text_column), language, [path])


def _file(place, form, read, language, files):
    """The `RecordFile` of what a function reads from files; rows of the same facts are joined."""
    joins = form in FORMS.values()

    def collect(path, form):
        records = ((file, record) for file in files for record in read(file))
        return collected_facts(path, form, records, joins, language)

    return RecordFile(place, form, collect)


def _table(path, text_column):
    usual, text = DELIMITERS[suffix_of(path)], start_of(path)
    headers = {mark: header_of(text, mark) for mark in (usual, *OTHERS)}
    fitting = (mark for mark, names in headers.items() if len(names) > 1)
    delimiter = next((mark for mark in fitting if chosen(text_column, TEXTS, headers[mark])), usual)
    _text_column(headers[delimiter], text_column, path)
    return FORMS[usual], partial(_read_table, delimiter, text_column)


def _text_column(names, text_column, path) -> str:
    column = chosen(text_column, TEXTS, names)
    if column is None or len(names) < 2 or len(set(names)) < len(names):
        wanted = ", ".join(TEXTS) if text_column == AUTO else repr(text_column)
        kind = NoSecondError if column is None and text_column == AUTO else ValueError
        raise kind(
            f"Expected a header with different fields and a column for the text, one of {wanted} "
            f"(set --text-column), in {path}. Received: {names}"
        )
    return column


def _read_table(delimiter, text_column, path):
    names, rows = header_and_rows(path, delimiter)
    text = _text_column(names, text_column, path)
    marks = Marks.of([name for name in names if name != text], LANGUAGE_CODES)
    index = [name for name in names if not name.strip() or name.startswith("Unnamed: ")]
    fields = [name for name in names if name not in (text, *marks.names, *index)]
    meaning = next((name for name in fields if name.strip().lower() in MEANING), None)
    for line, row, reason in rows:
        values = dict(zip(names, row))
        given = [(name, values[name]) for name in fields if values.get(name, "").strip()]
        facts = tuple(("", name, value) for name, value in given)
        if meaning is not None and not reason:
            facts = meant_facts(values.get(meaning, ""))
            reason = "" if facts else "expected slots with values, such as name[The Mill]"
        found = FactSet(facts, (values.get(text, ""),), ((),), line=line)
        yield marks.marked(FactRecord(found, reason), values)


def _read_array(value, text_column, path):
    entries = value
    if isinstance(value, dict):  # WebNLG's, or GEM's.
        entries = value.get("entries", value.get("values"))
    if not isinstance(entries, list):
        raise ValueError(
            f"Expected a list of objects, each with facts and texts, in {path}. "
            f"Received: {json.dumps(value):.80}"
        )
    for number, entry in enumerate(entries):
        if isinstance(entry, dict) and len(entry) == 1:
            entry = next(iter(entry.values()))
        for record in _records(entry, 0, text_column):
            reason = record.reason and f"record {number}: {record.reason}"
            yield replace(record, reason=reason)


def _read_lines(text_column, path):
    for line, value, reason in json_lines(path):
        if reason:
            yield unusable_facts(line, reason)
        else:
            yield from _records(value, line, text_column)


def _records(value, line, text_column) -> Sequence[FactRecord]:
    """The records in a JSON object: of WebNLG, one for each language."""
    if not isinstance(value, dict):
        return [unusable_facts(line, f"expected an object, received {value!r:.40}")]
    for name, is_one, entry_of in OBJECTS:
        if is_one(value):
            return records_of(value, entry_of, name, line)
    (record,) = records_of(value, partial(_entry, text_column), "triples or a table", line)
    return [Marks.of(list(value)).marked(record, value)]


def _entry(text_column, value) -> Entry:
    """The entry in a JSON object with triples or a table, and a text, or a list of texts, or of
    objects with text and order of mention."""
    facts, key = facts_of(value), chosen(text_column, TEXTS, list(value))
    said = [] if key is None else value[key]
    lexes = []
    for item in said if isinstance(said, list) else [said]:
        text = item if isinstance(item, dict) else {"text": item}
        order = text.get("order", [])
        known = isinstance(order, list) and all(type(place) is int for place in order)
        if not known or len(set(order)) < len(order) or not set(order) <= set(range(len(facts))):
            raise ValueError(f"no order of {len(facts)} facts: {order!r:.40}")
        lexes.append(Lex(scalar_text(text.get("text")), order=order))
    return facts, lexes, value.get("category")


OPENERS = {
    **dict.fromkeys(LINES, lambda path, text: ("JSON lines", partial(_read_lines, text))),
    **dict.fromkeys(DELIMITERS, _table),
    ".xml": lambda path, text: ("WebNLG XML", read_webnlg),
    ".json": lambda path, text: ("JSON records", partial(_read_array, load_json(path), text)),
}
"""By suffix, the function from a path and the column of texts to the name of the format, and to a
function that yields the records of a file."""
