"""Solutions for many radii: a path, each point started from the one before, and the choice of a radius by folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array, positive, positive_int
from .constraints.base import Constraint
from .objectives.linear_model import LinearModel
from .results import Result, Status

if TYPE_CHECKING:
    from .solver import Limits

SetType = Callable[[float], Constraint]
"""From a radius r to the set r C: `L1Ball`, `Simplex`, ``lambda r: L1Ball(r, weights)``."""


@dataclass(frozen=True, eq=False)
class RadiusPath:
    """What `radius_path` found, in the order of the radii.

    Attributes
    ----------
    radii : array, (k,)
    x : array, (k, ...)
        The solutions.
    fun : array, (k,)
        f(x).
    gap : array, (k,)
        The exact Frank-Wolfe gaps: upper bounds of f(x) - min f where f is convex.
    multiplier : array, (k,)
        lambda for which x also minimises f(x) + lambda ||x||; nan for sets that have none.
    results : list of Result
        The runs.
    """

    radii: Array
    x: Array
    fun: Array
    gap: Array
    multiplier: Array
    results: list[Result] = field(repr=False)

    @property
    def success(self) -> bool:
        """Whether every gap reached the tolerance."""
        return all(result.status is Status.GAP_REACHED for result in self.results)


def radius_path(
    objective: LinearModel,
    set_type: SetType,
    radii: Sequence[float] | Array,
    *,
    gap_tol: float = 1e-6,
    max_iter: int = 100,
) -> RadiusPath:
    """Minimise over r C for each radius r in the order given, by the corrective method, started from the last solution.

    Parameters
    ----------
    objective : LinearModel
        With one margin per sample.
    set_type : callable
        From a radius to the set, such as `L1Ball`. A set must be the multiple of the others by the ratio of the radii.
    radii : sequence of float
        Positive; from small to large or back.
    gap_tol : float
        Exact Frank-Wolfe gap that counts as reached.
    max_iter : int
        Iterations for each radius.

    Returns
    -------
    RadiusPath
    """
    from .solver import Limits

    radii = _radii(radii)
    limits = Limits(max_iter=max_iter, gap_tol=gap_tol)
    if len(radii) > 1 and hasattr(objective, "A"):
        _ = objective.columns  # a copy by columns, made once and kept: every radius picks other ones
    results: list[Result] = []
    for k, radius in enumerate(radii):
        ratio = radius / radii[k - 1] if k else 1.0
        results.append(_solve(objective, set_type(float(radius)), limits, results[-1] if k else None, ratio))
    return RadiusPath(
        radii=radii,
        x=np.stack([result.x for result in results]),
        fun=np.array([result.fun for result in results]),
        gap=np.array([result.gap for result in results]),
        multiplier=np.array([result.get("multiplier", np.nan) for result in results]),
        results=results,
    )


@dataclass(frozen=True, eq=False)
class RadiusChoice:
    """What `choose_radius` found.

    Attributes
    ----------
    radius : float
        The radius with the smallest mean loss on held-out samples, of equal ones the smallest.
    x : array
        The solution for it on all samples.
    radii : array, (k,)
    losses : array, (k, folds)
        Mean loss on the held-out samples.
    path : RadiusPath
        On all samples.
    """

    radius: float
    x: Array
    radii: Array
    losses: Array
    path: RadiusPath


def choose_radius(
    loss: Callable[[Any, Array], LinearModel],
    A: Any,
    y: Any,
    set_type: SetType,
    radii: Sequence[float] | Array,
    *,
    cv: int | Iterable[tuple[Array, Array]] | Any = 5,
    gap_tol: float = 1e-6,
    max_iter: int = 100,
) -> RadiusChoice:
    """Cross-validation of the radius: a path on each fold, then one on all samples.

    Parameters
    ----------
    loss : callable
        From data and targets to the objective: `Logistic`, ``functools.partial(Huber, delta=2.0)``.
    A : array or sparse matrix, (m, n)
        One row per sample.
    y : array, (m,)
        Targets.
    set_type : callable
        As in `radius_path`.
    radii : sequence of float
        Candidates.
    cv : int, iterable of (train, test) indices, or splitter of scikit-learn
        A number stands for so many folds, stratified by y.
    gap_tol, max_iter
        As in `radius_path`.

    Returns
    -------
    RadiusChoice
    """
    import scipy.sparse as sp

    A, y, radii = sp.csr_array(A) if sp.issparse(A) else np.asarray(A), np.asarray(y), _radii(radii)
    losses = []
    for train, test in _folds(cv, A, y):
        found = radius_path(loss(A[train], y[train]), set_type, radii, gap_tol=gap_tol, max_iter=max_iter)
        held_out = loss(A[test], y[test])
        losses.append([held_out.value(x) for x in found.x])
    path = radius_path(loss(A, y), set_type, radii, gap_tol=gap_tol, max_iter=max_iter)
    table = np.array(losses).T
    mean = table.mean(axis=1)
    best = min(range(len(radii)), key=lambda k: (mean[k], radii[k]))
    return RadiusChoice(float(radii[best]), path.x[best], radii, table, path)


def _radii(radii: Sequence[float] | Array) -> Array:
    found = np.array([positive(float(radius), "a radius") for radius in np.ravel(np.asarray(radii, dtype=float))])
    if not found.size:
        raise ValueError("radii is empty; give at least one radius.")
    return found


def _folds(cv: Any, A: Any, y: Array) -> Iterable[tuple[Array, Array]]:
    if hasattr(cv, "split"):
        return list(cv.split(A, y))
    if not isinstance(cv, (int, np.integer)):
        return list(cv)
    folds, m = positive_int(int(cv), "cv"), len(y)
    if not 2 <= folds <= m:
        raise ValueError(f"cv must be a number of folds from 2 to the number of samples, {m}, got {cv}.")
    which = np.empty(m, dtype=np.int64)
    which[np.argsort(y, kind="stable")] = np.arange(m) % folds  # every fold has all classes, small and large targets
    return [(np.flatnonzero(which != k), np.flatnonzero(which == k)) for k in range(folds)]


def _solve(objective: LinearModel, constraint: Constraint, limits: Limits, last: Result | None, ratio: float) -> Result:
    """One radius, from the last solution stretched or shrunk with the set, or left where it is if it was inside."""
    from .solver import Schedule, Solver

    solver = Solver(objective, constraint, method="corrective")
    origin = np.zeros(solver.shape, dtype=objective.dtype)
    start = origin if constraint.has_membership and constraint.contains(origin) else None
    if last is not None:
        inside = last.get("multiplier") == 0.0 and constraint.contains(last.x)
        start = last.x if inside else ratio * last.x
    return solver.run(solver.init(x0=start), limits, Schedule(record_every=limits.max_iter + 1))
