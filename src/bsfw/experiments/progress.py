"""How far a sweep is, on stderr: a live bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

_PAUSE = 10.0
"""Seconds between two lines where there is no terminal."""


class SweepProgress:
    """Counts runs, and estimates the time left from the mean time of those that ended.

    Parameters
    ----------
    total : int
        Number of runs to do.
    """

    def __init__(self, total: int) -> None:
        self.total, self.done, self.failed = total, 0, 0
        self._started = self._shown = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self.total and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.add_task(self._words(), total=self.total)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, failed: bool) -> None:
        """One more run ended."""
        self.done += 1
        self.failed += failed
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.done, description=self._words())
        elif time.monotonic() - self._shown >= _PAUSE or self.done == self.total:
            self._shown = time.monotonic()
            print(f"bsfw: {self._words()}", file=sys.stderr, flush=True)

    def _words(self) -> str:
        words = f"{self.done} of {self.total} runs"
        if self.failed:
            words += f", {self.failed} failed"
        if 0 < self.done < self.total:
            left = (time.monotonic() - self._started) / self.done * (self.total - self.done)
            words += f", about {in_words(left)} left"
        return words


def in_words(seconds: float) -> str:
    """A length of time as one says it: 42 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
