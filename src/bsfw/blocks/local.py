"""Blocks on one machine: in memory or in files, by threads, within a budget of memory."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from .._arrays import positive, positive_int
from .._threads import cores
from .base import Blocks, Task, run
from .block import Description, Item

SHARE = 0.25
"""Of the machine's memory: the budget if none is given."""


class Budget:
    """Bytes that derived items may take together.

    Parameters
    ----------
    limit : float
    """

    def __init__(self, limit: float) -> None:
        self.limit, self.used = limit, 0
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Whether there was room for so many bytes, which then are taken."""
        with self._lock:
            fits = self.used + size <= self.limit
            self.used += size if fits else 0
            return fits

    def give_back(self, size: int) -> None:
        with self._lock:
            self.used -= size


class Local(Blocks):
    """Blocks of this process. A task opens what it needs of a file and lets it go; at most threads + 1 run or wait.

    Parameters
    ----------
    sources : sequence of Item
        Blocks, or what opens as one.
    threads : int, optional
        Tasks at a time; by default as many as there are processors.
    budget : float, optional
        Bytes that derived items may take; what does not fit is made anew at each use, to the same bits. By default a
        quarter of the machine's memory.
    feature_names : tuple of str
    """

    def __init__(
        self,
        sources: Sequence[Item],
        *,
        threads: int | None = None,
        budget: float | None = None,
        feature_names: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self._sources, self.feature_names = list(sources), tuple(feature_names)
        self.names = [source.name for source in self._sources]
        self.threads = cores() if threads is None else positive_int(threads, "threads")
        self.budget = Budget(_default_budget() if budget is None else positive(budget, "budget"))
        self._pool: ThreadPoolExecutor | None = None

    def derive(self, task: Task, *args: Any) -> Local:
        return Derived(self, task, args)

    def release(self) -> None:
        """Nothing: the sources stay."""

    def _item(self, place: int) -> tuple[Any, int]:
        """An item, and how many bytes it took to make it anew."""
        return self._sources[place], 0

    def _describe(self) -> list[Description]:
        known = [getattr(source, "description", None) for source in self._sources]
        return super()._describe() if None in known else [one for one in known if one is not None]

    def _collect(self, task: Task, *args: Any) -> Iterable[Any]:
        def work(place: int) -> tuple[Any, int]:
            item, made = self._item(place)
            result, touched = run(task, item, *args)
            return result, made + touched

        for result, touched in self._in_order(work):
            self._root.bytes += touched
            yield result

    def _in_order(self, work: Any) -> Iterator[tuple[Any, int]]:
        if self.threads == 1 or len(self) == 1:
            yield from map(work, range(len(self)))
            return
        root = self._root
        assert isinstance(root, Local)
        if root._pool is None:
            root._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="bsfw-blocks")
        waiting: deque[Future[tuple[Any, int]]] = deque()
        try:
            for place in range(len(self)):
                waiting.append(root._pool.submit(work, place))
                if len(waiting) > self.threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error
            for future in waiting:
                future.cancel()


class Derived(Local):
    """Items made from those of other blocks, kept while the budget lasts.

    Parameters
    ----------
    parent : Local
    task : callable
    args : tuple
    """

    def __init__(self, parent: Local, task: Task, args: tuple[Any, ...]) -> None:
        Blocks.__init__(self)
        self.names, self.threads, self.budget = parent.names, parent.threads, parent.budget
        self._parent, self._task, self._args = parent, task, args
        self._kept: dict[int, Item] = {}

    @property
    def _root(self) -> Blocks:
        return self._parent._root

    def _describe(self) -> list[Description]:
        return Blocks._describe(self)

    def _item(self, place: int) -> tuple[Any, int]:
        kept = self._kept.get(place)
        if kept is not None:
            return kept, 0
        parent, before = self._parent._item(place)
        made, touched = run(self._task, parent, *self._args)
        if self.budget.take(made.nbytes):
            self._kept[place] = made
        return made, before + touched

    def release(self) -> None:
        """Give back what was kept."""
        while self._kept:
            self.budget.give_back(self._kept.popitem()[1].nbytes)

    def __del__(self) -> None:
        self.release()


def _default_budget() -> float:
    try:
        return SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # another system
        return 2.0**31
