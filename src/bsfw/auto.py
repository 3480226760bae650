"""What ``method="auto"`` takes: the best certified method that fits the problem, or the paper's where gradients are
noisy."""

from __future__ import annotations

from typing import NamedTuple

from ._arrays import is_foreign
from .constraints.base import Constraint
from .engines import engine_type
from .estimators import Estimator
from .objectives.base import Objective
from .objectives.linear_model import LinearModel
from .objectives.partitioned import PartitionedModel
from .plan import check_types, make_plan
from .steps import LineSearch, Step


class Choice(NamedTuple):
    """A method and a step, and why they were taken."""

    method: str
    step: str | Step
    why: str


def choose_method(
    objective: Objective,
    constraint: Constraint,
    estimator: Estimator | None,
    shape: tuple[int, ...] | None,
    step: str | Step,
    asked: bool,
    foreign: bool = False,
    lazy: bool = False,
) -> Choice:
    """The method for this problem.

    Parameters
    ----------
    objective, constraint, estimator, shape, step
        As in `bsfw.Solver`.
    asked : bool
        Whether decay, step or rounds were asked for, which only the boosted method has.
    foreign : bool
        Whether x0 is an array of another kind than NumPy's.
    lazy : bool
        Whether known vertices shall stand in for the oracle.
    """
    check_types(objective, constraint, estimator)
    if estimator is not None and not estimator.exact:
        return Choice("boosted", step, "the paper's algorithm, since the gradient is an estimate")
    if asked or not objective.has_gradient:
        return Choice("boosted", step, "the one with such settings")
    if lazy:
        method = "blended-pairwise" if constraint.few_atoms else "boosted"
        return Choice(method, LineSearch(), "lazy steps among the vertices that are known")
    try:
        engine = engine_type(make_plan(objective, constraint, shape=shape, method="corrective"))
    except ValueError:
        engine = None
    few = constraint.few_atoms or constraint.few_curved_atoms
    on_atoms = engine is not None and engine.name in ("hull", "blocks-hull")
    if engine is not None and (not on_atoms or (few and _suits_atoms(objective, foreign))):
        return Choice("corrective", "auto", "Newton steps on the weights of few atoms, with an exact gap")
    cheap = type(objective).along is not Objective.along  # it knows f along a line without a gradient a trial
    search = LineSearch("exact" if cheap else "backtracking")
    if constraint.few_atoms and objective.like is not None and not is_foreign(objective.like):
        return Choice("blended-pairwise", search, "linear convergence over a polytope, with an exact gap")
    return Choice("boosted", search, "the exact gradient can pay for a line search")


def _suits_atoms(objective: Objective, foreign: bool) -> bool:
    """Whether a model over atoms fits f: of a linear model in any case, else if f is convex and on NumPy arrays."""
    if isinstance(objective, (LinearModel, PartitionedModel)):
        return True
    return objective.quasar_rho == 1.0 and not (foreign and objective.like is None)
