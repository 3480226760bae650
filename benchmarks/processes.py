"""What only a process of its own can tell: cold start, and the memory of a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .data import Problem

ROOT = Path(__file__).resolve().parent.parent

COLD_START = """
import time
started = time.perf_counter()
import bsfw
imported = time.perf_counter()
A, y = bsfw.datasets.load("mushrooms")
loaded = time.perf_counter()
bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(50.0), estimator=bsfw.ESTIMATOR(batch_size=404), max_iter=10, rng=0)
print(f'{{"import": {imported - started}, "minimize": {time.perf_counter() - loaded}}}')
"""


def python(*arguments: str, **variables: str) -> Any:
    """The JSON that a fresh interpreter prints last."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **variables}
    finished = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise RuntimeError(f"a process of the benchmark failed:\n{finished.stderr.strip()[-2000:]}")
    return json.loads(finished.stdout.strip().splitlines()[-1])


@cache
def cold_start(estimator: str, repeats: int) -> dict[str, float]:
    """Best seconds of `import bsfw` and of the first `minimize` in a process; one process before fills the cache."""
    runs = [python("-c", COLD_START.replace("ESTIMATOR", estimator)) for _ in range(repeats + 1)][1:]
    return {key: min(run[key] for run in runs) for key in ("import", "minimize")}


@cache
def memory(m: int, n: int) -> dict[str, dict[str, float]]:
    """Peak of bsfw's own arrays per estimator, in float64 vectors of length n + m, in a process of its own."""
    # Without this threshold the C library keeps freed arrays, and the resident size says nothing.
    found: dict[str, dict[str, float]] = python(
        "-m", "benchmarks.processes", str(m), str(n), MALLOC_MMAP_THRESHOLD_="65536"
    )
    return found


def _peaks(m: int, n: int) -> dict[str, dict[str, float]]:
    """For each estimator, the peak of a run above the state before it, by tracemalloc and by the resident size.

    tracemalloc sees the arrays of NumPy, the resident size (Linux only) those of compiled code as well. A run before
    takes what is kept with the data (its CSC copy) and the compiled code out of the account, and of what tracemalloc
    sees the peak on a tiny problem is subtracted: objects that do not grow with the data.
    """
    import gc
    import tracemalloc

    from .solvers import ESTIMATORS, Bsfw

    problem, tiny, vector = _sparse_problem(m, n), _sparse_problem(20, 20), 8.0 * (m + n)
    found = {}
    for name in ESTIMATORS:
        solver = Bsfw(name)
        solver.run(problem.objective, problem, 0, max_iter=3)
        gc.collect()
        before = _resident("VmRSS", reset=True)
        solver.run(problem.objective, problem, 0, max_iter=3)
        resident = _resident("VmHWM") - before
        traced = []
        for case in (problem, tiny):
            solver.run(case.objective, case, 0, max_iter=3)
            tracemalloc.start()
            solver.run(case.objective, case, 0, max_iter=3)
            traced.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        found[name] = {"traced": (traced[0] - traced[1]) / vector, "resident": resident / vector}
    return found


def _sparse_problem(m: int, n: int) -> Problem:
    """Ten nonzeros a row."""
    import numpy as np
    import scipy.sparse as sp

    from .data import Problem

    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(m), 10), rng.integers(n, size=10 * m)
    A = sp.csr_array((rng.standard_normal(10 * m), (rows, columns)), shape=(m, n))
    return Problem("memory", A, rng.choice([-1.0, 1.0], m), 100.0, max(1, m // 50))


def _resident(field: str, reset: bool = False) -> float:
    """Bytes of a field of /proc/self/status, 0 where there is no such file; `reset` sets the peak to the present."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next(1024.0 * float(line.split()[1]) for line in lines if line.startswith(field))


if __name__ == "__main__":
    print(json.dumps(_peaks(int(sys.argv[1]), int(sys.argv[2]))))
