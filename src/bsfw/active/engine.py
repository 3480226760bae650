"""The engine of away, pairwise and blended pairwise Frank-Wolfe: the solver's loop on an active set."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array, norm
from ..active_set import ActiveSet, as_atom
from ..boosting import Direction
from ..steps import Move
from .methods import METHODS, Choice, Look
from .searches import SEARCHES, Adaptive

if TYPE_CHECKING:
    from ..solver import Solver
    from ..state import Limits, State

REFRESH_EVERY = 64
"""Iterations after which x is formed anew from the atoms; in between it follows the steps."""
STEPS = ("frank-wolfe", "away", "pairwise", "drop")


class ActiveSetEngine:
    """A method of `bsfw.active.methods` in the solver's loop. Deterministic: exact gradient, exact gap, line search.

    An iteration costs a gradient, an LMO call, a pass over the atoms (see `ActiveSet`), the line search, and a few
    passes over x.

    References
    ----------
    J. Guélat and P. Marcotte (1986). Some comments on Wolfe's 'away step'. Mathematical Programming 35.
    S. Lacoste-Julien and M. Jaggi (2015). On the global linear convergence of Frank-Wolfe optimization variants. NIPS.
    F. Pedregosa, G. Negiar, A. Askari and M. Jaggi (2020). Linearly convergent Frank-Wolfe with backtracking
    line-search. AISTATS.
    K. Tsuji, K. Tanaka and S. Pokutta (2022). Pairwise conditional gradients without swap steps and sparser kernel
    herding. ICML.

    Parameters
    ----------
    solver : Solver
        Its estimator must be the exact gradient; its decay and step rule are not asked.
    state : State
        A new one, or one from a checkpoint, whose `memory` holds the active set and the search.
    method : {"away", "pairwise", "blended-pairwise"}
    search : {"exact", "backtracking", "adaptive"}
        The line search; a state from a checkpoint brings its own.

    Attributes
    ----------
    active : ActiveSet or None
        The atoms of x and their weights; None before the first iteration.
    steps : dict of int
        How many Frank-Wolfe, away and pairwise steps were taken, and how many of them dropped an atom.
    """

    def __init__(self, solver: Solver, state: State, method: str, search: str = "exact") -> None:
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
        search = str(state.memory.get("active.search", search))
        if search not in SEARCHES:
            raise ValueError(f"the line search must be one of {', '.join(SEARCHES)}, got {search!r}.")
        if not solver.estimator.exact:
            raise ValueError(
                f"method {method!r} needs the exact gradient, but the estimator is {type(solver.estimator).__name__}; "
                "leave estimator out, or use method='boosted'."
            )
        if not isinstance(state.x, np.ndarray):
            raise ValueError(
                f"method {method!r} works on NumPy arrays, but x is a {type(state.x).__name__}; give the problem as "
                "NumPy arrays, or use method='boosted'."
            )
        self.solver, self.name, self.search = solver, method, SEARCHES[search]()
        self._choose = METHODS[method]
        self.active: ActiveSet | None = None
        self.steps = dict.fromkeys(STEPS, 0)
        if "active.weights" in state.memory:
            self.active = ActiveSet.from_arrays(state.memory)
            self.steps = dict(zip(STEPS, np.asarray(state.memory["active.steps"]).tolist(), strict=True))
            if isinstance(self.search, Adaptive):
                self.search.smoothness = float(state.memory["active.smoothness"])

    def look(self, state: State) -> Direction | None:
        started = time.perf_counter()
        with self.solver.objective.counting(state.counts):
            state.m = self.solver.objective.gradient(state.x)
        direction = None
        if math.isfinite(norm(state.m)):
            vertex = self.solver.constraint.lmo(state.m)
            state.lmo_calls += 1
            if self.active is None:
                self.active = ActiveSet(state.x.shape, state.x.dtype)
                self.active.add(as_atom(state.x, vertex), 1.0)
            direction = self._choose(Look.at(state.x, state.m, vertex, self.active))
        state.seconds += time.perf_counter() - started
        return direction

    def advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """The step by line search on [0, largest]. There is no eta: nan."""
        assert isinstance(direction, Choice) and self.active is not None
        started = time.perf_counter()
        objective, active = self.solver.objective, self.active
        with objective.counting(state.counts):
            line = objective.along(state.x, direction.array)
            gamma = self.search(line, direction.slope, direction.norm**2, direction.largest)
        state.iteration += 1
        dropped, lost = 0, 0.0
        if gamma > 0.0:
            if direction.source is None:
                assert direction.target is not None
                active.towards(direction.target, gamma)
            elif direction.target is None:
                active.away_from(direction.source, gamma)
            else:
                active.between(direction.source, direction.target, gamma)
            dropped, lost = active.tidy()
        # A step of 1 or more would blow up the rounding errors of x; dropped weight moves x.
        if gamma >= 1.0 or lost > 0.0 or state.iteration % REFRESH_EVERY == 0:
            state.x = active.point()
        elif gamma > 0.0:
            state.x = state.x + gamma * direction.array
        self.steps[direction.kind] += 1
        self.steps["drop"] += dropped > 0
        state.seconds += time.perf_counter() - started
        return math.nan, Move(gamma, False, gamma)

    def forward(self, state: State, until: int, limits: Limits) -> None:
        """Nothing: the solver's own loop is as fast."""

    def publish(self, state: State) -> None:
        """Put the active set and the search into the state's memory."""
        if self.active is None:
            return
        state.memory = {
            **self.active.to_arrays(),
            "active.steps": np.array(list(self.steps.values()), dtype=np.int64),
            "active.search": np.array(self.search.name),
        }
        if isinstance(self.search, Adaptive):
            state.memory["active.smoothness"] = np.array(self.search.smoothness)

    def estimate(self, state: State) -> Array:
        assert state.m is not None
        return state.m

    def extras(self) -> dict[str, Any]:
        return {"active_set": self.active}
