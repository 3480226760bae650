"""The contract of data in pieces: `derive`, `reduce` and `collect`, by pure tasks, with sums in a fixed tree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, digest
from .._refusals import Refusing
from .._threads import one_blas_thread
from .block import Block, Description

FAN = 8
"""Neighbours that are summed at a time."""

Task = Callable[..., Any]
"""A function of a module, ``task(item, *small)``, deterministic, which changes nothing."""


class Blocks(Refusing, ABC):
    """Items in a fixed order, one for each block, wherever they are.

    Every number comes from one task on one item, and sums are made in a fixed tree: neighbours in the order of the
    blocks, `FAN` at a time, then the sums of these. So the bits of a result depend on the cuts between the blocks only,
    not on who computes what, on how many threads or machines there are, nor on what was lost and made again.

    A backend implements `_collect`, `derive` and, where results should not all travel, `_reduce_large`.

    Attributes
    ----------
    names : list of str
        Of the blocks, for sentences.
    feature_names : tuple of str
        Of the columns, where they are known.
    rounds, passes : int
        How often the items were asked something, and how often something of the size of all columns.
    bytes : int
        How many bytes of entries were gone through (`Local`), or came to this process (Dask).
    """

    names: list[str]
    feature_names: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.rounds = self.passes = self.bytes = 0

    # What a backend implements.

    @abstractmethod
    def derive(self, task: Task, *args: Any) -> Blocks:
        """``task(item, *args)`` of each item, as items of their own: kept near it, made again when lost."""

    @abstractmethod
    def _collect(self, task: Task, *args: Any) -> Iterable[Any]:
        """``task(item, *args)`` of each item, in order."""

    def _reduce_large(self, task: Task, *args: Any) -> tuple[Any, ...]:
        """The sum in the tree, made where the items are."""
        return tree_sum(self._collect(task, *args))

    @abstractmethod
    def release(self) -> None:
        """Let go of derived items."""

    # What others ask.

    def __len__(self) -> int:
        return len(self.names)

    def collect(self, task: Task, *args: Any) -> list[Any]:
        """``task(item, *args)`` of each item, in the order of the blocks."""
        self._root.rounds += 1
        return list(self._collect(task, *args))

    def reduce(self, task: Task, *args: Any, large: bool = False) -> tuple[Any, ...]:
        """The sum over the items of what ``task(item, *args)`` returns, a tuple of arrays and numbers.

        With `large`, results are as long as there are columns, and are summed where they are.
        """
        self._root.rounds += 1
        self._root.passes += large
        return self._reduce_large(task, *args) if large else tree_sum(self._collect(task, *args))

    @property
    def _root(self) -> Blocks:
        """Whose counts are kept."""
        return self

    @cached_property
    def descriptions(self) -> list[Description]:
        """What is known of each block; a ValueError if they do not fit together, or are not finite."""
        found = self._describe()
        check_together(found, self.names)
        return found

    def _describe(self) -> list[Description]:
        return self.collect(describe)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of all blocks together, and columns."""
        return sum(found.rows for found in self.descriptions), max(found.columns for found in self.descriptions)

    def fingerprint(self) -> str:
        """Hash of all data, and of the cuts."""
        return digest(self.shape, *(found.digest for found in self.descriptions))

    def labels(self) -> tuple[Array | None, Array]:
        """The distinct labels of all blocks, sorted, or None if they are too many; and which have positive weight, or
        the smallest and the largest."""
        held = [found for found in self.descriptions if found.rows]
        if any(found.labels is None for found in held):
            return None, np.array([min(found.low for found in held), max(found.high for found in held)])
        labels = np.array(sorted({label for found in held for label in found.labels or ()}))
        weighted = {label for found in held for label in found.weighted or ()}
        return labels, np.array([label in weighted for label in labels.tolist()])

    def weight(self) -> float | None:
        """The sum of all weights; None if there are none."""
        found = [0.0 if one.weight is None else one.weight for one in self.descriptions if one.rows]
        known = [one.weight is not None for one in self.descriptions if one.rows]
        if not any(known):
            return None
        return float(tree_sum((part,) for part in found)[0])


def run(task: Task, item: Any, *args: Any) -> tuple[Any, int]:
    """What a task gives for an item, which is open as long as the task runs, and how many bytes it went through."""
    with one_blas_thread:  # more would change the bits of products
        opened = item.open()
        before = opened.touched
        return task(opened, *args), opened.touched - before


def describe(block: Block) -> Description:
    """A task: what is known of a block."""
    return block.describe()


def check_together(found: list[Description], names: list[str]) -> None:
    """Raise a ValueError if blocks cannot be parts of one matrix."""
    held = [(one, name) for one, name in zip(found, names, strict=True) if one.rows]
    if not held:
        raise ValueError("the blocks have no rows; give at least one sample.")
    first, first_name = held[0]
    for one, name in held:
        if (one.weight is None) != (first.weight is None):
            raise ValueError(f"{name} and {first_name} do not fit together: only one of them has weights.")
        if isinstance(one.low, str) != isinstance(first.low, str):
            raise ValueError(
                f"{name} and {first_name} do not fit together: labels are numbers in one, text in the other."
            )
    if first.weight is not None and not sum(one.weight or 0.0 for one, _ in held) > 0:
        raise ValueError("all weights are zero, so that no sample counts; give at least one positive weight.")


def tree_sum(results: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The sum of tuples of arrays and numbers: `FAN` neighbours from left to right, then `FAN` such sums, and so on.

    Takes them as they come, so that few are held at a time. Arrays of the results are changed.
    """
    levels: list[tuple[int, tuple[Any, ...]]] = []  # how many are in the sum of each level, and the sum
    for result in results:
        _push(levels, 0, result)
    while len(levels) > 1:
        count, lowest = levels.pop(0)
        if count:
            _push(levels, 0, lowest)
            # A full level is emptied upwards at once, so the next lowest is again the first.
    if not levels:
        raise ValueError("there are no blocks to sum over.")
    return levels[0][1]


def _push(levels: list[tuple[int, tuple[Any, ...]]], level: int, result: tuple[Any, ...]) -> None:
    if level == len(levels):
        levels.append((1, result))
        return
    count, total = levels[level]
    count, total = (1, result) if count == 0 else (count + 1, add(total, result))
    if count == FAN:
        levels[level] = (0, ())
        _push(levels, level + 1, total)
    else:
        levels[level] = (count, total)


def add(total: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sum of two results, in the arrays of the first."""
    return tuple(np.add(a, b, out=a) if isinstance(a, np.ndarray) else a + b for a, b in zip(total, other, strict=True))
