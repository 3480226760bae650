"""Threads: one for BLAS within a run, and no more of our own than the machine really gives.

BLAS starts a thread for each core of the machine, and lets those that wait for work spin. The calls of a Frank-Wolfe
iteration are short, so that waiting costs more than a second thread earns; and where another process has one of the
cores, every call waits for it: a run then took up to forty times the processor time.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ContextDecorator
from pathlib import Path
from typing import Any

ASKED_FOR = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Environment variables by which a user asks for a number of BLAS threads, and then gets it."""
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


class _OneBlasThread(ContextDecorator):
    """The one and only `one_blas_thread`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._libraries: list[Any] = []
        self._known_with: object = self
        """The module `scipy.linalg` as it was when the libraries were listed; it loads a BLAS of its own."""
        self._before: list[int] = []
        """Threads of the first libraries, those that have been limited, before that."""

    def __enter__(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1 or self._known_with is not sys.modules.get("scipy.linalg"):
                self._limit()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                for library, threads in zip(self._libraries, self._before, strict=False):
                    _set(library, threads)
                self._before.clear()

    def _limit(self) -> None:
        if any(name in os.environ for name in ASKED_FOR):
            return
        loaded = sys.modules.get("scipy.linalg")
        if self._known_with is not loaded:
            from threadpoolctl import ThreadpoolController

            known = {library.filepath for library in self._libraries}
            found = ThreadpoolController().select(user_api="blas").lib_controllers
            self._libraries += [library for library in found if library.filepath not in known]
            self._known_with = loaded
        for library in self._libraries[len(self._before) :]:
            self._before.append(library.get_num_threads() or 1)
            _set(library, 1)


def _set(library: Any, threads: int) -> None:
    """Set the threads of a library, whichever thread did so before; newer versions of threadpoolctl keep to one."""
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)
    library.set_num_threads(threads)


one_blas_thread = _OneBlasThread()
"""``with one_blas_thread:``, or as a decorator: BLAS and LAPACK compute on one thread, in all threads of the process.

At the end of the outermost such block the numbers of threads from before are back. Entering one takes some 20
microseconds, within another one a single one, and a few milliseconds where the libraries have to be found. Where a
variable of `ASKED_FOR` is set, nothing changes.
"""


def cores() -> int:
    """Cores that this process may keep busy: those it may run on, at most OMP_NUM_THREADS and a container's share."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min([mine, *_quotas(), int(wanted) if wanted.isdecimal() else mine]))


def _quotas() -> Iterator[int]:
    """Cores allowed by the control groups of Linux, of both versions, that this process is in; rounded up."""
    try:
        lines = _OWN_CGROUPS.read_text().splitlines()
    except OSError:  # another system
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)  # of version 2 if no controllers are named
        if not controllers or "cpu" in controllers.split(","):
            root = _CGROUPS / controllers
            group = root / path.lstrip("/")
            for folder in (group, *group.parents):  # a limit holds for the groups within; a container sees its root
                if folder == root.parent:
                    break
                yield from _quota(folder)


def _quota(folder: Path) -> Iterator[int]:
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        try:
            quota, period = (word for name in names for word in (folder / name).read_text().split())
        except (OSError, ValueError):
            continue
        if quota.isdecimal() and period.isdecimal() and int(period) > 0:  # else "max" or -1, for no limit
            yield math.ceil(int(quota) / int(period))
