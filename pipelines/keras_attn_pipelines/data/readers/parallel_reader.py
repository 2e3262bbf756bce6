"""Parallel text files: line n of one belongs to line n of the other."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from keras_attn.text_file import is_text
from keras_attn_pipelines.data.record import Record
from keras_attn_pipelines.data.text_lines import lines_of, stem_of, suffix_of

SIDES = ("source", "src"), ("target", "tgt", "trg")
"""Words in the names of files of sources, and of targets."""
LANGUAGE = re.compile(r"\.[a-z]{2,3}([_-][a-z0-9]+)?")
"""Pattern of a language suffix, in lower case: .en, .pt_br, .zh-hans."""
Sides = tuple[Sequence[str], Sequence[str]]


def read_parallel(source: Path, target: Path) -> Iterator[Record]:
    """Yields a record for each pair of lines. Lines end with LF or CRLF only, so U+2028 and the
    like do not shift one side.

    Raises:
        ValueError: one file has more lines than the other; a .gz file is damaged.
    """
    lines = lines_of(source), lines_of(target)
    counts = [len(line) for line in lines]
    if counts[0] != counts[1]:
        longer = (source, target)[counts[1] > counts[0]]
        first = min(counts)
        raise ValueError(
            f"Expected equal numbers of lines in {target} and {source}. Received: {counts[0]} in "
            f"{source.name} and {counts[1]} in {target.name}; the first without a partner is "
            f"{longer}:{first + 1}: {max(lines, key=len)[first]!r:.80}"
        )
    for line, texts in enumerate(zip(*lines), 1):
        bad = [file.name for file, text in zip((source, target), texts) if not is_text(text)]
        reason = f"not UTF-8 in {' and '.join(bad)}" if bad else ""
        yield Record(line, *texts, reason=reason)


def parallel_files(
    folder: Path, sides: Sides, by_suffix: bool = True
) -> tuple[dict[str, tuple[Path, Path]], dict[Path, str]]:
    """Pairs of files, plain or .gz, by what their names have in common, sorted; and why other files
    of one side belong to no pair.

    Args:
        folder: path.
        sides: suffixes, or words in the names, of files of sources and of targets, in lower case.
        by_suffix: whether only suffixes count: `train.en` and `train.de`; otherwise, one word of a
            name says its side: `src-train.txt` and `tgt-train.txt`, or `train.source` and
            `train.target`.

    Raises:
        ValueError: two files of one side that have the same in common.
    """
    found: dict[str, dict[int, Path]] = {}
    for path in sorted(folder.iterdir(), reverse=True):
        stem, named = _by_suffix(path, sides) if by_suffix else _by_word(path, sides)
        if len(named) != 1 or not path.is_file():
            continue
        files, side = found.setdefault(stem, {}), named[0]
        other = files.get(side, path)
        if (stem_of(other), suffix_of(other)) != (stem_of(path), suffix_of(path)):
            raise ValueError(
                f"Expected one {sides[side][0]} of {stem} in {folder}. "
                f"Received: {path.name} and {other.name}"
            )
        files[side] = path  # The plain file wins if both exist.
    both = {stem: (own[0], own[1]) for stem, own in sorted(found.items()) if len(own) == 2}
    alone = {
        path: f"Expected {stem}.{sides[1 - side][0]} beside {path}. Received: no such file"
        for stem, own in found.items()
        if stem not in both
        for side, path in own.items()
    }
    return both, alone


def _by_suffix(path, sides):
    """A file's name without its suffix, and the sides that this means."""
    suffix = suffix_of(path).removeprefix(".")
    return stem_of(path), [side for side, names in enumerate(sides) if suffix in names]


def _by_word(path, sides):
    """A file's name without the word that says its side, and the sides that its words mean."""
    parts = re.split("[._-]", stem_of(path) if suffix_of(path) == ".txt" else path.name)
    words = [part.lower() for part in parts]
    named = [side for word in words for side, names in enumerate(sides) if word in names]
    rest = [part for part, word in zip(parts, words) if word not in (*sides[0], *sides[1])]
    return "_".join(rest) or "train", named


def languages(folder: Path) -> list[str]:
    """Language suffixes of the files in a folder whose names differ in nothing else."""
    stems: dict[str, set[str]] = {}
    for path in folder.iterdir():
        if path.is_file() and LANGUAGE.fullmatch(suffix_of(path)):
            stems.setdefault(stem_of(path), set()).add(suffix_of(path).removeprefix("."))
    return sorted({suffix for own in stems.values() if len(own) > 1 for suffix in own})
