"""Files of records: not read yet, and read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from keras_attn_pipelines.data.skipped import Skipped, check_share

P = TypeVar("P")


@dataclass(frozen=True)
class ReadFile(Generic[P]):
    """The records of a file, or of two parallel ones.

    Attributes:
        path: path of the file.
        form: name of the layout, and details.
        pairs: list of records, such as `TextPair`, in order, duplicates kept.
        records: number of records, unusable ones included.
        skipped: list of `Skipped`, the unusable ones.
        splits: split of each pair, where records say so themselves; otherwise empty.
    """

    path: Path
    form: str
    pairs: list[P]
    records: int
    skipped: list[Skipped]
    splits: Sequence[str] = ()

    def check(self, tolerance: float) -> None:
        """Raises ValueError if more than `tolerance` (a share) of the records were skipped."""
        check_share(self.skipped, self.records, tolerance)


class RecordFile(NamedTuple):
    """A file of records, or several, not read yet.

    Attributes:
        path: path of the file, of the one with the sources, or of the folder.
        form: name of the layout, and details.
        collect: function from path and form to the `ReadFile`.
    """

    path: Path
    form: str
    collect: Callable[[Path, str], ReadFile[Any]]

    def read(self) -> ReadFile[Any]:
        """Reads the records.

        Raises:
            ValueError: as the readers do, or nothing usable.
        """
        return self.collect(self.path, self.form)


def left_out(
    files: Mapping[str, RecordFile], names: Sequence[str], lacking: str
) -> dict[str, RecordFile]:
    """Files of records whose layouts say which other files are left out.

    Args:
        files: by the stems of their names.
        names: of the files that are left out.
        lacking: what these lack.
    """
    note = left_out_note(names, lacking)
    return {stem: file._replace(form=f"{file.form}{note}") for stem, file in files.items()}


def left_out_note(names: Sequence[str], lacking: str) -> str:
    """What a layout says of files that are left out; '' for none."""
    return f" ({' and '.join(names)} left out, without {lacking})" if names else ""
