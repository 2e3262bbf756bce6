"""Facts in JSON, triples or a table of fields and values, and in other texts."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from keras_attn.untrusted import parse_json, scalar_text

Fact = tuple[str, str, str]
TRIPLES, TABLE = ("triples", "facts", "tripleset"), ("table", "fields")
"""Keys of a JSON object with a list of triples, and of one with a table."""
_SLOT = re.compile(r"\s*([^\[\],]+?)\s*\[([^\[\]]*)\]\s*(?:,|$)")


def facts_of(value: Any) -> tuple[Fact, ...]:
    """The facts in a JSON value: subject, property and object of each.

    Args:
        value: a list of triples, each a list of three strings; an object with such a list, or with
            a table of fields and values, whose subjects are ''.

    Raises:
        ValueError: anything else; its message says what.

    Example:
        >>> facts_of([["Ada", "field", "computing"]])
        (('Ada', 'field', 'computing'),)
        >>> facts_of({"table": {"name": "Ada"}})
        (('', 'name', 'Ada'),)
        >>> facts_of([["Ada", "field"]])
        Traceback (most recent call last):
        ValueError: fact 1 has 2 parts (expected subject, property and object)
    """
    if isinstance(value, Mapping):
        key = next((key for key in (*TRIPLES, *TABLE) if key in value), None)
        if key is None:
            keys = ", ".join(map(str, value)) or "none"
            raise ValueError(f"no triples and no table; keys: {keys:.80}")
        return _table_facts(value[key]) if key in TABLE else _triples(value[key])
    return _triples(value)


def parsed_facts(text: str) -> tuple[Fact, ...]:
    """The facts in a JSON text, see `facts_of`.

    Raises:
        ValueError: no such facts, or malformed JSON.
    """
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ValueError(f"malformed JSON: {error}") from error
    return facts_of(value)


def triples_in(texts: Iterable[str | None]) -> tuple[Fact, ...]:
    """The facts in texts such as "Aarhus | country | Denmark".

    Raises:
        ValueError: one without three parts.
    """
    facts = []
    for number, text in enumerate(texts, 1):
        parts = triple_parts(text)
        if len(parts) != 3:
            raise ValueError(f"fact {number} without three parts between |")
        facts.append(parts)
    return tuple(facts)


def triple_parts(text: str | None) -> tuple[str, ...]:
    """The parts of a fact in a text: subject, property and object, if there are three."""
    return tuple(part.strip() for part in (text or "").split(" | "))


def meant_facts(text: str) -> tuple[Fact, ...]:
    """The facts in a meaning representation: their subject is its name, if it has one; none if it
    is malformed.

    Example:
        >>> meant_facts("name[The Mill], food[Italian]")
        (('The Mill', 'name', 'The Mill'), ('The Mill', 'food', 'Italian'))
    """
    slots, end = [], 0
    while match := _SLOT.match(text, end):
        slots.append(match.groups())
        end = match.end()
    if text[end:].strip():
        return ()
    subject = next((value for slot, value in slots if slot.lower() == "name"), "")
    return tuple((subject, slot, value) for slot, value in slots)


def _triples(value):
    if not isinstance(value, list | tuple):
        raise ValueError(f"expected a list of triples, received {value!r:.40}")
    for number, triple in enumerate(value, 1):
        if not isinstance(triple, list | tuple):
            raise ValueError(f"fact {number} is no list: {triple!r:.40}")
        if len(triple) != 3:
            parts = "1 part" if len(triple) == 1 else f"{len(triple)} parts"
            raise ValueError(f"fact {number} has {parts} (expected subject, property and object)")
        if strange := [part for part in triple if not isinstance(scalar_text(part), str)]:
            raise ValueError(f"fact {number} has a part that is no text: {strange[0]!r:.40}")
    return tuple((scalar_text(a), scalar_text(b), scalar_text(c)) for a, b, c in value)


def _table_facts(table):
    if not isinstance(table, dict):
        raise ValueError(f"expected a table as an object, received {table!r:.40}")
    texts = {name: scalar_text(value) for name, value in table.items()}
    if strange := [name for name, value in texts.items() if not isinstance(value, str)]:
        name = strange[0]
        raise ValueError(f"the value of {name!r:.40} is no text: {table[name]!r:.40}")
    return tuple(("", name, value) for name, value in texts.items())
