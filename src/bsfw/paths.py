"""Solutions for many radii: a path, each point started from the one before, and the choice of a radius by folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array, positive, positive_int
from .constraints.base import Constraint
from .objectives.completion import MatrixCompletion
from .objectives.linear_model import LinearModel
from .results import Result, Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSIDE = 1e-6
"""A point that can grow by this fraction and is still feasible is well inside."""
SHOWN = 20
"""Radii up to which `RadiusPath` prints all."""
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
    results: list[Result]

    @property
    def success(self) -> bool:
        """Whether every gap reached the tolerance."""
        return all(result.status is Status.GAP_REACHED for result in self.results)

    @property
    def nonzeros(self) -> Array:
        """How many coordinates of each solution are not zero, (k,)."""
        return np.count_nonzero(self.x.reshape(len(self.x), -1), axis=1)

    def __repr__(self) -> str:
        """A line for each radius, of many the first and the last."""
        lines = [f"{'radius':>12}{'f':>16}{'gap':>10}{'multiplier':>12}{'nonzeros':>10}"]
        columns = zip(self.radii, self.fun, self.gap, self.multiplier, self.nonzeros, strict=True)
        lines += [f"{r:>12.6g}{f:>16.8g}{gap:>10.1e}{m:>12.4g}{count:>10}" for r, f, gap, m, count in columns]
        if len(self.radii) > SHOWN:
            lines[1 + SHOWN // 2 : -(SHOWN // 2)] = [f"{'...':>12}"]
        return "\n".join([f"<RadiusPath of {len(self.radii)} radii>", *lines])

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the coordinates that are not always zero against the radius, and return the axes (needs matplotlib)."""
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots()[1]
        x = self.x.reshape(len(self.x), -1)
        ax.plot(self.radii, x[:, x.any(axis=0)], **style)
        ax.set_xlabel("radius")
        ax.set_ylabel("x")
        return ax


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
    from .solver import Solver
    from .state import Limits, Schedule

    radii = _radii(radii)
    if not callable(set_type):
        raise TypeError(
            f"set_type must make a set of a radius, such as bsfw.L1Ball itself, got {set_type!r}; for options give a "
            "functools.partial."
        )
    limits = Limits(max_iter=max_iter, gap_tol=gap_tol)
    if isinstance(objective, MatrixCompletion):
        raise TypeError("radius_path keeps x as arrays; for a MatrixCompletion use bsfw.completion_path.")
    if len(radii) > 1 and not isinstance(objective.A, np.ndarray):
        _ = objective.columns  # a copy by columns, made once and kept: every radius picks other ones
    results: list[Result] = []
    for k, radius in enumerate(radii):
        constraint, start = set_type(float(radius)), None
        if k:
            start = _start(constraint, set_type(float(radii[k - 1])), results[-1].x, radius / radii[k - 1])
        solver = Solver(objective, constraint, method="corrective")
        results.append(solver.run(solver.init(x0=start), limits, Schedule(record_every=max_iter + 1)))
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
        The one with the smallest loss on held-out samples, in the mean over the folds; of equal ones the smallest.
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

    def __repr__(self) -> str:
        best = int(np.argmax(self.radii == self.radius))
        return (
            f"<RadiusChoice: {self.radius:.6g} of {len(self.radii)} radii, mean loss {self.losses[best].mean():.6g} on "
            f"{self.losses.shape[1]} folds, {self.path.nonzeros[best]} nonzeros>"
        )


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

    if not callable(loss):
        raise TypeError(
            f"loss must make an objective of data and targets, such as bsfw.Logistic itself, got {loss!r}; for options "
            "give a functools.partial."
        )
    A, y, radii = sp.csr_array(A) if sp.issparse(A) else np.asarray(A), np.asarray(y), _radii(radii)
    if A.ndim != 2 or y.shape != A.shape[:1]:
        raise ValueError(
            f"A must be a matrix and y have one entry per row of it, but their shapes are {A.shape} and {y.shape}."
        )
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
    if hasattr(cv, "split") or not isinstance(cv, (int, np.integer)):
        pairs = list(cv.split(A, y) if hasattr(cv, "split") else cv)
        if not pairs:
            raise ValueError("cv holds no folds; give at least one pair of indices to train and to test with.")
        return pairs
    folds, m = positive_int(int(cv), "cv"), len(y)
    if not 2 <= folds <= m:
        raise ValueError(f"cv must be a number of folds from 2 to the number of samples, {m}, got {cv}.")
    which = np.empty(m, dtype=np.int64)
    which[np.argsort(y, kind="stable")] = np.arange(m) % folds  # every fold has all classes, small and large targets
    return [(np.flatnonzero(which != k), np.flatnonzero(which == k)) for k in range(folds)]


def _start(constraint: Constraint, last: Constraint, x: Array, ratio: float) -> Array:
    """The last solution, where it is if it was well inside of its set, else stretched or shrunk with the set."""
    inside = last.has_membership and last.contains((1.0 + INSIDE) * x, 0.0) and constraint.contains(x, 0.0)
    return x if inside else ratio * x
