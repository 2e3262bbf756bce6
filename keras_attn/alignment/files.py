"""Files of sentence pairs, of links and of gold links."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keras_attn.alignment.error_rate import Gold
from keras_attn.text_file import bytes_of, encoded_lines
from keras_attn.untrusted import naming_damage, parse_json

_LINK = re.compile(r"(\d{1,9})([-?p])(\d{1,9})(?::\S+)?")
_NUMBERED = re.compile(r"(\d{1,9}) +(\d{1,9}) +(\d{1,9})(?: +([SP]))?(?: +[\d.]+)?")
"""A line of the shared task of NAACL 2003: sentence, source, target, sure or possible, score."""
_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
"""What separates words; a no-break space does not."""
SEPARATOR = "|||"


class SentencePairs(NamedTuple):
    """Sentence pairs of a file or two.

    Attributes:
        sources: list of tuples of str, the words of each source sentence.
        targets: list of tuples of str.
    """

    sources: list[tuple[str, ...]]
    targets: list[tuple[str, ...]]


def read_pairs(source, target=None) -> SentencePairs:
    """Reads sentence pairs, one a line, words separated by spaces or tabs.

    Args:
        source: path of a text file, or without `target` of a file of pairs: JSON lines with
            `src_words` and `tgt_words` (`.jsonl`), or lines of a source, a tab or `|||`, and a
            target. Files may be packed by gzip; `KERAS_ATTN_MAX_TEXT_BYTES` limits their size.
        target: path of a text file with as many lines.

    Returns:
        `SentencePairs`; empty lines are kept, as sentences without words.

    Raises:
        ValueError: lines that differ in number, are no pairs or no UTF-8; names file and line
            ("Expected a source, a tab and a target. Received: pairs.tsv, line 7: no tab").
        OSError: a file cannot be read.
    """
    if target is not None:
        sides = [[words_of(line) for _, line in _lines(path)] for path in (source, target)]
        if len(sides[0]) != len(sides[1]):
            raise ValueError(
                f"Expected as many lines in {target} as in {source}. Received: {len(sides[1])} "
                f"and {len(sides[0])}"
            )
        return SentencePairs(*sides)
    if _is_json(source):
        records = list(_records(source))
        return SentencePairs(
            *(
                [_words(record, key, source, number) for number, record in records]
                for key in ("src_words", "tgt_words")
            )
        )
    pairs = SentencePairs([], [])
    for number, line in _lines(source):
        parts = line.split(SEPARATOR if SEPARATOR in line else "\t")
        if len(parts) != 2:
            count = len(parts) - 1
            marks = f"{count} of {SEPARATOR}" if SEPARATOR in line else f"{count or 'no'} tabs"
            raise ValueError(
                f"Expected a source, a tab or {SEPARATOR}, and a target. Received: {source}, line "
                f"{number}: {'no tab' if marks == 'no tabs' else marks}"
            )
        for side, part in zip(pairs, parts, strict=True):
            side.append(words_of(part))
    return pairs


def words_of(line: str) -> tuple[str, ...]:
    """The words of a sentence, separated by spaces or tabs.

    Example:
        >>> words_of("10\u00a0000 chats")
        ('10\xa0000', 'chats')
    """
    return tuple(filter(None, _BLANKS.split(line)))


def read_gold(
    path,
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    tolerance: float = 0.0,
    base: int = 0,
) -> tuple[list[Gold | None], list[str]]:
    """Reads gold links of sentence pairs, one pair a line.

    Args:
        path: of JSON lines (`.jsonl`) with `alignment`, a list of [i, j] from 0, all sure, and
            optionally `possible`; of links i-j (sure) and i?j or ipj (possible), separated by
            spaces, whose scores (i-j:0.9) are ignored; or of a line for each link as in the shared
            task of NAACL 2003, "0001 1 2 P", with numbers from 1.
        sources, targets: the sentences, each a sequence of words.
        tolerance: float, 0 to 1. Share of lines that may have a link outside its sentences.
        base: number of a sentence's first word in links, 0 or 1.

    Returns:
        gold: list of `Gold`; None where a link lies outside its sentences.
        errors: list of str, one for each None.

    Raises:
        ValueError: lines that differ in number or are no links, or more lines than tolerated with
            a link outside its sentences; names file and line ("Expected links within 5 and 7
            words. Received: gold.txt, line 3: 5-2").
    """
    lines = _gold_lines(path, len(sources), base)
    if len(lines) != len(sources):
        raise ValueError(
            f"Expected {len(sources)} lines of gold links, as there are sentence pairs. Received: "
            f"{path}, {len(lines)} lines"
        )
    gold: list[Gold | None] = []
    errors: list[str] = []
    for (number, sure, possible), source, target in zip(lines, sources, targets, strict=True):
        outside = _outside((*sure, *possible), len(source), len(target))
        if outside:
            words = f"{len(source)} and {len(target)} words"
            link = "{}-{}".format(*(place + base for place in outside))
            hint = "" if base else "; if the first word is 1, base=1 (--gold-base 1)"
            errors.append(
                f"Expected links within {words}. Received: {path}, line {number}: {link}{hint}"
            )
        gold.append(None if outside else Gold.of(sure, possible))
    if len(errors) > tolerance * len(gold):
        raise ValueError(errors[0])
    return gold, errors


def _gold_lines(path, count, base):
    """(number, sure, possible) of each sentence pair, with links from 0."""
    if _is_json(path):
        lines = [(number, *links) for number, links in _json_gold(path)]
    elif _is_numbered(path):
        return _numbered_gold(path, count)
    else:
        lines = [(number, *links) for number, links in _text_gold(path)]
    return [
        (number, *([(i - base, j - base) for i, j in links] for links in (sure, possible)))
        for number, sure, possible in lines
    ]


def _is_numbered(path):
    """Whether a file has a line for each link."""
    first = next((line for _, line in _lines(path) if line.strip()), "")
    return _NUMBERED.fullmatch(first.strip()) is not None


def _numbered_gold(path, count):
    gold = [(sentence, [], []) for sentence in range(1, count + 1)]
    for number, line in _lines(path):
        if not line.strip():
            continue
        match = _NUMBERED.fullmatch(line.strip())
        if match is None or not 1 <= int(match[1]) <= count:
            raise ValueError(
                f"Expected a sentence from 1 to {count}, a source word, a target word and S or P. "
                f"Received: {path}, line {number}: {line.strip()!r:.40}"
            )
        links = gold[int(match[1]) - 1][2 if match[4] == "P" else 1]
        links.append((int(match[2]) - 1, int(match[3]) - 1))
    return gold


def _outside(links, source_length, target_length):
    """The first link outside a pair of sentences, or None."""
    for i, j in links:
        if not (0 <= i < source_length and 0 <= j < target_length):
            return i, j
    return None


def pharaoh(links: Sequence[tuple[int, int]], scores: Sequence[float] | None = None) -> str:
    """Links as text.

    Args:
        links: (source word, target word) from 0.
        scores: of each of them, which is written behind it; None for none.

    Example:
        >>> pharaoh([(0, 0), (1, 2)]), pharaoh([(0, 0)], [0.9375])
        ('0-0 1-2', '0-0:0.938')
    """
    texts = [f"{source}-{target}" for source, target in links]
    if scores is not None:
        texts = [f"{text}:{score:.3f}" for text, score in zip(texts, scores, strict=True)]
    return " ".join(texts)


def _text_gold(path) -> Iterator:
    for number, line in _lines(path):
        sure: list[tuple[int, int]] = []
        possible: list[tuple[int, int]] = []
        for text in line.split():
            match = _LINK.fullmatch(text)
            if match is None:
                raise ValueError(
                    f"Expected links such as 0-0 and 1?2. Received: {path}, line {number}: {text}"
                )
            (sure if match[2] == "-" else possible).append((int(match[1]), int(match[3])))
        yield number, (sure, possible)


def _json_gold(path) -> Iterator:
    for number, record in _records(path):
        links = []
        for key in ("alignment", "possible"):
            pairs = record.get(key, [] if key == "possible" else None)
            if not isinstance(pairs, list) or not all(map(_is_link, pairs)):
                raise ValueError(
                    f"Expected {key}, a list of [i, j]. Received: {path}, line {number}"
                )
            links.append([tuple(pair) for pair in pairs])
        yield number, links


def _is_link(pair):
    return isinstance(pair, list) and len(pair) == 2 and all(type(place) is int for place in pair)


def _words(record, key, path, number):
    words = record.get(key)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"Expected {key}, a list of words. Received: {path}, line {number}")
    return tuple(words)


def _records(path) -> Iterator:
    """Numbers and JSON objects of the lines of a file."""
    for number, line in _lines(path):
        with naming_damage("a JSON object", f"{path}, line {number}"):
            record = parse_json(line)
        if not isinstance(record, dict):
            raise ValueError(f"Expected a JSON object. Received: {path}, line {number}")
        yield number, record


def _lines(path) -> Iterator[tuple[int, str]]:
    """Numbers, from 1, and texts of the lines of a file."""
    for number, line in enumerate(encoded_lines(bytes_of(path)), start=1):
        try:
            yield number, line.decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"Expected UTF-8. Received: {path}, line {number}: {error.reason}"
            ) from error


def _is_json(path):
    return str(path).removesuffix(".gz").endswith(".jsonl")
