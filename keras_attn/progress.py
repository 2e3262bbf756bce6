"""Progress of long work: a bar on a terminal, a line a minute elsewhere."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from operator import length_hint
from typing import TypeVar

from tqdm import tqdm

REFRESH, MINUTE = 1.0, 60.0
"""Seconds between two states of a bar, and between two lines, where a step takes longer."""
Item = TypeVar("Item")
_open: list["Progress"] = []


class Progress:
    """Context that shows on standard error how far some work is.

    On a terminal it is a bar, elsewhere a line a minute; so it is without a unit, for work whose
    steps cannot be counted. Of nested ones only the innermost writes lines.

    Args:
        work: what is done, such as "examining pictures".
        total: int. Number of units; None if unknown.
        unit: singular noun for what is counted; "" if nothing is.
        shown: bool; None: on a terminal.

    Example:
        >>> with Progress("examining pictures", 3, "picture") as progress:
        ...     progress.update(2)
        >>> progress.done
        2
    """

    def __init__(
        self, work: str, total: int | None = None, unit: str = "", shown: bool | None = True
    ):
        self.work, self.total, self.unit, self.done = work, total, unit, 0
        self.shown = sys.stderr.isatty() if shown is None else shown
        self._bar: tqdm | None = None
        self._ended = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    @classmethod
    def over(
        cls, items: Iterable[Item], work: str, unit: str, shown: bool | None = True
    ) -> Iterator[Item]:
        """The items, one after the other; each counts once the next is asked for."""
        total = length_hint(items) or None
        with cls(work, total, unit, shown) as progress:
            for item in items:
                yield item
                progress.update()

    def __enter__(self):
        self._begin = time.monotonic()
        if self.shown:
            if self.unit and sys.stderr.isatty():
                self._bar = tqdm(total=self.total, desc=self.work, unit=self.unit)
            _open.append(self)
            self._clock.start()
        return self

    def __exit__(self, *error):
        if self.shown:
            self._ended.set()
            self._clock.join()
            _open.remove(self)
        if self._bar is not None:
            self._bar.close()

    def update(self, count: int = 1) -> None:
        """Counts units that are done."""
        self.done += count
        if self._bar is not None:
            self._bar.update(count)

    def _tick(self):
        while not self._ended.wait(MINUTE if self._bar is None else REFRESH):
            if self._bar is not None:
                self._bar.refresh()
            elif _open[-1] is self:
                print(self._line(), file=sys.stderr, flush=True)

    def _line(self):
        seconds = time.monotonic() - self._begin
        parts = [format_duration(seconds)]
        if self.done:
            parts.insert(0, f"{self.done:,}" + (f" of {self.total:,}" if self.total else ""))
        if self.done and self.total:
            parts.append(
                f"about {format_duration(seconds / self.done * (self.total - self.done))} left"
            )
        return f"{self.work}: {', '.join(parts)}"


def format_duration(seconds: float) -> str:
    """Seconds in words, to the minute above a minute and a half, in hours above 90 minutes.

    Example:
        >>> format_duration(89), format_duration(100), format_duration(8000)
        ('89 s', '2 min', '2.2 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
