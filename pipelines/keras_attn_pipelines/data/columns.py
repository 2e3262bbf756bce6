"""Names of the columns of records."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from keras_attn.untrusted import scalar_text
from keras_attn_pipelines.data.record import AUTO, R
from keras_attn_pipelines.data.split_names import split_named

IMAGE_COLUMNS = (
    "image",
    "file_name",
    "filename",
    "file",
    "picture",
    "path",
    "image_path",
    "image_name",
    "photo",
    "img",
    "image_id",
)
CAPTION_COLUMNS = ("caption", "captions", "text", "description", "sentence", "comment")
LANGUAGE = re.compile("[a-z]{2,3}([_-][a-z0-9]+)?")
"""Pattern of a language's name, in lower case: en, pt_br, zh-hans."""
SPLIT_COLUMNS = ("split", "subset", "partition", "dataset_split", "data_split", "is_valid")
"""Columns or keys of the split of a record, in any case."""
LANGUAGE_COLUMNS = (
    *("language", "lang", "locale", "source_language", "target_language"),
    *("source_lang", "target_lang", "src_lang", "tgt_lang"),
    *("lang_pair", "language_pair", "langs"),
)
"""Columns or keys of the languages of a record."""
REJECTED_COLUMNS = ("is_rejected", "rejected")
"""Columns or keys that mark a record as bad."""
TRUE = ("1", "true", "yes", "y")
NO_TEXT = re.compile(r"[-+]?[\d.,]+([eE][-+]?\d+)?|CC[ -].*|https?://\S+|")
"""Pattern of a cell of numbers, terms of use or addresses."""
GUESSED_FROM = 20
"""How many records are looked at to guess columns."""
SOURCE_COLUMNS = (
    "source",
    "src",
    "input",
    "question",
    "prompt",
    "article",
    "document",
    "text",
)
TEXT_COLUMNS = (
    "text",
    "sentence",
    "review",
    "comment",
    "content",
    "document",
    "question",
    "headline",
    "body",
    "title",
    "source",
    "input",
)
LABEL_COLUMNS = ("label", "labels", "class", "category", "class_name", "target")
TEXT_LABEL_COLUMNS = (*LABEL_COLUMNS, "sentiment", "topic", "intent")
TARGET_COLUMNS = (
    "target",
    "tgt",
    "output",
    "answer",
    "response",
    "summary",
    "highlights",
    "translation",
    "paraphrase",
)


class NoSecondError(ValueError):
    """Records have the first of their fields, and not the second."""


class Known(NamedTuple):
    """The kinds of fields that a record has.

    Attributes:
        first: common column names of the first.
        second: common column names of the second.
        words: names of the two in messages.
        flags: flags of the command line that name the columns.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    words: tuple[str, str]
    flags: tuple[str, str]


def _flags(*names):
    first, second = (f"--{name}-column" for name in names)
    return first, second


CAPTIONS = Known(
    IMAGE_COLUMNS, CAPTION_COLUMNS, ("picture named", "caption"), _flags("image", "caption")
)
LABELS = Known(IMAGE_COLUMNS, LABEL_COLUMNS, ("picture named", "label"), _flags("image", "label"))
TEXT_LABELS = Known(TEXT_COLUMNS, TEXT_LABEL_COLUMNS, ("text", "label"), _flags("text", "label"))
PAIRS = Known(SOURCE_COLUMNS, TARGET_COLUMNS, ("source", "target"), _flags("source", "target"))


class Marks(NamedTuple):
    """Columns or keys that say what kind of record one is; None or () for none.

    Attributes:
        split: of its split.
        languages: of its languages.
        rejected: of whether it is marked as bad.
    """

    split: str | None = None
    languages: tuple[str, ...] = ()
    rejected: str | None = None

    @classmethod
    def of(cls, columns: Sequence[str], languages: Sequence[str] = LANGUAGE_COLUMNS) -> "Marks":
        """The marks among columns.

        Args:
            columns: names.
            languages: names of columns of languages.
        """
        return cls(
            chosen(AUTO, SPLIT_COLUMNS, columns),
            tuple(column for column in columns if column.strip().lower() in languages),
            chosen(AUTO, REJECTED_COLUMNS, columns),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(name for name in (self.split, *self.languages, self.rejected) if name)

    def marked(self, record: R, values: Mapping[str, Any]) -> R:
        """A record with what its other values say.

        Args:
            record: `Record` or `FactRecord`.
            values: of its columns or keys; those that are no texts or scalars do not count.
        """
        texts = {name: scalar_text(values.get(name)) for name in self.names}
        values = {name: text for name, text in texts.items() if isinstance(text, str)}
        rejected = values.get(self.rejected or "", "").strip()
        if not record.reason and rejected.lower() in TRUE:
            record = replace(record, reason=f"marked {self.rejected}={rejected!r:.40}")
        languages = [values[name].strip().lower() for name in self.languages if values.get(name)]
        split = split_named(values.get(self.split or "", ""))
        if (self.split or "").strip().lower() == "is_valid":
            split = "dev" if split in TRUE else "train"
        return replace(record, split=split, language="-".join(languages))


@dataclass(frozen=True)
class Columns:
    """Columns or keys of the two fields of a record; "auto" tries the common names.

    If a file has several of the known names, the first in `known` is used.

    Attributes:
        first: column of the first field, or "auto".
        second: likewise of the second.
        known: `Known`.
        header: whether tables have a header; None: if their first row is one. Without one, `places`
            are read.
        places: of the two columns in a table without a header, from 1; () for the first two with
            texts.
        language: of the records; "auto" for the only one that they name.
        is_file: function from a text to whether it names a picture; None where records have none.
        guesses: whether missing columns are guessed.
        guessed: flags that would set what was guessed, for the report.
        more: columns with further values of the second field, such as caption_2 and caption_3.
    """

    first: str = AUTO
    second: str = AUTO
    known: Known = CAPTIONS
    header: bool | None = True
    places: tuple[int, ...] = ()
    language: str = AUTO
    is_file: Callable[[str], bool] | None = field(default=None, compare=False)
    guesses: bool = False
    guessed: str = ""
    more: tuple[str, ...] = ()

    def has_header(self, cells: Sequence[str], delimiter: str) -> bool:
        """Whether the first row of a table is its header; of a TSV, if its cells are known names,
        or languages."""
        if self.header is not None:
            return self.header
        if self.places or delimiter != "\t":
            return not self.places
        if AUTO not in (self.first, self.second) or not self.missing_of(cells):
            return True
        names = {*self.known.first, *self.known.second}
        plain = [cell.strip().lower() for cell in cells]
        return all(name in names or LANGUAGE.fullmatch(name) for name in plain)

    def first_of(self, columns: Sequence[str]) -> str | None:
        """The column of the first field, or None."""
        return chosen(self.first, self.known.first, columns)

    def second_of(self, columns: Sequence[str]) -> str | None:
        """The column of the second field, or None."""
        return chosen(self.second, self.known.second, columns)

    def with_numbered(self, columns: Sequence[str]) -> "Columns":
        """These columns; where captions are in caption_1, caption_2 and so on, with all of them."""
        if self.known is not CAPTIONS or self.second_of(columns) is not None or self.second != AUTO:
            return self
        names = "|".join(self.known.second)
        numbered = [
            column
            for column in columns
            if re.fullmatch(rf"({names})[ _-]?\d+", column.strip().lower())
        ]
        stems = {re.sub(r"\d+$", "", column.strip().lower()) for column in numbered}
        if len(stems) != 1 or len(set(numbered)) < len(numbered):
            return self
        return replace(self, second=numbered[0], more=tuple(numbered[1:]))

    def marks_of(self, columns: Sequence[str]) -> Marks:
        """The columns that say what kind of record one is."""
        taken = (self.first_of(columns), self.second_of(columns), *self.more)
        return Marks.of([column for column in columns if column not in taken])

    def settled(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> "Columns":
        """These columns, with guesses for the missing ones.

        A column of pictures is the only one with names of files, one of captions the only other one
        with sentences; of two columns, one is what the other is not. A column with a known name and
        without names of files gives way to the only one with some.

        Args:
            columns: names.
            rows: the first rows of the table.
        """
        if (column := self._other_pictures(columns, rows)) is not None:
            flag = f"{self.known.flags[0]} {column}"
            settled = replace(self, first=column).settled(columns, rows)
            return replace(settled, guessed=" ".join(filter(None, (flag, settled.guessed))))
        missing, given = self._missing(columns), [self.first_of(columns), self.second_of(columns)]
        if not self.guesses or any((self.first, self.second)[place] != AUTO for place in missing):
            return self
        if any(map(self._is_value, columns)):  # A first row of data.
            return self
        split, languages, rejected = self.marks_of(columns)
        taken = {*given, split, *languages, rejected}
        cells = {
            column: [row[place].strip() for row in rows if place < len(row)]
            for place, column in enumerate(columns)
            if column not in taken and self._may_be_meant(column)
        }
        for place in missing:
            given[place] = self._guess(place, cells, len(missing) == len(cells))
            cells.pop(given[place] or "", None)
        if None in given:
            return replace(self, first=given[0]) if self.is_file and given[0] else self
        flags = " ".join(f"{self.known.flags[place]} {given[place]}" for place in missing)
        first, second = (name or "" for name in given)
        return replace(self, first=first, second=second, guessed=flags)

    def _other_pictures(self, columns, rows) -> str | None:
        """The only column with names of pictures, if the one with a known name has none."""
        known = self.first_of(columns)
        if self.is_file is None or self.first != AUTO or known is None:
            return None

        def has_files(column):
            place = columns.index(column)
            return any(self.is_file(row[place].strip()) for row in rows if place < len(row))

        fitting = [] if has_files(known) else list(filter(has_files, columns))
        return fitting[0] if len(fitting) == 1 else None

    def _may_be_meant(self, column):
        """Whether a column may be guessed: it is no index, and no language of pairs."""
        plain = column.strip().lower()
        is_language = self.known is PAIRS and LANGUAGE.fullmatch(plain)
        is_index = plain in ("", "index") or (plain == "id" and self.is_file is None)
        return not (is_language or is_index or plain.startswith("unnamed:"))

    def _is_value(self, column):
        """Whether what should be a column's name looks like a value."""
        column = column.strip()
        is_picture = self.is_file is not None and self.is_file(column)
        return is_picture or len(column.split()) > 3 or bool(column and NO_TEXT.fullmatch(column))

    def _guess(self, place, cells, are_all):
        """The only column that may have the first (0) or second (1) field; None if none or several.

        Args:
            place: of the field.
            cells: first cells of each column that may be meant.
            are_all: whether all of them are meant.
        """
        texts = [name for name, own in cells.items() if not all(map(NO_TEXT.fullmatch, own))]
        if place == 0 and self.is_file is not None:
            fitting = [name for name, own in cells.items() if any(map(self.is_file, own))]
        elif place == 0 and self.known is TEXT_LABELS:
            most = max((_words(cells[name]) for name in texts), default=0)
            fitting = [name for name in texts if are_all and _words(cells[name]) == most]
        elif place == 0:
            fitting = texts[: int(are_all)]
        elif self.known is CAPTIONS and len(cells) > 1:
            fitting = [name for name in texts if _words(cells[name]) >= 2 * len(cells[name])]
        else:
            fitting = texts
            if self.known in (LABELS, TEXT_LABELS):  # Labels are short, and some come again.
                fitting = [name for name in cells if _are_labels(cells[name])]
        return fitting[0] if len(fitting) == 1 else None

    def missing_of(self, columns: Sequence[str]) -> list[str]:
        """Description of the missing columns."""
        wanted = (self.first, self.known.first), (self.second, self.known.second)
        return [_wanted(*wanted[place]) for place in self._missing(columns)]

    def _missing(self, columns):
        values = self.first_of(columns), self.second_of(columns)
        return [place for place, value in enumerate(values) if value is None]

    def check(self, columns: Sequence[str], path, noun: str = "column", shown: str = "") -> None:
        """Raises ValueError for missing columns.

        Args:
            columns: names that there are.
            path: of the file.
            noun: what messages call a column.
            shown: what there is, for messages; the names if ''.
        """
        if missing := self.missing_of(columns):
            named = f" and a {noun} named ".join(missing)
            flags = " and ".join(self.known.flags[place] for place in self._missing(columns))
            alone = self._missing(columns) == [1] and self.second == AUTO
            raise (NoSecondError if alone else ValueError)(
                f"Expected a {noun} named {named} in {path} (set {flags}). "
                f"Received: {shown or ', '.join(columns) or 'nothing'}"
            )

    def form(self, name: str) -> str:
        """The name of a format, with the columns that were guessed."""
        return f"{name}, guessed {self.guessed}" if self.guessed else name


def text_places(rows: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """The first two columns, from 1, of rows without a header that have texts: other ones have only
    numbers, languages, or terms of use as Tatoeba's; () if there are no two.

    Example:
        >>> text_places([["1276", "Go.", "18", "Va !", "CC-BY 2.0"]])
        (2, 4)
    """
    cells = {
        place: [row[place - 1].strip() for row in rows if place <= len(row)]
        for place in range(1, len(rows[0]) + 1)
    }
    texts = [
        place
        for place, own in cells.items()
        if not all(map(NO_TEXT.fullmatch, own)) and not all(map(LANGUAGE.fullmatch, own))
    ]
    return tuple(texts[:2]) if len(texts) > 1 else (1, 2) if len(cells) == 2 else ()


def _are_labels(cells):
    few = len(cells) < 3 or len(set(cells)) < len(cells)
    return few and _words(cells) <= 3 * len(cells)


def _words(cells):
    """The number of words in cells."""
    return sum(len(cell.split()) for cell in cells)


def chosen(wanted: str, known: Sequence[str], columns: Sequence[str]) -> str | None:
    """The wanted column, or the first known one if it is "auto"; None if there is none."""
    if wanted != AUTO:
        return wanted if wanted in columns else None
    plain = {column.strip().lower(): column for column in reversed(columns)}
    return next((plain[name] for name in known if name in plain), None)


def _wanted(wanted, known):
    return repr(wanted) if wanted != AUTO else f"{', '.join(known[:-1])} or {known[-1]}"
