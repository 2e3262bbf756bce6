"""Metrics of texts that say facts: mentions, their order, and the values that are copied."""

import calendar
import re
import unicodedata
from collections.abc import Sequence

from keras_attn.text.unspaced_scripts import UNSPACED

WORD = re.compile(rf"\d+(?:[.,]\d+)*|[{UNSPACED}]|[^\W{UNSPACED}]+")
Fact = tuple[str, str, str]


def words_of(text: str) -> list[str]:
    """The words and numbers of a text or a name as they are compared.

    Without case and accents; numbers without leading zeros, grouping commas and a fraction of 0;
    underscores separate words; in scripts without spaces between words each character is one.

    Example:
        >>> words_of("Born_on 07 May, 25.0 km; José: 1,234")
        ['born', 'on', '7', 'may', '25', 'km', 'jose', '1234']
    """
    text = unicodedata.normalize("NFKD", text.replace("_", " ").lower())
    text = "".join(character for character in text if not unicodedata.combining(character))
    return [_plain(word) for word in WORD.findall(text)]


def _plain(word):
    if not word[0].isdigit():
        return word
    whole, _, fraction = word.replace(",", "").partition(".")
    plain = whole.lstrip("0") or "0"
    return plain if not fraction.strip("0.") else f"{plain}.{fraction}"


def mention(value: str, text: Sequence[str]) -> int | None:
    """Where a text mentions a value: the place of a word, or None.

    At least half of the value's words must stand near each other; the first of the best places is
    taken. Months may be numbers in the value and names in the text.

    Args:
        value: name or number, such as an object.
        text: what `words_of` returned of the text.

    Example:
        >>> mention("Aarhus_Airport", words_of("The airport of Aarhus is Aarhus Airport."))
        1
        >>> mention("1907-07-11", words_of("She was born on July 11, 1907."))
        4
        >>> mention("Denmark", words_of("Aarhus Airport is in Tirstrup.")) is None
        True
    """
    wanted = words_of(value)
    if not wanted:
        return None
    months = {month.lower(): str(n) for n, month in enumerate(calendar.month_name) if month}
    spellings = [{word, months.get(word, word)} for word in text]
    width, best, place = len(wanted) + 2, 0, None
    for start in range(len(spellings)):
        near = spellings[start : start + width]
        count = sum(any(word in names for names in near) for word in dict.fromkeys(wanted))
        if count > best and any(word in spellings[start] for word in wanted):
            best, place = count, start
    return place if 2 * best >= len(set(wanted)) else None


def mentioned_order(facts: Sequence[Fact], text: str) -> list[int]:
    """The facts whose objects a text mentions, in the order of their mention, from 0."""
    words = words_of(text)
    places = {number: mention(fact[2], words) for number, fact in enumerate(facts)}
    mentioned = {number: place for number, place in places.items() if place is not None}
    return sorted(mentioned, key=lambda number: (mentioned[number], number))


def fact_metrics(
    candidates: Sequence[str],
    facts: Sequence[Sequence[Fact]],
    references: Sequence[Sequence[str]],
    orders: Sequence[Sequence[Sequence[int]]] = (),
) -> dict[str, float]:
    """Shares of facts, values and orders that texts get right.

    A fact is mentioned where its object is, see `mention`. Values are the objects that stand word
    for word in a reference. Orders are those of all facts of a set of two or more that the
    references give; the order of a text is that of the mentions.

    Args:
        candidates: one text for each set.
        facts: the facts of each set.
        references: the reference texts of each set.
        orders: for each set, the orders in which its references mention its facts, from 0; () where
            unknown.

    Returns:
        dict: "mentioned", share of facts that are mentioned; "copied", share of values that stand
        in the text; "order", share of sets whose facts are mentioned in a given order. In 0..1; nan
        where there is nothing to count.

    Raises:
        ValueError: no set, or different numbers of them.

    Example:
        >>> facts = [("Ada", "born", "1815"), ("Ada", "field", "computing")]
        >>> texts, references = ["Ada studied computing."], [["Born 1815: computing."]]
        >>> fact_metrics(texts, [facts], references, [[[0, 1]]])
        {'mentioned': 0.5, 'copied': 0.5, 'order': 0.0}
    """
    orders = orders or [()] * len(facts)
    if not candidates or not len(candidates) == len(facts) == len(references) == len(orders):
        raise ValueError(
            "Expected texts, sets of facts, references and orders of equal number, at least one. "
            f"Received: {len(candidates)}, {len(facts)}, {len(references)}, {len(orders)}"
        )
    mentioned, copied, ordered = [], [], []
    for text, fact_set, texts, given in zip(candidates, facts, references, orders):
        text_order = mentioned_order(fact_set, text)
        mentioned += [number in text_order for number in range(len(fact_set))]
        spelled = [_spelled(other) for other in texts]
        for fact in fact_set:
            value = _spelled(fact[2])
            if value.strip() and any(value in other for other in spelled):
                copied.append(value in _spelled(text))
        whole = [list(order) for order in given if len(order) == len(fact_set) > 1]
        if whole:
            ordered.append(text_order in whole)
    counted = {"mentioned": mentioned, "copied": copied, "order": ordered}
    return {
        name: sum(values) / len(values) if values else float("nan")
        for name, values in counted.items()
    }


def _spelled(text):
    """Words with spaces around them, so that whole words are found."""
    return f" {' '.join(words_of(text))} "
