"""Short runs of every engine, estimator and kind of set, whose numbers are kept in ``trajectories.json``.

Ten iterations on data without ties: long enough that a wrong sign, index or constant shows, too short for rounding to
grow. ``python tests/pinned/pins.py`` writes the file anew; do that only for a change that is meant to change results.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import bsfw

FILE = Path(__file__).with_name("trajectories.json")
ITERATIONS = 10
BATCH = 12


def sparse_data() -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    A = rng.standard_normal((60, 40)) * (rng.random((60, 40)) < 0.3)
    return sp.csr_array(A), np.sign(A @ rng.standard_normal(40) + 0.5 * rng.standard_normal(60))


def ratings() -> bsfw.MatrixCompletion:
    rng = np.random.default_rng(3)
    rows, cols = np.nonzero(rng.random((25, 18)) < 0.5)
    truth = rng.standard_normal((25, 3)) @ rng.standard_normal((3, 18))
    return bsfw.MatrixCompletion((rows, cols, truth[rows, cols], (25, 18)), "squared")


def numbers(objective: Any, constraint: Any, estimator: Any = None, engine: str = "auto", **options: Any) -> Any:
    """f(x^t) and the gaps of the run, and what it counted."""
    solver = bsfw.Solver(objective, constraint, estimator, horizon=ITERATIONS, engine=engine, **options)
    limits, schedule = bsfw.Limits(max_iter=ITERATIONS), bsfw.Schedule(record_every=1)
    result = solver.run(solver.init(rng=5), limits, schedule)
    return {
        "value": result.trace["value"].tolist(),
        "gap": result.trace["gap"].tolist(),
        "sample_gradients": result.sample_gradients,
        "coordinate_gradients": result.coordinate_gradients,
    }


def estimators() -> dict[str, Any]:
    by_batch = {name: getattr(bsfw, name)(batch_size=BATCH) for name in ("SAG", "SAGA", "LSVRG", "SARAH", "HeavyBall")}
    by_coordinate = {name: getattr(bsfw, name)() for name in ("SEGA", "JAGUAR", "ZOJA")}
    return {"FullGradient": bsfw.FullGradient(), **by_batch, **by_coordinate}


def cases() -> dict[str, Callable[[], Any]]:
    """By name: a function that runs one."""
    A, y = sparse_data()
    logistic, dense = bsfw.Logistic(A, y), bsfw.Logistic(A.toarray(), y)
    l1, groups = bsfw.L1Ball(4.0), bsfw.GroupBall([list(range(k, k + 5)) for k in range(0, 40, 5)], 3.0)
    weighted = bsfw.L1Ball(4.0, np.linspace(1.0, 2.0, 40))
    found: dict[str, Callable[[], Any]] = {}
    for name, estimator in estimators().items():
        for engine in ("reference", "compiled"):
            found[f"{engine} {name} L1Ball"] = partial(numbers, logistic, l1, estimator, engine)
    sets = {
        "weighted L1Ball": weighted,
        "Simplex": bsfw.Simplex(4.0),
        "solid Simplex": bsfw.Simplex(4.0, equality=False),
        "KSparse": bsfw.KSparse(3, 2.0),
        "GroupBall": groups,
    }
    for name, constraint in sets.items():
        for engine in ("reference", "compiled"):
            found[f"{engine} SAGA {name}"] = partial(numbers, logistic, constraint, bsfw.SAGA(BATCH), engine)
    for step in ("paper", "short", "line-search"):
        found[f"compiled FullGradient {step}"] = partial(numbers, logistic, l1, engine="compiled", step=step)
    for name, loss in (("LeastSquares", bsfw.LeastSquares), ("Huber", bsfw.Huber), ("Tukey", bsfw.Tukey)):
        found[f"compiled SAGA {name}"] = partial(numbers, loss(A, y), l1, bsfw.SAGA(BATCH), "compiled")
    found["compiled SAGA dense"] = partial(numbers, dense, l1, bsfw.SAGA(BATCH), "compiled")
    others = {
        "L2Ball": bsfw.L2Ball(2.0),
        "LinfBall": bsfw.LinfBall(0.5),
        "LpBall": bsfw.LpBall(3.0, 1.0),
        "Box": bsfw.Box(-np.linspace(0.1, 1.0, 40), 0.7),
        "Ellipsoid": bsfw.Ellipsoid(np.zeros(40), np.diag(np.linspace(1.0, 3.0, 40))),
    }
    for name, constraint in others.items():
        found[f"reference {name}"] = partial(numbers, dense, constraint, engine="reference")
    for name, constraint in {"L1Ball": l1, "weighted L1Ball": weighted, **sets, "dense hull": others["Box"]}.items():
        found[f"corrective {name}"] = partial(numbers, logistic, constraint, method="corrective")
    for method in ("away", "pairwise", "blended-pairwise"):
        for kind in ("exact", "backtracking", "adaptive"):
            step = bsfw.LineSearch(kind)
            found[f"{method} {kind}"] = partial(numbers, dense, bsfw.Simplex(4.0), method=method, step=step)
    nuclear = bsfw.NuclearBall(30.0, tolerance=1e-8)  # to which the oracle works in double precision
    for name in ("FullGradient", "SAGA", "HeavyBall", "SARAH"):
        found[f"factored {name}"] = partial(numbers, ratings(), nuclear, estimators()[name])
    found["factored line-search"] = partial(numbers, ratings(), nuclear, step="line-search")
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: run() for name, run in cases().items()}, indent=0) + "\n")
