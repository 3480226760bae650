"""The engine of away, pairwise and blended pairwise Frank-Wolfe: the solver's loop on an active set."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import kind, norm
from ...active_set import ActiveSet, as_atom
from ...boosting import Direction
from ...plan import Plan
from ...state import State
from ...steps import LineSearch, Move
from ..base import Engine
from .methods import CHOICES, Choice, Look
from .searches import SEARCHES, Adaptive

REFRESH_EVERY = 64
"""Iterations after which x is formed anew from the atoms; in between it follows the steps."""
KINDS = ("frank-wolfe", "away", "pairwise", "drop")


class ActiveSetEngine(Engine):
    """A method of `methods` in the solver's loop. Deterministic: exact gradient, exact gap, line search.

    An iteration costs a gradient, an LMO call, a pass over the atoms (see `ActiveSet`), the line search, and a few
    passes over x. The step that it reports, and with it `gamma` of the trace, is the share of the largest feasible one:
    1.0 drops an atom, or goes all the way to the vertex.

    References
    ----------
    J. Guélat and P. Marcotte (1986). Some comments on Wolfe's 'away step'. Mathematical Programming 35.
    S. Lacoste-Julien and M. Jaggi (2015). On the global linear convergence of Frank-Wolfe optimization variants. NIPS.
    F. Pedregosa, G. Negiar, A. Askari and M. Jaggi (2020). Linearly convergent Frank-Wolfe with backtracking
    line-search. AISTATS.
    K. Tsuji, K. Tanaka and S. Pokutta (2022). Pairwise conditional gradients without swap steps and sparser kernel
    herding. ICML.

    Attributes
    ----------
    active : ActiveSet or None
        The atoms of x and their weights; None before the first iteration.
    steps : dict of int
        How many Frank-Wolfe, away and pairwise steps were taken, and how many of them dropped an atom.
    """

    name = "active"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        assert isinstance(plan.step, LineSearch)
        self.search = SEARCHES[plan.step.kind]()
        self._choose = CHOICES[plan.method]
        self.active: ActiveSet | None = None
        self.steps = dict.fromkeys(KINDS, 0)
        if "active.weights" in state.memory:
            self.active = ActiveSet.from_arrays(state.memory)
            self.steps = dict(zip(KINDS, np.asarray(state.memory["active.steps"]).tolist(), strict=True))
            if isinstance(self.search, Adaptive):
                self.search.smoothness = float(state.memory["active.smoothness"])

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        state = super().start(plan, x0, rng)
        if not isinstance(state.x, np.ndarray):
            raise ValueError(
                f"method {plan.method!r} works on NumPy arrays, but x0 is one of {kind(state.x)}; give the problem as "
                "NumPy arrays, or use method='boosted'."
            )
        return state

    def _look(self, state: State) -> Direction | None:
        self._refit(state)
        state.m = self.f.gradient(state.x)
        if not math.isfinite(norm(state.m)):
            return None
        vertex = self.plan.constraint.lmo(state.m)
        state.lmo_calls += 1
        if self.active is None:
            self.active = ActiveSet(state.x.shape, state.x.dtype)
            self.active.add(as_atom(state.x, vertex), 1.0)
        return self._choose(Look.at(state.x, state.m, vertex, self.active))

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """The step by line search on [0, largest], of which a `Move` tells the share. There is no eta: nan."""
        assert isinstance(direction, Choice) and self.active is not None
        active, line = self.active, self.f.along(state.x, direction.array)
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
        share = gamma / direction.largest
        return math.nan, Move(share, False, share)

    def publish(self, state: State) -> None:
        """Put the active set and the search into the state's memory."""
        if self.active is None:
            return
        state.memory = {
            **self.active.to_arrays(),
            "active.steps": np.array(list(self.steps.values()), dtype=np.int64),
        }
        if isinstance(self.search, Adaptive):
            state.memory["active.smoothness"] = np.array(self.search.smoothness)

    def extras(self) -> dict[str, Any]:
        return {"active_set": self.active}
