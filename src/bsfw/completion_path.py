"""The radius of a nuclear ball, chosen on ratings that neither the fit nor the test has seen."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array, positive
from ._minimize import minimize
from ._progress import ProgressLine
from ._refusals import Refusing, refusing
from .constraints.spectral import NuclearBall
from .lowrank import LowRank
from .objectives._observations import observed
from .objectives.completion import MatrixCompletion
from .results import Interrupted, Result, Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REFINEMENTS = 2.0 ** np.arange(-1.5, 1.6, 0.5)
"""Default radii, relative to the one that the data suggest."""
ACCURACY, MOST_ITERATIONS = 1e-2, 30
"""Default end of a run: the gap relative to f of the zero matrix, or the iterations. More accuracy does not predict
better."""
SETTLED, PATIENCE = 1e-3, 4
"""A run also ends where so many iterations have not lowered the validation error by this part: if a loss is not convex,
its gap hardly falls long after the predictions have settled."""
TERMS = 32
"""Terms of x where the loss is not convex, so that there is no optimum to certify anyway: without a limit they grow
with the radius to hundreds."""
WORSE, IN_A_ROW = 1.02, 2
"""The default radii end where so many in a row predict worse than the best by this factor: large ones cost the most."""


@dataclass(frozen=True, eq=False)
class CompletionPath(Refusing):
    """What `completion_path` found, in the order of growing radii.

    Attributes
    ----------
    radii, rmse : array
        The radii, and the root mean square errors on the validation set.
    results : list of Result
        The runs behind them.
    best : Result
        The run with the best radius on all observations; ``best.model`` predicts.
    """

    radii: Array
    rmse: Array
    results: list[Result] = field(repr=False)
    best: Result = field(repr=False)

    @property
    def best_index(self) -> int:
        """Where the error on the validation set is lowest (the smallest radius of equals)."""
        return int(np.argmin(self.rmse))

    @property
    def best_radius(self) -> float:
        """The radius with the lowest error on the validation set."""
        return float(self.radii[self.best_index])

    @property
    def test_rmse(self) -> float:
        """The error of `best` on the objective's own test set, which had no part in the choice; nan without one."""
        trace = self.best.trace
        return float(trace["test_rmse"][-1]) if "test_rmse" in trace.columns() else math.nan

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the validation error against the radius, the best one marked, and return the axes (needs matplotlib)."""
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots()[1]
        ax.plot(self.radii, self.rmse, **{"marker": ".", **style})
        ax.plot(
            self.best_radius, self.rmse[self.best_index], "o", mfc="none", ms=9, label=f"best: {self.best_radius:.4g}"
        )
        ax.set_xscale("log")
        ax.set_xlabel("radius")
        ax.set_ylabel("RMSE on the validation set")
        ax.legend()
        return ax


@refusing
def completion_path(
    objective: MatrixCompletion,
    radii: Sequence[float] | None = None,
    *,
    validation: Any = 0.1,
    rng: np.random.Generator | int | None = 0,
    verbose: bool = False,
    **options: Any,
) -> CompletionPath:
    """Minimise over nuclear balls of growing radius, each run started from the one before; the best predicts best.

    The choice is made on a validation set; the objective's own ``test=`` set has no part in it, so that `test_rmse` of
    what is returned is an honest error. A solution for a smaller radius lies in the larger ball: a feasible start.

    Parameters
    ----------
    objective : MatrixCompletion
    radii : sequence of float, optional
        In any order. Default: seven from 0.35 to 2.8 times that of `MatrixCompletion.default_constraint`, as far as two
        in a row predict worse than the best by more than 2 %.
    validation : float, Ratings or tuple
        The part of the observations to set apart, drawn at random: the path is run on the others, and the best radius
        then on all. Or other observations, on which to choose: Ratings or (rows, cols, values).
    rng : numpy.random.Generator or int
        Of the draw, and of the runs.
    verbose : bool
        A line on stderr for each radius; on a terminal also how the run at hand is doing.
    **options
        Of `minimize`, for each of the runs. Default: the corrective method to a gap of 1e-2 of f at zero, at most 30
        iterations, and at most until four of them have not lowered the validation error by a thousandth; with a loss
        that is not convex at most 32 terms, unless the objective's `rank` says otherwise.

    Returns
    -------
    CompletionPath

    Raises
    ------
    Interrupted
        After Ctrl-C, between two iterations. Its ``path`` holds the radii that were done, with the best of them as it
        was run without the validation set; its ``result`` the run that was broken off.

    Examples
    --------
    >>> train, test = bsfw.datasets.load("ml-100k").split()  # doctest: +SKIP
    >>> objective = bsfw.MatrixCompletion(train, "squared", implicit=True, test=test)  # doctest: +SKIP
    >>> path = bsfw.completion_path(objective)  # doctest: +SKIP
    >>> path.best_radius, path.test_rmse, path.best.model.top(196, 10)  # doctest: +SKIP
    """
    if not isinstance(objective, MatrixCompletion):
        raise TypeError(f"completion_path needs a MatrixCompletion objective, got {type(objective).__name__}.")
    for name, instead in {"x0": "each start itself", "constraint": "the sets by radii="}.items():
        if name in options:
            raise ValueError(f"completion_path chooses {instead}; leave out {name}=.")
    rng = np.random.default_rng(rng)
    if "method" not in options and objective.rank is None and objective.quasar_rho != 1.0:
        objective = copy.copy(objective)
        objective.rank, objective._settings = TERMS, {**objective._settings, "rank": TERMS}
    fit, held_out = _parts(objective, validation, rng)
    ordered, own = _radii(objective, radii), "method" not in options
    options = _with_defaults(objective, options)
    progress = ProgressLine(verbose)
    results: list[Result] = []
    errors: list[float] = []
    try:
        for radius in ordered:
            watch = _Watch(fit, held_out, progress, f"radius {radius:.5g}", options.get("callback"), own)
            x0 = results[-1].x if results else None
            found = minimize(fit, NuclearBall(radius), x0=x0, rng=rng, **{**options, "callback": watch})
            errors.append(_rmse(fit, found.x, held_out))
            results.append(found)
            progress.close(f"radius {radius:.5g}   validation RMSE {errors[-1]:.5f}   {found.seconds:.1f} s")
            if radii is None and len(errors) > IN_A_ROW and min(errors[-IN_A_ROW:]) > WORSE * min(errors):
                break
        best, tried = int(np.argmin(errors)), ordered[: len(errors)]
        if best in (0, len(tried) - 1) and len(tried) > 1:
            side = "smallest" if best == 0 else "largest"
            warnings.warn(f"the best radius, {tried[best]:.4g}, is the {side} of those tried; try more.", stacklevel=2)
        chosen = results[best]
        if fit is not objective:
            if own and chosen.status is Status.CALLBACK:  # all observations are no reason to go on for longer
                options["max_iter"] = min(chosen.nit, options["max_iter"])
            progress.show(f"radius {tried[best]:.5g}   on all observations")
            chosen = minimize(objective, NuclearBall(tried[best]), x0=chosen.x, rng=rng, **options)
    except Interrupted as error:
        if results:
            done = np.array(ordered[: len(errors)]), np.array(errors)
            error.path = CompletionPath(*done, results, results[int(np.argmin(errors))])
        raise
    return CompletionPath(np.array(tried), np.array(errors), results, chosen)


class _Watch:
    """A callback: the validation error as the run goes on, and its end if `settling` and the error has settled."""

    def __init__(
        self,
        fit: MatrixCompletion,
        held_out: tuple[Array, Array, Array],
        progress: ProgressLine,
        name: str,
        also: Any,
        settling: bool,
    ) -> None:
        self._fit, self._held_out, self._progress, self._name = fit, held_out, progress, name
        self._also, self._settling = also, settling
        self._lowest, self._since = math.inf, 0

    def __call__(self, intermediate_result: Result) -> None:
        if self._also is not None:
            self._also(intermediate_result)
        showing = self._progress.live and self._progress.due()
        if not (self._settling or showing):
            return
        error = _rmse(self._fit, intermediate_result.x, self._held_out)
        if showing:
            self._progress.show(f"{self._name}   iteration {intermediate_result.nit}   validation RMSE {error:.5f}")
        self._since = 0 if error < (1.0 - SETTLED) * self._lowest else self._since + 1
        self._lowest = min(self._lowest, error)
        if self._settling and self._since >= PATIENCE:
            raise StopIteration


def _parts(objective: MatrixCompletion, validation: Any, rng: np.random.Generator) -> tuple[MatrixCompletion, Any]:
    """The objective of the path, and the observations on which to choose."""
    if not isinstance(validation, (int, float)):
        return objective, observed(validation, objective.size)[:3]
    if not 0 < validation < 1:
        raise ValueError(f"validation must be a part between 0 and 1, or observations, got {validation!r}.")
    apart = np.zeros(objective.n_samples, dtype=bool)
    apart[rng.permutation(objective.n_samples)[: max(1, round(validation * objective.n_samples))]] = True
    if apart.all():
        raise ValueError("there is one observation only, which cannot be parted; give validation=.")
    held_out = objective.rows[apart], objective.cols[apart], objective.values[apart]
    return objective.restricted(~apart), held_out


def _radii(objective: MatrixCompletion, radii: Sequence[float] | None) -> list[float]:
    if radii is None:
        middle = objective.default_constraint()
        assert isinstance(middle, NuclearBall)
        return [float(step * middle.radius) for step in REFINEMENTS]
    ordered = sorted({positive(radius, "a radius") for radius in radii})
    if not ordered:
        raise ValueError("there are no radii; give at least one.")
    return ordered


def _with_defaults(objective: MatrixCompletion, options: dict[str, Any]) -> dict[str, Any]:
    if "method" in options:
        return options
    zero = LowRank.zeros(objective.shape, objective.dtype).with_intercepts(objective.first_biases)
    gap = ACCURACY * objective.value(zero)  # type: ignore[arg-type]  # a LowRank is a variable of this objective
    return {"method": "corrective", "max_iter": MOST_ITERATIONS, "gap_tol": gap, **options}


def _rmse(objective: MatrixCompletion, x: LowRank, held_out: tuple[Array, Array, Array]) -> float:
    rows, cols, values = held_out
    return float(np.sqrt(np.mean(np.square(objective.model(x).entries(rows, cols) - values))))
