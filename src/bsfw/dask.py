"""Blocks on a cluster of `dask.distributed`: the same numbers as on one machine, on any workers and after any lost one.

What a worker holds can be made again: a block from its file or its part of a table, the images of the atoms from the
block. Nothing is pinned to a worker and no worker knows anything else, so that Dask's own account of what came from
what is all the fault tolerance there is. docs/blocks.md says what happens when something fails.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._arrays import positive
from ._refusals import refusing
from .blocks.base import FAN, Blocks, Task, add, run
from .blocks.block import Block, Description, block_of
from .blocks.sources import table_piece
from .blocks.storage import block_files, verify_files

try:
    from dask.delayed import delayed
    from distributed import Client, KilledWorker, default_client, wait
    from distributed.client import ClosedClientError, FuturesCancelledError
    from distributed.comm.core import CommClosedError
except ImportError as error:
    raise ImportError("bsfw.dask needs dask.distributed: pip install 'bsfw[dask]'", name=error.name) from None

__all__ = ["Dask", "from_array", "from_dataframe", "open_blocks"]

PATIENCE = 60.0
"""Seconds without a sign of life after which a worker is given up, and without any worker after which a run is."""
POLL = 2.0
"""Seconds between two looks at the cluster while a round takes its time."""
LARGE = 20_000
"""Bytes of arguments from which on they are sent once, as a result of their own, not with every task."""


class Dask(Blocks):
    """Blocks whose items are results of tasks on a cluster.

    Parameters
    ----------
    client : distributed.Client
    futures : sequence of Future
        One for each item, results of tasks that can be run again.
    names : list of str
    descriptions : list of Description, optional
        If they are known.
    feature_names : tuple of str
    patience : float
        Seconds without a sign of life after which a worker is given up and its tasks go to others, and without any
        worker after which a RuntimeError ends the run.
    """

    def __init__(
        self,
        client: Client,
        futures: Sequence[Any],
        names: list[str],
        *,
        descriptions: list[Description] | None = None,
        feature_names: tuple[str, ...] = (),
        patience: float = PATIENCE,
    ) -> None:
        super().__init__()
        self.client, self.names, self.feature_names = client, names, feature_names
        self.patience = positive(patience, "patience")
        self._futures = list(futures)
        self._known = descriptions
        self._parent: Dask | None = None

    @property
    def _root(self) -> Dask:
        return self if self._parent is None else self._parent._root

    def _describe(self) -> list[Description]:
        return super()._describe() if self._known is None else self._known

    def derive(self, task: Task, *args: Any) -> Dask:
        made = Dask(self.client, self._map(task, args), self.names, patience=self.patience)
        made._parent = self
        return made

    def release(self) -> None:
        """Let go of the items; the cluster forgets them."""
        self._futures = []

    def _collect(self, task: Task, *args: Any) -> Iterable[Any]:
        return self._gather(self._map(task, args))

    def _reduce_large(self, task: Task, *args: Any) -> tuple[Any, ...]:
        """The same tree as `tree_sum`, by tasks: only the root travels to this process."""
        parts, level, token = self._map(task, args), 0, uuid.uuid4().hex
        while len(parts) > 1:
            groups = [parts[first : first + FAN] for first in range(0, len(parts), FAN)]
            with _gone():
                parts = [
                    group[0]
                    if len(group) == 1
                    else self.client.submit(sum_of, group, key=f"bsfw-sum-{token}-{level}-{place}", pure=False)
                    for place, group in enumerate(groups)
                ]
            level += 1
        found: tuple[Any, ...] = self._gather(parts)[0]
        return tuple(np.array(part) if isinstance(part, np.ndarray) else part for part in found)  # writable

    def _map(self, task: Task, args: tuple[Any, ...]) -> list[Any]:
        """A task for each item, under names that occur once: it would be a mistake to find an old result."""
        token = uuid.uuid4().hex
        keys = [f"bsfw-{task.__name__}-{token}-{place}" for place in range(len(self))]
        with _gone():
            packed: Any = args
            if _size(args) > LARGE:  # not scattered, for what is scattered cannot be made again
                packed = self.client.submit(as_is, args, key=f"bsfw-arguments-{token}", pure=False)
            return list(
                self.client.map(run_task, self._futures, [packed] * len(self), [task] * len(self), key=keys, pure=False)
            )

    def _gather(self, futures: list[Any]) -> list[Any]:
        """The results, while somebody looks after the cluster."""
        alone: float | None = None
        while True:
            try:
                with _gone():
                    wait(futures, timeout=POLL)
                    found = self.client.sync(self.client._gather, futures, callback_timeout=self.patience)
            except TimeoutError:
                alone = self._look_after(alone)
            except KilledWorker as error:
                place = str(error.task).rpartition("-")[2]
                name = self.names[int(place)] if place.isdecimal() and int(place) < len(self) else "a sum"
                raise RuntimeError(
                    f"{name} was given up: the workers that had its task ({str(error.task).split('-')[1]}) were lost, "
                    f"{error.allowed_failures + 1} of them in turn, as if out of memory; look at their logs, or write "
                    "smaller blocks."
                ) from None
            else:
                self._root.bytes += sum(map(_size, found))
                return list(found)

    def _look_after(self, alone: float | None) -> float | None:
        """Give up workers that show no sign of life, and the run if there are none. Since when there are none."""
        with _gone():
            left = self.client.run_on_scheduler(remove_silent, self.patience)
        if left:
            return None
        now = time.monotonic()
        if alone is not None and now - alone > self.patience:
            raise RuntimeError(
                f"the cluster has had no worker for {self.patience:g} s; start some, and go on from the checkpoint "
                "with bsfw.resume."
            )
        return now if alone is None else alone


class _gone:
    """A block in which a lost scheduler becomes one sentence."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        from concurrent.futures import CancelledError

        if isinstance(error, TimeoutError) or not isinstance(
            error, (ClosedClientError, FuturesCancelledError, CommClosedError, CancelledError, ConnectionError)
        ):
            return
        raise ConnectionError(
            "the scheduler of the cluster is gone, or was restarted; start a cluster and go on from the checkpoint "
            "with bsfw.resume, on blocks opened anew."
        ) from None


# Tasks.


def run_task(item: Any, args: tuple[Any, ...], task: Task) -> Any:
    """``task(item, *args)``."""
    return run(task, item, *args)[0]


def as_is(value: Any) -> Any:
    return value


def sum_of(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """From left to right; what the parts hold is not changed."""
    total = tuple(np.array(part) if isinstance(part, np.ndarray) else part for part in parts[0])
    for part in parts[1:]:
        total = add(total, part)
    return total


def block_of_part(frame: Any, names: tuple[str, ...], label: str, weight: str | None, place: int) -> Block:
    """A part of a table."""
    piece = table_piece(frame, names, label, weight, f"block {place}")
    return _named(block_of(piece.A, piece.y, piece.w), place)


def block_of_chunks(A: Any, y: Any, w: Any, place: int) -> Block:
    """Chunks of rows, labels and weights."""
    try:
        return _named(block_of(A, y, w), place)
    except (TypeError, ValueError) as error:
        raise type(error)(f"block {place}: {error}") from None


def _named(block: Block, place: int) -> Block:
    block.name = f"block {place}"
    return block


async def remove_silent(patience: float, dask_scheduler: Any = None) -> int:
    """On the scheduler: give up workers without a sign of life for so long, unless all are; how many are left."""
    now, workers = time.time(), dict(dask_scheduler.workers)
    silent = [address for address, worker in workers.items() if now - worker.last_seen > patience]
    for address in silent if len(silent) < len(workers) else ():
        await dask_scheduler.remove_worker(address, stimulus_id=f"bsfw-silent-{now}", expected=True)
    return len(dask_scheduler.workers)


def _size(value: Any) -> int:
    """Bytes of the arrays in arguments or results, about."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (tuple, list)):
        return sum(map(_size, value))
    if hasattr(value, "__dict__"):
        return sum(map(_size, vars(value).values()))
    return 8


# What a user calls.


@refusing
def open_blocks(folder: Any, *, client: Client | None = None, patience: float = PATIENCE, verify: bool = False) -> Dask:
    """The blocks in a folder that `bsfw.blocks.write` made, on a cluster whose workers all see it.

    Parameters
    ----------
    folder : path
        On a file system that all workers share, under the same path.
    client : distributed.Client, optional
        By default the one in use.
    patience : float
        Seconds without a sign of life after which a worker is given up; see `Dask`.
    verify : bool
        Whether to read all files here first and compare their hashes.

    Returns
    -------
    Dask
        To be given to ``bsfw.Logistic`` and the other linear models in place of A and y.
    """
    files, feature_names = block_files(folder)
    if verify:
        verify_files(files)
    client, token = _client(client), uuid.uuid4().hex
    with _gone():
        futures = client.map(
            as_is, files, key=[f"bsfw-file-{token}-{place}" for place in range(len(files))], pure=False
        )  # fmt: skip
    descriptions = [file.description for file in files]
    return Dask(
        client, futures, [file.name for file in files], descriptions=descriptions, feature_names=feature_names,
        patience=patience,
    )  # fmt: skip


@refusing
def from_dataframe(
    frame: Any, *, label: str, weight: str | None = None, client: Client | None = None, patience: float = PATIENCE
) -> Dask:
    """The partitions of a `dask.dataframe` as blocks.

    The label is a column of the same table: taken as two tables, rows and labels may have different partitions.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        All columns but the label and the weight are features.
    label : str
    weight : str, optional
        Columns of the table.
    client, patience
        As in `open_blocks`.

    Returns
    -------
    Dask
    """
    columns = [str(name) for name in frame.columns]
    for wanted in (label, weight):
        if wanted is not None and wanted not in columns:
            raise ValueError(f"the table has no column {wanted!r}; it has {', '.join(map(repr, columns[:8]))}.")
    names = tuple(name for name in columns if name not in (label, weight))
    if not names:
        raise ValueError("the table has no features beside its label.")
    parts = [
        delayed(block_of_part, pure=False)(part, names, label, weight, place)
        for place, part in enumerate(frame.to_delayed())
    ]
    return _computed(parts, client, names, patience)


@refusing
def from_array(
    X: Any, y: Any, *, sample_weight: Any = None, client: Client | None = None, patience: float = PATIENCE
) -> Dask:
    """The chunks of a `dask.array` as blocks.

    Parameters
    ----------
    X : dask.array.Array, (m, n)
        Dense chunks, or chunks that are sparse matrices of SciPy. Dense ones that are cut along the columns are put
        together.
    y, sample_weight : dask.array.Array, (m,)
        Cut as the rows of X are where lengths are known, else they must be cut so.
    client, patience
        As in `open_blocks`.

    Returns
    -------
    Dask
    """
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(f"X must be a dask array with a row per sample, got {X!r}.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    cut = [_cut_as(values, X, name) for values, name in ((y, "y"), (sample_weight, "sample_weight"))]
    weights = [None] * X.numblocks[0] if cut[1] is None else cut[1].to_delayed().ravel()
    parts = [
        delayed(block_of_chunks, pure=False)(rows, labels, w, place)
        for place, (rows, labels, w) in enumerate(
            zip(X.to_delayed()[:, 0], cut[0].to_delayed().ravel(), weights, strict=True)
        )
    ]
    return _computed(parts, client, (), patience)


def _cut_as(values: Any, X: Any, name: str) -> Any:
    """Labels or weights in the chunks of the rows."""
    if values is None:
        return None
    if getattr(values, "ndim", 0) != 1 or not hasattr(values, "to_delayed"):
        raise ValueError(f"{name} must be a dask array with an entry per row of X, got {values!r}.")
    known = not np.isnan([*X.chunks[0], *values.chunks[0]]).any()
    if known and sum(X.chunks[0]) != sum(values.chunks[0]):
        raise ValueError(f"X has {sum(X.chunks[0])} rows, but {name} has {sum(values.chunks[0])} entries.")
    if not known and X.numblocks[0] != values.numblocks[0]:
        raise ValueError(
            f"X has {X.numblocks[0]} chunks of unknown length and {name} has {values.numblocks[0]}: cut both at the "
            "same rows, or call compute_chunk_sizes()."
        )
    return values.rechunk((X.chunks[0],)) if known else values


def _computed(parts: list[Any], client: Client | None, feature_names: tuple[str, ...], patience: float) -> Dask:
    client = _client(client)
    with _gone():
        futures = client.compute(parts)
    names = [f"block {place}" for place in range(len(parts))]
    return Dask(client, futures, names, feature_names=feature_names, patience=patience)


def _client(client: Client | None) -> Client:
    if client is not None:
        return client
    try:
        found: Client = default_client()
        return found
    except ValueError:
        raise ValueError("there is no client in use: make one, distributed.Client(address), or give client=.") from None
