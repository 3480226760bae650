"""Ctrl-C between two iterations: nothing of a long run is lost, and what is saved can go on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether somebody pressed Ctrl-C (SIGINT) while `watched`. A second one is not kept back: KeyboardInterrupt.

    SIGTERM counts as Ctrl-C where its handler is that of Ctrl-C, as it is in the command ``bsfw solve``.
    """

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
        raising = [
            number
            for number in (signal.SIGINT, signal.SIGTERM)
            if mine and signal.getsignal(number) is signal.default_int_handler
        ]
        for number in raising:
            signal.signal(number, self._note)
        try:
            yield
        finally:
            for number in raising:
                signal.signal(number, signal.default_int_handler)
