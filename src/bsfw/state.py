"""What a run knows between two iterations, when it ends, and what happens on which iterations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._arrays import Array, positive, positive_int
from ._refusals import Refusing
from .estimators.base import Memory
from .objectives.base import Counts
from .phases import Check, Switch
from .results import Status, Trace


@dataclass(eq=False)
class State(Refusing):
    """Everything a run knows between two iterations: save it, and the run goes on to the same bits.

    A plain value: it knows nothing of who carries out the iterations but the name. Arrays are never changed in place
    once they are here, except the tables in `memory`.

    Attributes
    ----------
    x, x_previous : array
        x^t and x^{t-1}: of NumPy, PyTorch or JAX; x is a `LowRank` in a factored run, and None while an engine is
        under way with it: `Engine.publish` brings it before anybody looks.
    rng : numpy.random.Generator
        Where the draws come from.
    iteration : int
        t.
    m, memory
        The last estimate (after `step`; an engine may keep its own in `memory`) and the estimator's tables.
    counts, lmo_calls, seconds
        What the algorithm asked and took.
    boosted_steps : int
        Iterations that stepped along d~ (gamma_t < 1, or a line search that went all the way).
    check_counts, check_lmo_calls, check_seconds
        What metrics and exact gap checks asked and took.
    trace : Trace
        The rows recorded so far.
    engine_name : str
        Who carries out the iterations; a phase ends with the engine it began with.
    checks, switch
        In a run with an end phase: the last checks of the rule, and where and why it switched, once it has.
    """

    x: Any
    rng: np.random.Generator
    iteration: int = 0
    x_previous: Array | None = None
    m: Array | None = None
    memory: Memory = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    lmo_calls: int = 0
    boosted_steps: int = 0
    seconds: float = 0.0
    check_counts: Counts = field(default_factory=Counts)
    check_lmo_calls: int = 0
    check_seconds: float = 0.0
    trace: Trace = field(default_factory=Trace)
    engine_name: str = ""
    checks: list[Check] = field(default_factory=list)
    switch: Switch | None = None

    def begin_phase(self, switch: Switch) -> None:
        """Leave all but x^t and what it cost to the phase that ends here."""
        self.switch, self.engine_name = switch, ""
        self.m, self.x_previous, self.memory = None, None, {}


@dataclass(frozen=True)
class Limits(Refusing):
    """When a run ends. Budgets are looked at before each iteration, so the last one may overshoot them.

    A run with an end phase has them for both phases together.

    Parameters
    ----------
    max_iter : int
        T, the number of iterations.
    max_seconds : float, optional
        Seconds in the algorithm, metrics excluded.
    max_gradients : int, optional
        Sample plus coordinate gradients.
    max_lmo_calls : int, optional
        LMO calls.
    gap_tol : float, optional
        Exact Frank-Wolfe gap that counts as reached.
    relative_gap : float, optional
        The same relative to |f(x)|, for a run with the exact gradient. It is looked at where f is, in recorded
        iterations. A gap of 1e-13 |f(x^0)| ends such a run too: there rounding begins.
    """

    max_iter: int = 1000
    max_seconds: float | None = None
    max_gradients: int | None = None
    max_lmo_calls: int | None = None
    gap_tol: float | None = None
    relative_gap: float | None = None

    def __post_init__(self) -> None:
        positive_int(self.max_iter, "max_iter")
        for name in ("max_seconds", "max_gradients", "max_lmo_calls"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name)
        for name in ("gap_tol", "relative_gap"):
            tolerance = getattr(self, name)
            if tolerance is not None and not (math.isfinite(tolerance) and tolerance >= 0):
                raise ValueError(f"{name} must be a finite number of at least 0, got {tolerance!r}.")

    def share_used(self, state: State) -> float:
        """How much of the nearest limit `state` has used, from 0 to 1."""
        gradients = state.counts.sample_gradients + state.counts.coordinate_gradients
        used = [(state.iteration, self.max_iter), (state.seconds, self.max_seconds)]
        used += [(gradients, self.max_gradients), (state.lmo_calls, self.max_lmo_calls)]
        return min(1.0, max(float(amount) / limit for amount, limit in used if limit is not None))

    def used_up(self, state: State) -> Status | None:
        """The budget that `state` has used up, if any."""
        gradients = state.counts.sample_gradients + state.counts.coordinate_gradients
        if state.iteration >= self.max_iter:
            return Status.ITERATIONS
        if self.max_seconds is not None and state.seconds >= self.max_seconds:
            return Status.SECONDS
        if self.max_gradients is not None and gradients >= self.max_gradients:
            return Status.GRADIENTS
        if self.max_lmo_calls is not None and state.lmo_calls >= self.max_lmo_calls:
            return Status.LMO_CALLS
        return None


@dataclass(frozen=True)
class Schedule(Refusing):
    """What happens on which iterations.

    Parameters
    ----------
    record_every : int
        A row of the trace.
    gap_every : int, optional
        An exact gap in a stochastic run, which is a row too.
    checkpoint_every : int, optional
        A checkpoint.
    """

    record_every: int
    gap_every: int | None = None
    checkpoint_every: int | None = None

    def __post_init__(self) -> None:
        positive_int(self.record_every, "record_every")
        if self.gap_every is not None:
            positive_int(self.gap_every, "gap_every")
        if self.checkpoint_every is not None:
            positive_int(self.checkpoint_every, "every (iterations between two checkpoints)")

    def gap_due(self, t: int) -> bool:
        return self.gap_every is not None and t % self.gap_every == 0

    def record_due(self, t: int) -> bool:
        return t % self.record_every == 0 or self.gap_due(t)

    def checkpoint_due(self, t: int) -> bool:
        return self.checkpoint_every is not None and t % self.checkpoint_every == 0

    def next_event(self, t: int, last: int) -> int:
        """The first iteration from t on at which something is due; `last` if nothing is before."""
        periods = [p for p in (self.record_every, self.gap_every, self.checkpoint_every) if p is not None]
        return min(last, *(-(-t // p) * p for p in periods))
