"""The radius of a nuclear ball, chosen on held-out ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._arrays import Array, positive
from .._minimize import minimize
from ..constraints.spectral import NuclearBall
from ..objectives.completion import MatrixCompletion
from ..results import Result


@dataclass(frozen=True, eq=False)
class CompletionPath:
    """What `completion_path` found, in the order of growing radii.

    Attributes
    ----------
    radii, test_rmse, test_loss : array
        The radii, and errors on the held-out observations at each.
    results : list of Result
        The runs.
    best_index : int
        Where the test RMSE is lowest (the smallest radius of equals).
    """

    radii: Array
    test_rmse: Array
    test_loss: Array
    results: list[Result] = field(repr=False)

    @property
    def best_index(self) -> int:
        return int(np.argmin(self.test_rmse))

    @property
    def best_radius(self) -> float:
        """The radius with the lowest test RMSE."""
        return float(self.radii[self.best_index])

    @property
    def best(self) -> Result:
        """Its run; ``best.x`` is the model."""
        return self.results[self.best_index]


def completion_path(
    objective: MatrixCompletion, radii: Sequence[float], *, tolerance: float | None = None, **options: Any
) -> CompletionPath:
    """Minimise over nuclear balls of growing radius, each run started from the one before, and tell which is best.

    A solution for a smaller radius lies in the larger ball, so it is a feasible start there, and often a close one.

    Parameters
    ----------
    objective : MatrixCompletion
        With held-out observations, ``test=``.
    radii : sequence of float
        In any order.
    tolerance : float, optional
        Of `NuclearBall`.
    **options
        Of `minimize`, for each of the runs, e.g. ``step="line-search", max_iter=50``.

    Returns
    -------
    CompletionPath

    Examples
    --------
    >>> train, held_out = bsfw.datasets.load("ml-100k").split()  # doctest: +SKIP
    >>> objective = bsfw.MatrixCompletion(train, "squared", intercepts=True, test=held_out)  # doctest: +SKIP
    >>> path = bsfw.completion_path(objective, [500, 1_000, 2_000], step="line-search", max_iter=40)  # doctest: +SKIP
    >>> path.best_radius, path.best.x.predict(held_out.rows, held_out.cols)  # doctest: +SKIP
    """
    if not isinstance(objective, MatrixCompletion):
        raise TypeError(f"completion_path needs a MatrixCompletion objective, got {type(objective).__name__}.")
    if objective.test is None:
        raise ValueError("the objective has no held-out observations to choose by; make it with test=.")
    if "x0" in options:
        raise ValueError("completion_path chooses each start itself; leave out x0.")
    ordered = sorted({positive(radius, "a radius") for radius in radii})
    if not ordered:
        raise ValueError("there are no radii; give at least one.")
    results: list[Result] = []
    for radius in ordered:
        x0 = results[-1].x if results else None
        results.append(minimize(objective, NuclearBall(radius, tolerance), x0=x0, **options))
    errors = {name: np.array([run.trace[name][-1] for run in results]) for name in ("test_rmse", "test_loss")}
    return CompletionPath(np.array(ordered), errors["test_rmse"], errors["test_loss"], results)
