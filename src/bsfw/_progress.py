"""The live progress line of a run."""

from __future__ import annotations

import sys
import time
from typing import TextIO

INTERVAL = 0.2
"""Seconds between two updates on a terminal; elsewhere (a log file) lines come twenty times as rarely."""


class ProgressLine:
    """One line on stderr, rewritten in place on a terminal; `verbose=False` makes every call a no-op."""

    def __init__(self, verbose: bool, stream: TextIO | None = None) -> None:
        self.verbose = verbose
        self.stream = stream if stream is not None else sys.stderr
        self.live = verbose and self.stream.isatty()
        self._next = 0.0

    def due(self) -> bool:
        """Whether it is time for an update."""
        now = time.monotonic()
        if not self.verbose or now < self._next:
            return False
        self._next = now + INTERVAL * (1 if self.live else 20)
        return True

    def show(self, text: str) -> None:
        if self.verbose:
            self.stream.write(f"\r{text}\x1b[K" if self.live else f"{text}\n")
            self.stream.flush()

    def compiling(self) -> None:
        """Say why nothing moves yet."""
        self.show("compiling, once (some seconds)")

    def close(self, text: str) -> None:
        """The last line, which stays."""
        self.show(text)
        if self.live:
            self.stream.write("\n")


def readable(seconds: float) -> str:
    """A duration as people say it: 8 s, 3 min, 2 h 5 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
