"""From names and numbers, as scikit-learn's users give them, to the parts of a bsfw run."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._arrays import Array, inner
from ..auto import choose_method
from ..constraints import L1Ball, L2Ball, LinfBall, NuclearBall, Simplex
from ..constraints.base import Constraint
from ..estimators import SAGA, Estimator
from ..objectives import Huber, LeastSquares, Logistic, Multinomial, SigmoidSquared, Tukey
from ..objectives.linear_model import LinearModel
from ..paths import SetType
from ..results import Result

Loss = Callable[..., LinearModel]
SETS: dict[str, SetType] = {"l1": L1Ball, "simplex": Simplex, "l2": L2Ball, "linf": LinfBall, "nuclear": NuclearBall}
CLASSIFICATION: dict[str, Loss] = {"logistic": Logistic, "sigmoid-squared": SigmoidSquared}
REGRESSION: dict[str, Loss] = {"squared": LeastSquares, "huber": Huber, "tukey": Tukey}
SOLVERS = ("auto", "stochastic")
DEFAULT, SLOW = (1e-10, 1e-10), (1e-6, 1e-3)
"""Where a fit ends and beyond which gap it warns if `tol` is left to us: for the corrective method, to which accuracy
costs next to nothing, and for the others with the exact gradient."""


def set_type(constraint: Any, positive: bool) -> SetType:
    """From a radius to the set that `constraint` names, makes or is."""
    if isinstance(constraint, str):
        if constraint not in SETS:
            raise ValueError(
                f"constraint must be one of {', '.join(map(repr, SETS))}, a set of bsfw such as bsfw.GroupBall(groups, "
                f"radius), or a function from a radius to a set, got {constraint!r}."
            )
        if not positive or constraint == "simplex":
            return SETS[constraint]
        if constraint == "l1":
            return partial(Simplex, equality=False)
        raise ValueError(f"positive=True goes with constraint='l1' or 'simplex', not with {constraint!r}.")
    if positive:
        raise ValueError("positive=True goes with constraint='l1' or 'simplex'; give a set that is itself nonnegative.")
    if isinstance(constraint, Constraint):
        return partial(_fixed, constraint)
    if callable(constraint):
        made: Callable[[float], Constraint] = constraint
        return made
    raise TypeError(
        "constraint must be a name such as 'l1', a set such as bsfw.L1Ball(1.0), or a function from a radius to a set, "
        f"got {constraint!r}."
    )


def _fixed(constraint: Constraint, radius: float) -> Constraint:
    return constraint


def named_loss(loss: Any, known: dict[str, Loss]) -> Loss:
    """The objective that `loss` names, or `loss` itself where it makes one of data and targets."""
    if isinstance(loss, str) and loss in known:
        return known[loss]
    if callable(loss):
        made: Loss = loss
        return made
    raise ValueError(
        f"loss must be one of {', '.join(map(repr, known))}, or make an objective of data and targets such as "
        f"functools.partial(bsfw.Huber, delta=2.0), got {loss!r}."
    )


def classification_loss(loss: Any, classes: int) -> Loss:
    """The loss for that many classes."""
    if classes > 2 and loss == "logistic":
        return Multinomial
    if classes > 2 and isinstance(loss, str):
        raise ValueError(f"loss={loss!r} takes two classes, but y has {classes}; use 'logistic'.")
    return named_loss(loss, CLASSIFICATION)


def gradient_estimator(solver: Any, estimator: Any) -> Estimator | None:
    """What stands in for the gradient: None for the exact one."""
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {solver!r}.")
    if solver == "auto":
        if estimator is not None:
            raise ValueError(f"estimator={estimator!r} goes with solver='stochastic'; leave it out, or ask for that.")
        return None
    return SAGA() if estimator is None else estimator


class Tolerance(NamedTuple):
    """Gaps: where a fit ends, None if at `max_iter` only, and beyond which it warns."""

    target: float | None
    acceptable: float


def tolerance(tol: Any, objective: LinearModel, constraint: Constraint, estimator: Estimator | None) -> Tolerance:
    """tol times the loss of zero coefficients, as far as the precision of the data allows it.

    Of a classifier that is log(classes), whatever the intercept gains: unequal weights could bring it to rounding.
    """
    if tol is None:
        if estimator is not None:
            return Tolerance(None, math.inf)
        method = choose_method(objective, constraint, None, None, "auto", False).method
        target, acceptable = DEFAULT if method == "corrective" else SLOW
    elif isinstance(tol, bool) or not isinstance(tol, (int, float, np.number)) or not 0 <= tol < np.inf:
        raise ValueError(f"tol must be a nonnegative number, or None for the default, got {tol!r}.")
    else:
        target = acceptable = float(tol)
    if objective.link == "identity":
        null = objective.value(np.zeros(objective.shape, dtype=objective.dtype))
    else:
        null = math.log(2 if len(objective.shape) == 1 else objective.shape[1])
    least = 64.0 * float(np.finfo(objective.dtype).eps)
    scale = null + float(np.finfo(float).tiny)
    return Tolerance(max(target, least) * scale, max(acceptable, least) * scale)


def warn_if_missed(gap: float, acceptable: float, message: str, stacklevel: int = 3) -> None:
    """A ConvergenceWarning if a run ended at a larger gap than it should have reached, or at none."""
    if not gap <= acceptable:
        warnings.warn(
            f"the gap is {gap:.2g}, but should be {acceptable:.2g}: {message} Give more max_iter, a larger tol, or "
            "scale the data.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def seed_of(random_state: Any) -> int:
    """A seed for a generator, drawn as scikit-learn draws."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def feasible_start(constraint: Constraint, x: Array) -> Array | None:
    """x, shrunk into a smaller ball if need be; None if it still is no point of the set."""
    if not constraint.has_membership:
        return None
    shrunk = x / (1.0 + constraint.violation(x))
    return shrunk.astype(x.dtype) if constraint.contains(shrunk, 1e-9) else None


def multiplier(objective: LinearModel, constraint: Constraint, result: Result) -> float:
    """How much f falls for a little more radius: the weight of the norm in the penalised problem of the same x."""
    if "multiplier" in result:
        return float(result.multiplier)
    radius = getattr(constraint, "radius", None)
    return np.nan if radius is None else max(0.0, -inner(objective.gradient(result.x), result.x) / radius)
