"""`minimize`: the front door."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import is_foreign
from ._files import locked
from ._progress import ProgressLine
from ._refusals import refusing
from .checkpoints import Saver
from .constraints.base import Constraint
from .constraints.from_scipy import as_constraint
from .decays import Decay
from .estimators import Estimator
from .kernels import announced
from .objectives.base import Objective
from .objectives.function import Function
from .phases import default_gap_every
from .recorder import Callback
from .results import Result
from .solver import Solver
from .state import Limits, Schedule
from .steps import Step


@refusing
def minimize(
    fun: Objective | Callable[..., float],
    constraint: Constraint | None = None,
    *,
    jac: Callable[..., Any] | None = None,
    x0: Any = None,
    estimator: Estimator | None = None,
    max_rounds: int | None = None,
    min_gain: float = 1e-4,
    decay: str | Decay | Callable[[int], float] = "auto",
    step: str | Step = "auto",
    method: str = "auto",
    lazy: bool = False,
    end_phase: str | None = None,
    max_iter: int = 1000,
    max_seconds: float | None = None,
    max_gradients: int | None = None,
    max_lmo_calls: int | None = None,
    gap_tol: float | None = None,
    gap_every: int | None = None,
    record_every: int | None = None,
    rng: np.random.Generator | int | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int | None = None,
) -> Result:
    """Minimise f over C by boosted stochastic Frank-Wolfe (Algorithm BSFW).

    Parameters
    ----------
    fun : Objective or callable
        The objective, e.g. ``bsfw.Logistic(A, y)``; or a plain function of x, with its gradient in `jac`.
    constraint : Constraint, optional
        The set C, e.g. ``bsfw.L1Ball(50.0)``. May be left out where the objective knows its set, as tomography and
        matrix completion do; then its own `x0`, `step` and `callback` stand in for those left out here
        (``default_settings``). SciPy's `Bounds`, `LinearConstraint` or a list of these become a `Box` or a
        `Polytope`.
    jac : callable, optional
        Gradient of a plain `fun`. Without it only ``estimator=bsfw.ZOJA()`` works. A plain function counts as
        nonconvex; wrap it as ``bsfw.Function(fun, jac, quasar_rho=1.0)`` to say that it is convex.
    x0 : array, optional
        Feasible start. Default: lmo of the gradient at the origin (or at the set's start vertex); the corrective
        method starts at the origin itself if that is feasible, or on tall data at the solution for some samples.
    estimator : Estimator, optional
        What stands in for the gradient; default: the exact gradient.
    max_rounds : int, optional
        K, LMO calls per iteration at most; 1 is vanilla Frank-Wolfe. Default: what the set suggests.
    min_gain : float
        delta in ]0, 1]: a boosting round must improve the alignment by so much.
    decay : str, Decay or callable
        eta_t: "auto" takes the one proved for estimator and convexity (with max_rounds=1: the baseline's own), else
        a name of `bsfw.decays.DECAYS`, a `Decay`, or a function of t.
    step : str or Step
        "auto" is the paper's rule; "image", or for the exact gradient "short", "line-search", or a `Step` object.
    method : str
        "auto" takes the best certified method that fits (`bsfw.auto.choose_method`; `why` in the result says which and
        why): without an estimator mostly "corrective", with one the paper's algorithm. "boosted" is the paper's;
        "corrective" takes Newton steps on the weights of the atoms that Boost finds, with the Hessian of a linear
        model, a `Quadratic` or a `Function` with hessp, else with that of L-BFGS (field `active_set`; for linear models
        on l1 balls and simplices also `multiplier`, the lambda of the penalised problem); "away", "pairwise",
        "blended-pairwise" are classical methods with an active set, which search along their direction and converge
        linearly for a strongly convex f over a polytope; "block-cyclic", "block-random" and "block-gap" move one set
        of a `Product` at a time, and an iteration is a pass over all. All but "boosted" need the exact gradient.
    lazy : bool
        Ask the oracle only where no vertex that it gave before promises half of its last exact gap (weak separation on
        a cache of vertices): for oracles that cost more than gradients. For "boosted", "away", "pairwise" and
        "blended-pairwise" with the exact gradient. `lmo_calls` counts the oracle, `cached_calls` of the result what the
        cache answered; gaps are exact in the iterations with a call, and so is the verdict.
    end_phase : {"corrective"}, optional
        For method="boosted" with a stochastic estimator on a linear model: go over to the corrective method, and with
        it to the exact gradient, at a check of the exact gap where the estimator's error has come to dominate the gap
        or the gap has stopped halving, at the latest at the first one from max_iter / 2 on
        (`bsfw.phases.reason_to_switch` has the rule). The field `switch` of the result says where and why, the columns
        `phase`, `error` and `switch` of the trace show it. The limits below are for both phases together: a budget of
        seconds, gradients or LMO calls may end the run before the switch.
    max_iter : int
        T, the number of iterations; also the horizon of the decays that have one.
    max_seconds, max_gradients, max_lmo_calls : optional
        Budgets: seconds in the algorithm, sample plus coordinate gradients, LMO calls.
    gap_tol : float, optional
        Stop once the exact Frank-Wolfe gap is at most this. Without it, a run with the exact gradient ends once the gap
        is 1e-6 |f(x)| (1e-9 |f(x)| for the corrective method, to which that costs nothing), or 1e-13 |f(x^0)|, where
        rounding begins; gap_tol=0.0 goes on to max_iter. With a stochastic estimator the exact gap is computed
        every `gap_every` iterations (default: as often as iterations are recorded), off the clock and counted apart.
    gap_every : int, optional
        Compute the exact gap so often in a stochastic run, also without gap_tol. With an end phase the default is about
        once per pass over the samples (or coordinates), and at least 20 times in max_iter iterations; a check costs a
        full gradient and an LMO call, in `check_seconds` and `check_counts`.
    record_every : int, optional
        Iterations between two rows of the trace; default max_iter / 100, 1 for the corrective method.
    rng : numpy.random.Generator, int or None
        Source of the random draws; the same seed gives the same run.
    callback : callable, optional
        Called with an intermediate `Result` at every recorded iteration; may raise StopIteration to end the run.
    verbose : bool
        Show a live progress line on stderr.
    checkpoint : path, optional
        An .npz file to which the run is saved every `every` iterations (default max_iter / 10) and when a budget is
        used up, for `bsfw.resume`. An existing file is not overwritten.
    every : int, optional
        Iterations between two checkpoints.

    Returns
    -------
    Result

    Examples
    --------
    >>> import bsfw
    >>> A, y = bsfw.datasets.load("mushrooms")
    >>> result = bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(50.0), estimator=bsfw.SAGA(batch_size=404), rng=0)
    >>> result.gap_exact
    True
    """
    objective, constraint = _as_objective(fun, jac, x0), as_constraint(constraint)
    if constraint is None:
        constraint = objective.default_constraint()
        if estimator is None:
            own = objective.default_settings()
            x0 = own.get("x0") if x0 is None else x0
            step = own.get("step", step) if step == "auto" else step
            callback = own.get("callback") if callback is None else callback
    limits = Limits(max_iter, max_seconds, max_gradients, max_lmo_calls, gap_tol)
    if checkpoint is None and every is not None:
        raise ValueError("every= is the number of iterations between two checkpoints; give checkpoint= as well.")
    if checkpoint is not None and every is None:
        every = max(1, max_iter // 10)
    solver = Solver(
        objective, constraint, estimator, max_rounds=max_rounds, min_gain=min_gain, decay=decay, step=step,
        horizon=max_iter, shape=None if x0 is None else np.shape(x0), foreign=is_foreign(x0), method=method,
        lazy=lazy, end_phase=end_phase,
    )  # fmt: skip
    corrective = solver.plan.method == "corrective"
    if gap_tol is None:
        limits = dataclasses.replace(limits, relative_gap=1e-9 if corrective else 1e-6)
    if record_every is None:
        record_every = 1 if corrective else max(1, max_iter // 100)
    if gap_every is None and end_phase is not None:
        gap_every = default_gap_every(solver.plan.estimator, objective.n_samples, solver.plan.dimension, max_iter)
    elif gap_every is None and gap_tol is not None and not lazy:
        gap_every = record_every
    schedule = Schedule(record_every, gap_every, every)
    saver = None
    if checkpoint is not None:
        if Path(checkpoint).exists():
            raise FileExistsError(f"{checkpoint} exists: go on from it with bsfw.resume, or remove it first.")
        saver = Saver(checkpoint, solver, limits, schedule)
    with nullcontext() if checkpoint is None else locked(checkpoint):
        with announced(ProgressLine(verbose).compiling):
            state = solver.init(x0, rng)
        return solver.run(state, limits, schedule, callback=callback, verbose=verbose, save=saver)


def _as_objective(fun: Objective | Callable[..., float], jac: Callable[..., Any] | None, x0: Any) -> Objective:
    if isinstance(fun, Objective):
        if jac is not None:
            raise ValueError(f"jac= belongs to a plain function; {type(fun).__name__} has its own gradient.")
        return fun
    if not callable(fun):
        raise TypeError(f"fun must be an objective such as bsfw.Logistic(A, y) or a function of x, got {fun!r}.")
    if x0 is None or is_foreign(x0):
        return Function(fun, jac, like=x0)
    start = np.asarray(x0)
    return Function(fun, jac, like=start if start.dtype.kind in "fc" else start.astype(float))
