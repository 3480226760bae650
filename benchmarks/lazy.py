"""Lazification: true oracle calls and CPU seconds to a gap, with and without. ``python -m benchmarks.lazy``

Each problem is the distance to a mixture of a few vertices, moved by a little noise but for the Birkhoff polytope, on
which no method here gets to 1e-4 in the time.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import bsfw

METHODS: dict[str, dict[str, Any]] = {
    "blended-pairwise": {"method": "blended-pairwise"},
    "pairwise": {"method": "pairwise"},
    "boosted, K = 5": {"method": "boosted", "step": "line-search", "max_rounds": 5},
}


def grid(size: int) -> bsfw.PathPolytope:
    """Paths from one corner of a grid to the other."""
    edges = [(i * size + j, i * size + j + 1) for i in range(size) for j in range(size - 1)]
    edges += [(i * size + j, (i + 1) * size + j) for i in range(size - 1) for j in range(size)]
    return bsfw.PathPolytope(edges, [(0, size * size - 1, 1.0)])


def polytope(rng: np.random.Generator, variables: int = 60, rows: int = 40) -> bsfw.Polytope:
    """{x in [0, 1]^n: A x <= 1}, whose oracle is a linear program for HiGHS."""
    A = rng.random((rows, variables)) * (rng.random((rows, variables)) < 0.3) / 3.0
    return bsfw.Polytope(A_ub=A, b_ub=np.ones(rows), bounds=(0.0, 1.0))


def problems() -> dict[str, tuple[bsfw.Objective, bsfw.Constraint, float]]:
    """By name: the distance, the set, and the gap to reach."""
    rng = np.random.default_rng(0)
    sets: dict[str, tuple[bsfw.Constraint, tuple[int, ...], int, float, float]] = {
        "Birkhoff 50 x 50": (bsfw.Birkhoff(50), (50, 50), 10, 0.0, 1e-2),
        "paths of a 15 x 15 grid": (grid(15), (420,), 20, 1e-3, 1e-4),
        "polytope by HiGHS, 60 variables": (polytope(rng), (60,), 20, 1e-3, 1e-4),
    }
    found: dict[str, tuple[bsfw.Objective, bsfw.Constraint, float]] = {}
    for name, (constraint, shape, count, noise, gap) in sets.items():
        vertices = [constraint.lmo(rng.standard_normal(shape)).dense() for _ in range(count)]
        point = np.tensordot(rng.dirichlet(np.ones(count)), vertices, axes=1) + noise * rng.standard_normal(shape)
        found[name] = bsfw.Quadratic(1.0, -point, 0.5 * float(np.sum(point**2))), constraint, gap
    return found


def main() -> None:
    print(f"{'':<34}{'method':<18}{'lazy':<6}{'calls':>8}{'cached':>8}{'iterations':>12}{'CPU s':>8}{'gap':>10}")
    for name, (objective, constraint, gap) in problems().items():
        for method, settings in METHODS.items():
            for lazy in (False, True):
                began = time.process_time()
                run = bsfw.minimize(
                    objective, constraint, lazy=lazy, gap_tol=gap, max_iter=20_000, max_seconds=12.0,
                    record_every=20_000, **settings,
                )  # fmt: skip
                seconds = time.process_time() - began
                calls, cached = run.lmo_calls + run.check_lmo_calls, run.get("cached_calls", 0)
                print(
                    f"{name:<34}{method:<18}{'yes' if lazy else 'no':<6}{calls:>8}{cached:>8}{run.nit:>12}"
                    f"{seconds:>8.2f}{run.gap:>10.1e}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
