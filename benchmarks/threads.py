"""``python -m benchmarks.threads``: do default threads hurt? CPU seconds with them over those with one thread.

Each case runs in processes of its own, in turn with the defaults (no variable that asks for threads is set) and with
OMP_NUM_THREADS=1; then the same beside a process that keeps one core busy. CPU seconds are those of all threads, the
median of the processes; compilation and loading are done by a run before. The goal is a ratio of at most 1.1.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import bsfw
from bsfw.datasets.synthetic import ratings_like, text_like

from .processes import ROOT
from .reports import machine

GOAL = 1.1
ASKING = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS")


def here(name: str) -> bool:
    """Whether a data set is on this machine: nothing is downloaded."""
    return any(known.name == name and known.place != "download" for known in bsfw.datasets.available())


def completion(quick: bool) -> Callable[[], Any]:
    """Boosted Heavy Ball on ml-100k, or on ratings of its size."""
    observed = bsfw.datasets.load("ml-100k") if here("ml-100k") else ratings_like(943, 1682, 100_000)
    objective, ball = bsfw.MatrixCompletion(observed), bsfw.NuclearBall(5000.0)
    options = dict(estimator=bsfw.HeavyBall(batch_size=0.1), max_rounds=5, max_iter=20 if quick else 100, rng=0)
    return lambda: bsfw.minimize(objective, ball, **options)


def corrective(quick: bool) -> Callable[[], Any]:
    """The corrective method on a9a to 1e-8, or on a synthetic set with as many rows."""
    A, y = bsfw.datasets.load("a9a") if here("a9a") else text_like(32_561, 123, 14)
    objective = bsfw.Logistic(A, y)
    return lambda: bsfw.minimize(objective, bsfw.L1Ball(20.0), method="corrective", gap_tol=1e-8)


def stochastic(quick: bool) -> Callable[[], Any]:
    """Boosted SAGA on mushrooms."""
    objective = bsfw.Logistic(*bsfw.datasets.load("mushrooms"))
    options = dict(estimator=bsfw.SAGA(batch_size=404), max_iter=500 if quick else 5000, rng=0)
    return lambda: bsfw.minimize(objective, bsfw.L1Ball(50.0), **options)


def nuclear(quick: bool) -> Callable[[], Any]:
    """Exact gradients on a dense matrix of 300 x 200 over a nuclear ball."""
    target = np.random.default_rng(0).standard_normal((300, 200))
    objective = bsfw.Quadratic(1.0, -target)
    return lambda: bsfw.minimize(objective, bsfw.NuclearBall(50.0), max_iter=10 if quick else 50)


def tomography(quick: bool) -> Callable[[], Any]:
    """Process tomography of four qubits."""
    problem = bsfw.quantum.ProcessTomography.random(qubits=4, noise=0.05, rng=0)
    start, ball = problem.start(rng=0), bsfw.SpectralBall(10.0)
    return lambda: bsfw.minimize(problem, ball, x0=start, max_rounds=3, max_iter=50 if quick else 500)


CASES = {case.__name__: case for case in (completion, corrective, stochastic, nuclear, tomography)}


def measure(name: str, quick: bool) -> dict[str, float]:
    """CPU and wall seconds of a run in this process, after one that loads everything."""
    run = CASES[name](quick)
    run()
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def measured(name: str, quick: bool, threads: str | None) -> dict[str, float]:
    """The same in a process of its own."""
    environment = {key: value for key, value in os.environ.items() if key not in ASKING}
    environment |= {} if threads is None else {"OMP_NUM_THREADS": threads}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "benchmarks.threads", "--measure", name, *(["--quick"] if quick else [])]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def busy_neighbour() -> Iterator[None]:
    """A process that keeps one core busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def table(names: Sequence[str], quick: bool, repeats: int) -> Iterator[tuple[str, str, float, float]]:
    """Case, neighbour, CPU seconds with default threads and with one."""
    for neighbour in ("idle", "busy"):
        for name in names:
            default, one = [], []
            for _ in range(repeats):
                if neighbour == "busy":
                    with busy_neighbour():
                        default.append(measured(name, quick, None)["cpu"])
                        one.append(measured(name, quick, "1")["cpu"])
                else:
                    default.append(measured(name, quick, None)["cpu"])
                    one.append(measured(name, quick, "1")["cpu"])
            yield name, neighbour, statistics.median(default), statistics.median(one)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs, one process each")
    parser.add_argument("--only", default=",".join(CASES), metavar="NAME,...", help=f"of {', '.join(CASES)}")
    parser.add_argument("--measure", choices=list(CASES), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.quick)))
        return 0
    names = options.only.split(",")
    if unknown := set(names) - set(CASES):
        parser.error(f"no case is called {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']}")
    print(f"{'case':12} {'neighbour':10} {'default, CPU s':>15} {'one thread':>11} {'ratio':>6}   goal {GOAL}")
    worst = 0.0
    for name, neighbour, default, one in table(names, options.quick, 1 if options.quick else 5):
        worst = max(worst, default / one)
        print(f"{name:12} {neighbour:10} {default:15.3f} {one:11.3f} {default / one:6.2f}", flush=True)
    print("within the goal" if worst <= GOAL else f"the worst ratio is {worst:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
