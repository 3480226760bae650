"""The processes that runs are spread over: one thread of BLAS each, ended by the process that started them, or without
it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

PAUSE = 0.5
"""Seconds between two looks at the parent."""


def configured(jobs: int) -> Any:
    """The block in which to make a `joblib.Parallel`; nothing where another backend than joblib's own is active.

    Workers keep BLAS and OpenMP from using all cores each, and end with the process that started them.
    """
    import joblib
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    if jobs > 1 and type(backend).__name__ == "LokyBackend" and backend.inner_max_num_threads is None:
        parameters = {"initializer": leave_with, "initargs": (os.getpid(),)}
        return joblib.parallel_config(backend="loky", inner_max_num_threads=1, **parameters)
    return nullcontext()


def leave_with(parent: int) -> None:
    """End this process as soon as `parent` is gone: killed, it cannot end its workers itself."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PAUSE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Start worker processes inside of this block: they inherit that Ctrl-C is ignored. It reaches the whole group of
    processes, and each worker would print a traceback; ending them is left to this process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
