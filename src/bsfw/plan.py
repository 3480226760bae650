"""What a run is: one problem with every choice made. A `Plan` is checked when it is made, and never changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._arrays import Array, positive_int
from .constraints.base import Constraint
from .decays import DECAYS, Decay, choose_decay
from .estimators import Estimator, FullGradient
from .objectives.base import Objective
from .steps import STEPS, ImageStep, LineSearch, PaperStep, ShortStep, Step

CONJUGATE = ("conjugate", "biconjugate")
"""Methods that combine a vertex with the points before it."""
BLOCKWISE = ("block-cyclic", "block-random", "block-gap")
"""Methods that move one set of a product at a time."""
METHODS = ("boosted", "corrective", "away", "pairwise", "blended-pairwise", *CONJUGATE, *BLOCKWISE)
"""Ways to choose a direction. All but the first need the exact gradient, and a line search or, by blocks, a short step;
"corrective" to "blended-pairwise" keep an active set."""

LAZY = ("boosted", "away", "pairwise", "blended-pairwise")
"""Methods that can be lazy."""

AnyDecay = Decay | Callable[[int], float]


@dataclass(frozen=True, eq=False)
class Plan:
    """One problem and how it is to be solved. Made and checked by `make_plan`; engines read it.

    Attributes
    ----------
    objective : Objective
    constraint : Constraint
    estimator : Estimator
    step : Step
    decay : Decay or callable
        eta_t before it is clipped; asked by `eta`.
    max_rounds : int
        K.
    min_gain : float
        delta.
    shape : tuple of int
        Shape of the variable.
    method : str
        One of `METHODS`.
    why : str
        Method, decay and step in a sentence, and the reason of those that nobody asked for.
    lazy : bool
        Whether known vertices stand in for the oracle where they promise enough.
    note : str
        A default that its reader may not have meant, in a sentence; empty if there is none.
    """

    objective: Objective
    constraint: Constraint
    estimator: Estimator
    step: Step
    decay: AnyDecay
    max_rounds: int
    min_gain: float
    shape: tuple[int, ...]
    method: str
    why: str
    lazy: bool = False
    note: str = ""

    @property
    def dimension(self) -> int:
        """n, the number of entries of the variable."""
        return math.prod(self.shape)

    def eta(self, t: int) -> float:
        """eta_t, clipped to 1."""
        eta = float(self.decay(t))
        if not eta > 0:  # also if it is not a number
            raise ValueError(f"the decay gave eta = {eta!r} at t = {t}; it must be positive.")
        return min(1.0, eta)

    def etas(self, first: int, count: int) -> Array:
        """eta_t for `count` iterations from `first` on; in one go for bsfw's own decays, which take arrays."""
        if isinstance(self.decay, Decay) and type(self.decay) in DECAYS.values():
            etas = np.broadcast_to(self.decay.unclipped(np.arange(first, first + count)), count)
            clipped: Array = np.minimum(1.0, etas)
            return clipped
        return np.array([self.eta(t) for t in range(first, first + count)])


def make_plan(
    objective: Objective,
    constraint: Constraint,
    estimator: Estimator | None = None,
    *,
    max_rounds: int | None = None,
    min_gain: float = 1e-4,
    decay: str | AnyDecay = "auto",
    step: str | Step = "auto",
    horizon: int | None = None,
    shape: tuple[int, ...] | None = None,
    method: str = "boosted",
    why: str = "",
    lazy: bool = False,
) -> Plan:
    """The plan of these settings (see `bsfw.Solver`), or one sentence why they do not fit together.

    `why` says why the method was chosen, if nobody asked for it.
    """
    check_types(objective, constraint, estimator)
    estimator = FullGradient() if estimator is None else estimator
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if method != "boosted":
        if not estimator.exact:
            raise ValueError(
                f"method {method!r} needs the exact gradient, but the estimator is {type(estimator).__name__}; leave "
                "estimator= out, or use method='boosted' (on a linear model with end_phase='corrective')."
            )
        max_rounds = 1  # one vertex of the oracle an iteration, the rest is up to the active set
    if lazy and (method not in LAZY or not estimator.exact):
        what = f"the method is {method!r}" if method not in LAZY else f"the estimator is {type(estimator).__name__}"
        raise ValueError(
            f"lazy=True is for the methods {', '.join(LAZY)} with the exact gradient, but {what}; leave lazy out."
        )
    known = objective.shape or constraint.shape or shape
    if known is None:
        raise ValueError("neither the objective nor the constraint knows the shape of the variable; give x0=.")
    shape = tuple(known)
    constraint.check_shape(shape)
    if objective.only_exact and not estimator.exact:
        raise ValueError(f"{type(estimator).__name__} is an estimate, but {objective.only_exact}.")
    estimator.check(objective, shape)
    rounds = constraint.suggested_rounds if max_rounds is None else positive_int(max_rounds, "max_rounds")
    if not (isinstance(min_gain, (int, float)) and 0 < min_gain <= 1):
        raise ValueError(f"min_gain (delta of the paper) must lie in ]0, 1], got {min_gain!r}.")
    chosen_decay, why_decay = _decay(decay, objective, estimator, shape, horizon, vanilla=rounds == 1)
    chosen_step, why_step = _step(step, estimator, method, boosts=rounds > 1)
    _check_step(chosen_step, objective, estimator, method)
    note, decays = "", not chosen_step.deterministic  # the other rules ignore eta
    if decays and decay == "auto" and objective.quasar_rho is None:
        note = (
            f"The decay is that of a nonconvex f, as {type(objective).__name__} states no quasar_rho; if f is convex, "
            "say so with quasar_rho = 1.0."
        )
    reason = f" ({why})" if why else ""
    reason = f"{'lazy ' if lazy else ''}{method}{reason}"
    why = f"method {reason}; step {why_step}" + (f"; decay {why_decay}." if decays else ".")
    return Plan(
        objective=objective,
        constraint=constraint,
        estimator=estimator,
        step=chosen_step,
        decay=chosen_decay,
        max_rounds=rounds,
        min_gain=float(min_gain),
        shape=shape,
        method=method,
        why=why,
        lazy=lazy,
        note=note,
    )


def check_types(objective: Objective, constraint: Constraint, estimator: Estimator | None) -> None:
    """Raise a TypeError if one of the parts is none."""
    if not isinstance(objective, Objective):
        raise TypeError(f"fun must be an objective such as bsfw.Logistic(A, y) or bsfw.Function(f), got {objective!r}.")
    if not isinstance(constraint, Constraint):
        raise TypeError(
            f"constraint must be a set such as bsfw.L1Ball(1.0), got {constraint!r}; wrap an oracle of your own as "
            "bsfw.Oracle(lmo)."
        )
    if estimator is not None and not isinstance(estimator, Estimator):
        raise TypeError(f"estimator must be an estimator object such as bsfw.SAGA(batch_size=100), got {estimator!r}.")


def _decay(
    decay: str | AnyDecay,
    objective: Objective,
    estimator: Estimator,
    shape: tuple[int, ...],
    horizon: int | None,
    vanilla: bool,
) -> tuple[AnyDecay, str]:
    """The decay, and what it is and why."""
    if not isinstance(decay, str):
        if not callable(decay):
            raise TypeError(f"decay must be a name, a Decay or a function of t, got {decay!r}.")
        return decay, repr(decay) if isinstance(decay, Decay) else "a function"
    rho = objective.quasar_rho
    constants = estimator.constants(
        n_samples=objective.n_samples, dimension=math.prod(shape), horizon=horizon or 1
    )  # fmt: skip
    chosen = choose_decay(
        decay, estimator=estimator, constants=constants, quasar_rho=rho, horizon=horizon, vanilla=vanilla
    )  # fmt: skip
    if decay != "auto":
        return chosen, repr(chosen)
    if rho is None:
        of = f"a nonconvex f, for {type(objective).__name__} states no quasar_rho"
    else:
        of = "a convex f" if rho == 1.0 else f"a quasar-convex f (rho = {rho:g})"
    return chosen, f"{chosen!r}, that of {estimator.name} for {of}"


def _step(step: str | Step, estimator: Estimator, method: str, boosts: bool) -> tuple[Step, str]:
    """The step rule, and what it is and why."""
    if isinstance(step, Step):
        return step, repr(step)
    if not isinstance(step, str):
        raise TypeError(f"step must be a name or a step rule such as bsfw.LineSearch(), got {step!r}.")
    if step != "auto" and step not in STEPS:
        raise ValueError(f"step must be 'auto' or one of {', '.join(STEPS)}, got {step!r}.")
    if step != "auto":
        chosen = STEPS[step]()
        return chosen, repr(chosen)
    if method != "boosted":
        return LineSearch(), f"{LineSearch()!r}, which the method needs"
    # With one round d~ = s - x, so both of the paper's rules give gamma = eta: no need for products with A.
    if estimator.image_step and boosts:
        return ImageStep(), f"{ImageStep()!r}, the paper's rule for {estimator.name}"
    return PaperStep(), f"{PaperStep()!r}, the paper's rule"


def _check_step(step: Step, objective: Objective, estimator: Estimator, method: str) -> None:
    if step.deterministic and not estimator.exact:
        raise ValueError(
            f"the step rule {step.name!r} needs the exact gradient, but the estimator is {type(estimator).__name__}; "
            "use step='paper' or estimator=bsfw.FullGradient()."
        )
    if method in BLOCKWISE:
        if not isinstance(step, (LineSearch, ShortStep)):
            raise ValueError(
                f"method {method!r} moves one set at a time by an exact or a short step, so that step= must be "
                f"'line-search' or 'short', got {step.name!r}; leave it out."
            )
    elif method != "boosted" and not isinstance(step, LineSearch):
        raise ValueError(
            f"method {method!r} searches along its direction, so that step= must be 'line-search' or a "
            f"bsfw.LineSearch, got {step.name!r}; leave it out."
        )
    if method in ("boosted", *CONJUGATE, *BLOCKWISE) and isinstance(step, LineSearch) and step.kind == "adaptive":
        raise ValueError(
            "the adaptive line search is for the methods with an active set (method='pairwise' and others); use "
            "bsfw.LineSearch('backtracking')."
        )
    step.check(objective)
