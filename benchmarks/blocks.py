"""Blocks: bits on every backend, data larger than memory, the cost of a round, and what others do. See docs/blocks.md.

``python -m benchmarks.blocks bits``: one problem on threads, out of core, with a budget of 5 MB, on one, two and four
workers, in shuffled order. ``large FOLDER``: 20 million rows by a million features, written to FOLDER (5 GB), to a
certified gap of 1e-8; ``large FOLDER --rows N`` for a smaller one. ``rounds``: the overhead of a round on a cluster,
also with 1,000 sleeping tasks.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import bsfw
from bsfw.blocks import from_arrays, open_blocks, write

AVERAGE = 30
"""Entries in a row of the generated data, about."""


def generated(rows: int, features: int, seed: int):
    """One piece of a sparse logistic problem: popular features first, values of float32, 50 true coefficients."""
    rng = np.random.default_rng([seed, 1])
    truth = np.zeros(features)
    truth[np.random.default_rng(0).choice(2000, 50, replace=False)] = np.random.default_rng(1).standard_normal(50) * 2.0
    counts = rng.poisson(AVERAGE, rows)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    columns = np.minimum((features * rng.random(indptr[-1]) ** 3.0).astype(np.int32), features - 1)
    A = sp.csr_array((rng.random(indptr[-1], dtype=np.float32) + np.float32(0.5), columns, indptr), (rows, features))
    A.sum_duplicates()
    y = np.where(rng.random(rows) < 1.0 / (1.0 + np.exp(-(A @ truth))), 1, -1).astype(np.int8)
    return A, y


class Peak:
    """The largest anonymous memory of this process within a block, looked at every 20 ms."""

    def __enter__(self) -> Peak:
        self.value, self._end = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._end.wait(0.02):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    self.value = max(self.value, int(line.split()[1]) * 1024)

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def dropped(folder: Path) -> None:
    """Ask the system to forget the files: the next read comes from the disk."""
    for path in folder.rglob("*.npy"):
        handle = os.open(path, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def cat(folder: Path) -> float:
    """Seconds in which `cat` reads all files, after they were dropped."""
    files = [str(path) for path in sorted(folder.rglob("*.npy"))]
    dropped(folder)
    began = time.perf_counter()
    subprocess.run(["cat", *files], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def large(folder: Path, rows: int, features: int) -> None:
    """Data that are larger than what a run may take of memory."""
    block, began = 500_000, time.perf_counter()
    if not (folder / "manifest.json").exists():
        pieces = (generated(min(block, rows - first), features, first) for first in range(0, rows, block))
        write(folder, pieces, rows=block)
        print(f"written in {time.perf_counter() - began:.0f} s", flush=True)
    size = sum(path.stat().st_size for path in folder.rglob("*.npy"))
    print(f"{rows} rows, {features} features, {size / 1e9:.2f} GB in files, load {os.getloadavg()[0]:.1f}", flush=True)
    blocks = open_blocks(folder, threads=2, budget=2.5e8)
    f = bsfw.Logistic(blocks)
    x = np.zeros(features)
    x[:50] = 0.1
    f.gradient(x)  # compile, and look at all indices once
    for turn in range(3):
        by_cat = cat(folder)
        dropped(folder)
        x[0] += 0.01
        began, used = time.perf_counter(), cpu()
        f.gradient(x)
        by_pass = time.perf_counter() - began
        print(
            f"pass {turn}: cat {size / by_cat / 1e9:.2f} GB/s, full pass {size / by_pass / 1e9:.2f} GB/s "
            f"({by_cat / by_pass:.0%} of cat), {cpu() - used:.1f} CPU s",
            flush=True,
        )
    began, used, passes, rounds, read = time.perf_counter(), cpu(), blocks.passes, blocks.rounds, blocks.bytes
    with Peak() as peak:
        result = bsfw.minimize(f, bsfw.L1Ball(5.0), gap_tol=1e-8, verbose=True)
    print(
        f"{result.status.name}: f {result.fun:.12g}, gap {result.gap:.2g}, {np.count_nonzero(result.x)} nonzeros, "
        f"{result.nit} iterations, {blocks.passes - passes} full passes, {blocks.rounds - rounds} rounds, "
        f"{time.perf_counter() - began:.0f} s, {cpu() - used:.0f} CPU s, {(blocks.bytes - read) / 1e9:.0f} GB gone "
        f"through, peak anonymous memory {peak.value / 1e9:.2f} GB"
    )


def bits() -> None:
    """The same run everywhere."""
    A, y = generated(200_000, 20_000, 7)
    ball, rows = bsfw.L1Ball(50.0), 17_000
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "train"
        write(folder, A, y, rows=rows)
        shuffled = open_blocks(folder, threads=2)
        for source in np.random.default_rng(0).permutation(np.array(shuffled._sources, dtype=object)):
            source.open().entries.sum()
        places = {
            "memory, 1 thread": lambda: from_arrays(A, y, rows=rows, threads=1),
            "memory, 2 threads": lambda: from_arrays(A, y, rows=rows, threads=2),
            "out of core, 2 threads": lambda: open_blocks(folder, threads=2),
            "out of core, budget 5 MB": lambda: open_blocks(folder, threads=2, budget=5e6),
            "out of core, nothing kept": lambda: open_blocks(folder, threads=2, budget=1),
            "out of core, loaded in shuffled order": lambda: shuffled,
        }
        first = None
        known = bsfw.minimize(bsfw.Logistic(A.astype(np.float64), y), ball, gap_tol=1e-8)
        for name, blocks in places.items():
            first = _row(name, blocks(), ball, first, known)
        from distributed import Client, LocalCluster

        from bsfw.dask import open_blocks as open_there

        for workers in (1, 2, 4):
            options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
            with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
                for turn in ("first", "second"):
                    found = open_there(folder, client=client)
                    _row(f"Dask, {workers} workers, {turn} run", found, ball, first, known)


def _row(name: str, blocks, ball, first, known):
    began, used = time.perf_counter(), cpu()
    result = bsfw.minimize(bsfw.Logistic(blocks), ball, gap_tol=1e-8)
    key = result.x.tobytes(), result.fun
    print(
        f"| {name} | {'-' if first is None else 'same' if key == first else 'OTHER'} | "
        f"{abs(result.fun - known.fun):.1e} | {np.abs(result.x - known.x).max():.1e} | {result.nit} | "
        f"{result.passes} | {result.rounds} | {time.perf_counter() - began:.2f} | {cpu() - used:.2f} |",
        flush=True,
    )
    return key if first is None else first


def trivial(block) -> tuple[int]:
    return (1,)


def sleeping(item) -> tuple[int]:
    time.sleep(0.01)
    return (1,)


def rounds() -> None:
    """What a round costs where tasks cost nothing, and what the scheduler takes of 1,000 that sleep 10 ms each."""
    from distributed import Client, LocalCluster

    from bsfw.dask import Dask, as_is

    options = {"dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
        for count in (1, 4, 16, 64):
            _, y = generated(10, 10, 0)
            items = from_arrays(sp.csr_array(np.eye(10)), y).derive(trivial)._parent._sources * count
            futures = client.map(as_is, items, key=[f"item-{count}-{place}" for place in range(count)], pure=False)
            _time(f"{count} blocks", Dask(client, futures, ["block"] * count), trivial)
    with LocalCluster(n_workers=2, threads_per_worker=50, **options) as cluster, Client(cluster) as client:
        futures = client.map(as_is, items[:1] * 1000, key=[f"item-{place}" for place in range(1000)], pure=False)
        _time("1,000 sleeping tasks of 10 ms on 100 threads", Dask(client, futures, ["block"] * 1000), sleeping, 3)


def _time(name: str, blocks, task, turns: int = 20) -> None:
    blocks.reduce(task)
    taken, used = [], cpu()
    for _ in range(turns):
        began = time.perf_counter()
        blocks.reduce(task)
        taken.append(time.perf_counter() - began)
    print(
        f"| {name} | {1e3 * min(taken):.0f} | {1e3 * np.median(taken):.0f} | {1e3 * (cpu() - used) / turns:.0f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("bits", "rounds"):
        commands.add_parser(name)
    one = commands.add_parser("large")
    one.add_argument("folder", type=Path)
    one.add_argument("--rows", type=int, default=20_000_000)
    one.add_argument("--features", type=int, default=1_000_000)
    args = parser.parse_args()
    if args.command == "large":
        large(args.folder, args.rows, args.features)
    else:
        {"bits": bits, "rounds": rounds}[args.command]()


if __name__ == "__main__":
    main()
