"""Constraints as `scipy.optimize.minimize` takes them, as a set: `Bounds` and `LinearConstraint`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Constraint


def as_constraint(given: Any) -> Any:
    """A `Box` or a `Polytope` for SciPy's `Bounds`, `LinearConstraint` or a list of these; anything else as it is."""
    from scipy.optimize import Bounds, LinearConstraint

    parts = list(given) if isinstance(given, (list, tuple)) else [given]
    if isinstance(given, Constraint) or not parts or not all(isinstance(p, (Bounds, LinearConstraint)) for p in parts):
        return given
    boxes = [part for part in parts if isinstance(part, Bounds)]
    rows = [part for part in parts if isinstance(part, LinearConstraint)]
    if not rows:
        return _box(boxes)
    return _polytope(rows, boxes)


def _box(boxes: list[Any]) -> Constraint:
    from .balls import Box

    lower, upper = np.max([b.lb for b in boxes], axis=0), np.min([b.ub for b in boxes], axis=0)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise ValueError("Frank-Wolfe needs a bounded set, but these Bounds have infinite entries: make them finite.")
    return Box(lower, upper)


def _polytope(rows: list[Any], boxes: list[Any]) -> Constraint:
    import scipy.sparse as sp

    from .polytopes import Polytope

    blocks = [sp.csr_array(row.A if sp.issparse(row.A) else np.atleast_2d(row.A)) for row in rows]
    A = sp.csr_array(sp.vstack(blocks))
    heights = [block.shape[0] for block in blocks]
    low = np.concatenate([np.full(h, row.lb, dtype=float) for row, h in zip(rows, heights, strict=True)])
    high = np.concatenate([np.full(h, row.ub, dtype=float) for row, h in zip(rows, heights, strict=True)])
    same = low == high
    above, below = ~same & np.isfinite(high), ~same & np.isfinite(low)
    A_ub, b_ub = sp.vstack([A[above], -A[below]]), np.concatenate([high[above], -low[below]])
    n = A.shape[1]
    lower = np.max([np.full(n, -np.inf), *(np.broadcast_to(b.lb, n) for b in boxes)], axis=0)
    upper = np.min([np.full(n, np.inf), *(np.broadcast_to(b.ub, n) for b in boxes)], axis=0)
    return Polytope(
        A_ub if b_ub.size else None, b_ub if b_ub.size else None,
        A[same] if same.any() else None, low[same] if same.any() else None,
        bounds=list(zip(lower, upper, strict=True)),
    )  # fmt: skip
