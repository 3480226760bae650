"""Solutions for many radii: a path, each point started from the one before, and the choice of a radius by folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array, inner, positive, positive_int
from ._extras import extra
from ._progress import ProgressLine
from ._refusals import Refusing, refusing
from ._sparse import canonical
from .constraints.base import Constraint
from .objectives._checks import is_frame
from .objectives.completion import MatrixCompletion
from .objectives.linear_model import LinearModel
from .results import Result
from .solver import Solver
from .state import Limits, Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSIDE = 1e-6
"""A point that can grow by this fraction and is still feasible is well inside."""
SHOWN = 20
"""Radii up to which `RadiusPath` prints all."""
NAMED = 10
"""Features that a plot of a path names: those that end largest."""
WEAKEST, MOST_DOUBLINGS = 1e-2, 60
"""The automatic radii end where the multiplier has fallen to this fraction of that at the origin, or is zero."""
SetType = Callable[[float], Constraint]
"""From a radius r to the set r C: `L1Ball`, `Simplex`, ``lambda r: L1Ball(r, weights)``."""


@dataclass(frozen=True, eq=False)
class RadiusPath(Refusing):
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
    feature_names : tuple of str
        Names of the coordinates where they are known.
    """

    radii: Array
    x: Array
    fun: Array
    gap: Array
    multiplier: Array
    results: list[Result]
    feature_names: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        """Whether every gap reached the tolerance."""
        return all(result.success for result in self.results)

    @property
    def nonzeros(self) -> Array:
        """How many coordinates of each solution are not zero, (k,)."""
        return np.asarray(np.count_nonzero(self.x.reshape(len(self.x), -1), axis=1))

    def __repr__(self) -> str:
        """A line for each radius, of many the first and the last."""
        lines = [f"{'radius':>12}{'f':>16}{'gap':>10}{'multiplier':>12}{'nonzeros':>10}"]
        columns = zip(self.radii, self.fun, self.gap, self.multiplier, self.nonzeros, strict=True)
        lines += [f"{r:>12.6g}{f:>16.8g}{gap:>10.1e}{m:>12.4g}{count:>10}" for r, f, gap, m, count in columns]
        if len(self.radii) > SHOWN:
            lines[1 + SHOWN // 2 : -(SHOWN // 2)] = [f"{'...':>12}"]
        return "\n".join([f"<RadiusPath of {len(self.radii)} radii>", *lines])

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the coordinates against the radius, and return the axes (needs matplotlib).

        The largest at the end have colours and are named, the others are grey.
        """
        ax = _axes(ax)
        x = self.x.reshape(len(self.x), -1)
        shown = np.flatnonzero(x.any(axis=0))
        last = x[np.argmax(self.radii)]
        named = shown[np.argsort(-np.abs(last[shown]), kind="stable")][:NAMED]
        others = np.setdiff1d(shown, named)
        if others.size:
            grey: dict[str, Any] = {"color": "0.8", "linewidth": 0.8}
            ax.plot(self.radii, x[:, others], **grey | style)
        for j in named:
            ax.plot(self.radii, x[:, j], label=self._name(int(j)), **style)
        if named.size:
            ax.legend(title=None if not others.size else f"and {others.size} more", fontsize="small", frameon=False)
        ax.set_xlabel("radius")
        ax.set_ylabel("x")
        return ax

    def _name(self, j: int) -> str:
        """Of a flat coordinate."""
        feature, rest = divmod(j, int(np.prod(self.x.shape[2:])))
        name = self.feature_names[feature] if self.feature_names else str(feature)
        return name if self.x.ndim == 2 else f"{name}, {rest}"


@refusing
def radius_path(
    objective: LinearModel,
    set_type: SetType,
    radii: Sequence[float] | Array | int = 20,
    *,
    gap_tol: float = 1e-6,
    max_iter: int | None = None,
    verbose: bool = False,
) -> RadiusPath:
    """Minimise over r C for each radius r in the order given, started from the last solution.

    Parameters
    ----------
    objective : LinearModel
    set_type : callable
        From a radius to the set, such as `L1Ball`. A set must be the multiple of the others by the ratio of the radii.
    radii : sequence of float, or int
        Positive, from small to large or back; or how many to choose: they then grow by a constant factor up to where
        the constraint has all but stopped to bind (its multiplier is 1 % of that at the origin).
    gap_tol : float
        Exact Frank-Wolfe gap that counts as reached.
    max_iter : int, optional
        Iterations for each radius; default 100, or 2,000 where the corrective method does not apply.
    verbose : bool
        Show a live progress line on stderr.

    Returns
    -------
    RadiusPath
    """
    if not callable(set_type):
        raise TypeError(
            f"set_type must make a set of a radius, such as bsfw.L1Ball itself, got {set_type!r}; for options give a "
            "functools.partial."
        )
    if not isinstance(objective, LinearModel):
        raise TypeError(f"radius_path is for linear models such as bsfw.Logistic(A, y), got {objective!r}.")
    if isinstance(objective, MatrixCompletion):
        raise TypeError("radius_path keeps x as arrays; for a MatrixCompletion use bsfw.completion_path.")
    follow, progress = _Follower(objective, set_type, gap_tol, max_iter), ProgressLine(verbose)
    chosen = follow.choose(positive_int(int(radii), "radii")) if isinstance(radii, (int, np.integer)) else _radii(radii)
    results: list[Result] = []
    for k, radius in enumerate(chosen):
        if progress.due():
            progress.show(f"radius {k + 1} of {len(chosen)}: {radius:.4g}")
        results.append(follow(float(radius)))
    progress.close(f"{len(chosen)} radii, {results[-1].x.size} coordinates")
    return RadiusPath(
        radii=chosen,
        x=np.stack([result.x for result in results]),
        fun=np.array([result.fun for result in results]),
        gap=np.array([result.gap for result in results]),
        multiplier=np.array([result.get("multiplier", np.nan) for result in results]),
        results=results,
        feature_names=objective.feature_names,
    )


class _Follower:
    """Solves for one radius after the other, each from the solution of the one before."""

    def __init__(self, objective: LinearModel, set_type: SetType, gap_tol: float, max_iter: int | None) -> None:
        self.objective, self.set_type, self.gap_tol, self.max_iter = objective, set_type, gap_tol, max_iter
        self._last: tuple[float, Array] | None = None

    def __call__(self, radius: float) -> Result:
        constraint, start = self.set_type(radius), None
        if self._last is not None:
            before, x = self._last
            start = _start(constraint, self.set_type(before), x, radius / before)
            if not isinstance(self.objective.A, np.ndarray):
                _ = self.objective.columns  # a copy by columns, made once and kept: every radius picks other ones
        solver = Solver(self.objective, constraint, method="auto")
        limits = Limits(self.max_iter or (100 if solver.plan.method == "corrective" else 2000), gap_tol=self.gap_tol)
        result = solver.run(solver.init(x0=start), limits, Schedule(record_every=limits.max_iter + 1))
        self._last = radius, result.x
        return result

    def choose(self, count: int) -> Array:
        """So many radii: from where hardly anything is fitted to where the constraint has all but stopped to bind."""
        zero = np.zeros(self.objective.shape, dtype=self.objective.dtype)
        strongest = self._multiplier(1.0, self.set_type(1.0).lmo(self.objective.gradient(zero)).dense(), zero)
        if not strongest > 0:
            raise ValueError("the origin is a solution for every radius, so that there is none to choose; give radii.")
        first = radius = 0.1 * abs(self.objective.value(zero)) / strongest
        for _ in range(MOST_DOUBLINGS):
            x = self(radius).x
            if self._multiplier(radius, x, x) <= WEAKEST * strongest:
                break
            radius *= 2.0
        self._last = None
        return np.geomspace(min(first, 0.5 * radius), radius, count) if count > 1 else np.array([radius])

    def _multiplier(self, radius: float, x: Array, at: Array) -> float:
        """-<grad f(at), x> / radius: how much f falls for a little more radius."""
        return -inner(self.objective.gradient(at), x) / radius


@dataclass(frozen=True, eq=False)
class RadiusChoice(Refusing):
    """What `choose_radius` found.

    Attributes
    ----------
    radius : float
        The one chosen by the rule.
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

    @property
    def mean(self) -> Array:
        """The mean of the losses over the folds, (k,)."""
        return np.asarray(self.losses.mean(axis=1))

    @property
    def standard_error(self) -> Array:
        """Of that mean, (k,)."""
        folds = self.losses.shape[1]
        return np.asarray(self.losses.std(axis=1, ddof=1) / np.sqrt(folds) if folds > 1 else np.zeros(len(self.radii)))

    @property
    def result(self) -> Result:
        """The run for the chosen radius on all samples."""
        return self.path.results[self._chosen]

    @property
    def _chosen(self) -> int:
        return int(np.argmax(self.radii == self.radius))

    def __repr__(self) -> str:
        k = self._chosen
        return (
            f"<RadiusChoice: {self.radius:.6g} of {len(self.radii)} radii, mean loss {self.mean[k]:.6g} +- "
            f"{self.standard_error[k]:.2g} on {self.losses.shape[1]} folds, {self.path.nonzeros[k]} nonzeros>"
        )

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the held-out loss with its standard error against the radius, and return the axes (needs matplotlib)."""
        ax = _axes(ax)
        mean, error = self.mean, self.standard_error
        look: dict[str, Any] = {"marker": "o", "markersize": 3, "capsize": 2}
        ax.errorbar(self.radii, mean, yerr=error, **look | style)
        best = int(np.argmin(mean))
        ax.axhline(mean[best] + error[best], color="0.6", linewidth=0.8, linestyle=":", label="one standard error")
        ax.axvline(self.radius, color="0.4", linestyle="--", label=f"chosen: {self.radius:.4g}")
        ax.set_xscale("log")
        ax.set_xlabel("radius")
        ax.set_ylabel("held-out loss")
        ax.legend(fontsize="small", frameon=False)
        return ax


@refusing
def choose_radius(
    loss: Callable[..., LinearModel],
    A: Any,
    y: Any,
    set_type: SetType,
    radii: Sequence[float] | Array | int = 20,
    *,
    cv: int | Iterable[tuple[Array, Array]] | Any = 5,
    rule: str = "best",
    sample_weight: Any = None,
    gap_tol: float = 1e-6,
    max_iter: int | None = None,
    verbose: bool = False,
) -> RadiusChoice:
    """Cross-validation of the radius: a path on all samples, then one on each fold.

    Warns if the chosen radius is the smallest or the largest of those tried.

    Parameters
    ----------
    loss : callable
        From data and targets to the objective: `Logistic`, ``functools.partial(Huber, delta=2.0)``. With
        `sample_weight` it must take that, as those of bsfw do. An intercept is that of the training samples.
    A : array, sparse matrix or table, (m, n)
        One row per sample.
    y : array, (m,)
        Targets.
    set_type : callable
        As in `radius_path`.
    radii : sequence of float, or int
        Candidates, or how many, chosen on all samples as in `radius_path`.
    cv : int, iterable of (train, test) indices, or splitter of scikit-learn
        A number stands for so many folds, stratified by y.
    rule : {"best", "one-standard-error"}
        The radius with the smallest mean loss on held-out samples, of equal ones the smallest; or the smallest radius
        whose mean loss is within one standard error of that.
    sample_weight : array, (m,), optional
        Nonnegative weights, in training and on held-out samples.
    gap_tol, max_iter, verbose
        As in `radius_path`.

    Returns
    -------
    RadiusChoice
    """
    if not callable(loss):
        raise TypeError(
            f"loss must make an objective of data and targets, such as bsfw.Logistic itself, got {loss!r}; for options "
            "give a functools.partial."
        )
    if rule not in ("best", "one-standard-error"):
        raise ValueError(f"rule must be 'best' or 'one-standard-error', got {rule!r}.")
    data = _Samples(A, y, sample_weight)
    progress = ProgressLine(verbose)
    progress.show("all samples")
    path = radius_path(data.objective(loss), set_type, radii, gap_tol=gap_tol, max_iter=max_iter)
    losses, folds = [], list(_folds(cv, data.A, data.y))
    for k, (train, test) in enumerate(folds):
        progress.show(f"fold {k + 1} of {len(folds)}")
        on_fold = data.objective(loss, train)
        found = radius_path(on_fold, set_type, path.radii, gap_tol=gap_tol, max_iter=max_iter)
        held_out = data.objective(loss, test)
        losses.append([_held_out_loss(held_out, result) for result in found.results])
    progress.close(f"{len(folds)} folds, {len(path.radii)} radii")
    choice = RadiusChoice(float("nan"), path.x[0], path.radii, np.array(losses).T, path)
    k = _choose(choice, rule)
    return RadiusChoice(float(path.radii[k]), path.x[k], path.radii, choice.losses, path)


def _choose(found: RadiusChoice, rule: str) -> int:
    mean, radii = found.mean, found.radii
    best = min(range(len(radii)), key=lambda k: (mean[k], radii[k]))
    if len(radii) > 1 and radii[best] in (radii.min(), radii.max()):
        which = "smallest" if radii[best] == radii.min() else "largest"
        warnings.warn(
            f"the best radius, {radii[best]:.4g}, is the {which} of those tried; a better one may lie beyond.",
            stacklevel=3,
        )
    if rule == "best":
        return best
    within = [k for k in range(len(radii)) if mean[k] <= mean[best] + found.standard_error[best]]
    return min(within, key=lambda k: radii[k])


class _Samples:
    """Data, targets and weights, from which objectives of some of the rows are made."""

    def __init__(self, A: Any, y: Any, sample_weight: Any) -> None:
        import scipy.sparse as sp

        self.frame = is_frame(A)
        self.A: Any = canonical(A, "A") if sp.issparse(A) else A if self.frame else np.asarray(A)
        self.y = np.asarray(y)
        self.weight = None if sample_weight is None else np.asarray(sample_weight)
        if len(self.A.shape) != 2 or self.y.shape != self.A.shape[:1]:
            raise ValueError(
                f"A must be a matrix and y have one entry per row of it, but their shapes are {self.A.shape} and "
                f"{self.y.shape}."
            )
        if self.weight is not None and self.weight.shape != self.y.shape:
            raise ValueError(f"sample_weight has the shape {self.weight.shape}, but y has {self.y.shape}.")

    def objective(self, loss: Callable[..., LinearModel], rows: Array | None = None) -> LinearModel:
        rows = np.arange(len(self.y)) if rows is None else rows
        weighted = {} if self.weight is None else {"sample_weight": self.weight[rows]}
        return loss(self.A.iloc[rows] if self.frame else self.A[rows], self.y[rows], **weighted)


def _held_out_loss(held_out: LinearModel, result: Result) -> float:
    """At the x and the intercept of the training samples."""
    model = held_out.for_run()
    if held_out.intercept:
        model.offset = result.intercept
    return model.value(result.x)


def _axes(ax: Axes | None) -> Axes:
    plt = extra("matplotlib.pyplot", "plot")
    return plt.subplots()[1] if ax is None else ax


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
