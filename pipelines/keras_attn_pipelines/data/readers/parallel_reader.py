"""Parallel text files: line n of one belongs to line n of the other."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.record import Record
from keras_attn_pipelines.data.split_names import check_named_splits
from keras_attn_pipelines.data.text_lines import is_text, lines_of, stem_of, suffix_of

SIDES = ("source", "src"), ("target", "tgt", "trg")
"""Words in the names of files of sources, and of targets."""
LANGUAGE = re.compile(r"\.[a-z]{2,3}([_-][a-z0-9]+)?")
"""Pattern of a language suffix, in lower case: .en, .pt_br, .zh-hans."""


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
    folder: Path, source: str, target: str
) -> tuple[dict[str, tuple[Path, Path]], dict[Path, str]]:
    """Pairs of files stem.source and stem.target, plain or .gz, by stem, sorted; and why other
    files with one of the suffixes belong to no pair."""
    source, target = (suffix.lower().removeprefix(".") for suffix in (source, target))
    stems: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir(), reverse=True):  # The plain file wins if both exist.
        suffix = suffix_of(path).removeprefix(".")
        if suffix in (source, target) and path.is_file():
            stems.setdefault(stem_of(path), {})[suffix] = path
    both = {stem: own for stem, own in sorted(stems.items()) if {source, target} <= set(own)}
    alone = {
        path: f"Expected {stem}.{target if suffix == source else source} beside {path}. "
        "Received: no such file"
        for stem, own in stems.items()
        if stem not in both
        for suffix, path in own.items()
    }
    return {stem: (own[source], own[target]) for stem, own in both.items()}, alone


def sided_files(
    folder: Path, wanted: tuple[Sequence[str], Sequence[str]] = SIDES
) -> dict[str, tuple[Path, Path]]:
    """Pairs of files whose names say which has the sources, by what else their names say:
    `src-train.txt` and `tgt-train.txt`, or `train.source` and `train.target`.

    Args:
        folder: path.
        wanted: words in the names of files of sources, and of targets.

    Raises:
        ValueError: two files of one side with the same rest of the name.
    """
    found: dict[str, dict[int, Path]] = {}
    for path in sorted(folder.iterdir()):
        parts = re.split("[._-]", stem_of(path) if suffix_of(path) == ".txt" else path.name)
        sides = [
            (side, place)
            for place, part in enumerate(parts)
            for side, names in enumerate(wanted)
            if part.lower() in names
        ]
        if len(sides) != 1 or not path.is_file():
            continue
        side, place = sides[0]
        rest = "_".join(parts[:place] + parts[place + 1 :]) or "train"
        if (other := found.setdefault(rest, {}).setdefault(side, path)) != path:
            raise ValueError(
                f"Expected one {wanted[side][0]} of {rest} in {folder}. "
                f"Received: {other.name} and {path.name}"
            )
    both = {rest: files for rest, files in found.items() if len(files) == 2}
    return {
        rest: (check_inside(files[0], folder), check_inside(files[1], folder))
        for rest, files in both.items()
    }


def languages(folder: Path) -> list[str]:
    """Language suffixes of the files in a folder whose names differ in nothing else."""
    stems: dict[str, set[str]] = {}
    for path in folder.iterdir():
        if path.is_file() and LANGUAGE.fullmatch(suffix_of(path)):
            stems.setdefault(stem_of(path), set()).add(suffix_of(path).removeprefix("."))
    return sorted({suffix for own in stems.values() if len(own) > 1 for suffix in own})


def files_by_stem(folder: Path, suffixes: Sequence[str], what: str) -> dict[str, Path]:
    """The files of a data folder with given suffixes, each plain or .gz; hidden ones do not count.

    Args:
        folder: path of the folder, or of one file of any name.
        suffixes: such as (".csv", ".tsv").
        what: what the files hold, for errors.

    Returns:
        dict from the stem of a file's name ("train") to its path.

    Raises:
        ValueError: nothing found, or two files with the same stem.
    """
    if folder.is_file():
        return {stem_of(folder): folder}
    if not folder.is_dir():
        raise ValueError(f"Expected {what} at {folder}. Received: no such file or folder")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or suffix_of(path) not in suffixes or not path.is_file():
            continue
        if stem_of(path) in found:
            both = f"{found[stem_of(path)].name} and {path.name}"
            raise ValueError(f"Expected one file of each name in {folder}. Received: {both}")
        found[stem_of(path)] = check_inside(path, folder)
    if not found:
        names = ", ".join(sorted(entry.name for entry in folder.iterdir())[:10]) or "nothing"
        raise ValueError(
            f"Expected {', '.join(suffixes)} files, plain or .gz, in {folder}. Received: {names}"
        )
    check_named_splits(folder, found)
    return found
