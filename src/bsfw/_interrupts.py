"""Ctrl-C between two iterations: nothing of a long run is lost, and what is saved can go on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether somebody pressed Ctrl-C (SIGINT) while `watched`. A second one is not kept back: KeyboardInterrupt."""

    def __init__(self) -> None:
        self.pending = False

    def _note(self, signum: int, frame: FrameType | None) -> None:
        if self.pending:
            raise KeyboardInterrupt
        self.pending = True

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Keep SIGINT back inside of the block.

        Only the main thread may say who handles a signal, and only Python's own handler is replaced: whoever has set
        another one wants something else.
        """
        mine = threading.current_thread() is threading.main_thread()
        if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
