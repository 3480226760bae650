"""Algorithm BSFW on a JAX function: what one iteration finds, and a loop of many, each one compiled program."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...boosting import Direction
from ...constraints import Constraint
from ...constraints._array_boost import boost_stack, jax_loop
from ...constraints._array_oracles import array_lmo
from ...objectives.function import Function
from ...plan import Plan
from ...state import Limits, State
from ...vertices import Dense
from ..reference import ReferenceEngine

_CHUNK = 256
"""Iterations at most in a call: the length of the table of eta_t that the program takes."""
_PART_SECONDS = 0.02


class JaxEngine(ReferenceEngine):
    """The reference's iterations up to rounding; nothing comes to the host between two recordings but a few numbers."""

    name = "jax"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        assert isinstance(plan.objective, Function)
        self._look_program, self._loop_program = _programs(
            plan.objective.jac, plan.constraint, plan.shape, plan.max_rounds, plan.min_gain
        )
        self._like, self._length = state.x, 8

    def prepare(self, announce: Callable[[], None]) -> None:
        announce()
        x = self._like
        jax.block_until_ready((self._look_program(x), self._loop_program(x, np.zeros(_CHUNK), 0, -1.0, 0)))

    def _look(self, state: State) -> Direction | None:
        m, vertex, combination, numbers = self._look_program(state.x)
        self._count(1)
        gap, slope, alignment, length, distance, calls, total, finite = numbers.tolist()
        state.m = m
        if not finite:
            return None
        state.lmo_calls += round(calls)
        if total == 0.0:
            return Direction([], [], Dense(vertex), gap, 0.0, -1.0, 0.0, distance, round(calls))
        found = [Dense(combination)], [1.0], Dense(vertex), gap, slope, alignment, length, distance, round(calls)
        return Direction(*found)  # type: ignore[arg-type]  # a list of Dense is one of Vertex

    def _forward(self, state: State, until: int, limits: Limits) -> Iterator[None]:
        samples = self.plan.objective.n_samples or 1
        while (left := until - state.iteration) > 0:
            left = min(left, self._length)
            if limits.max_gradients is not None:
                used = state.counts.sample_gradients + state.counts.coordinate_gradients
                left = min(left, math.ceil((limits.max_gradients - used) / samples))
            calls = 0 if limits.max_lmo_calls is None else limits.max_lmo_calls - state.lmo_calls
            if left <= 0 or (limits.max_lmo_calls is not None and calls <= 0):
                return
            etas = np.zeros(_CHUNK)
            etas[:left] = self.plan.etas(state.iteration, left)
            started = time.perf_counter()
            tolerance = -1.0 if limits.gap_tol is None else limits.gap_tol
            x, numbers = self._loop_program(state.x, etas, left, tolerance, math.ceil(calls))
            made, called, boosted = (round(number) for number in numbers.tolist())
            if made > 0:
                state.x_previous, state.x = None, x
            state.iteration += made
            state.lmo_calls += called
            state.boosted_steps += boosted
            self._count(made)
            if time.perf_counter() - started < _PART_SECONDS:
                self._length = min(2 * self._length, _CHUNK)
            yield
            if made < left:  # a gap, a budget or a number that the solver must see
                return

    def _count(self, gradients: int) -> None:
        counts = self.plan.objective.counts
        counts.sample_gradients += gradients * (self.plan.objective.n_samples or 1)
        counts.full_gradients += gradients


@lru_cache(maxsize=32)
def _programs(
    jac: Any, constraint: Constraint, shape: tuple[int, ...], max_rounds: int, min_gain: float
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """One iteration's findings at x, and a loop from x on; compiled once for a function and a set."""
    formula = array_lmo(constraint, jnp)
    assert formula is not None

    def found_at(x: Any) -> tuple[Any, Any]:
        m = jac(x.reshape(shape)).reshape(-1)
        lmo = lambda g: formula(g.reshape((1, *shape))).reshape(-1)  # noqa: E731
        return m, boost_stack(jnp, m, x, lmo, max_rounds, min_gain, jax_loop)

    @jax.jit
    def look(x: Any) -> tuple[Any, ...]:
        flat = x.reshape(-1)
        m, found = found_at(flat)
        at = found.rounds
        total = jnp.where(at.total > 0, at.total, jnp.ones_like(at.total))
        numbers = jnp.stack([
            found.gap, at.m_psi / total, at.alignment, found.direction_length(jnp), found.distance, at.calls, at.total,
            jnp.isfinite(m @ m).astype(flat.dtype),
        ])  # fmt: skip
        shown = (m, found.vertex, found.combination(jnp, flat))
        return *(a.reshape(shape) for a in shown), numbers

    @jax.jit
    def loop(x: Any, etas: Any, count: Any, gap_tol: Any, max_calls: Any) -> tuple[Any, Any]:
        """At most `count` iterations; ends before one whose gap is at most `gap_tol` or whose m is not finite, and
        once `max_calls` LMO calls are made (0: no limit)."""

        def body(at: tuple[Any, ...]) -> tuple[Any, ...]:
            x, made, calls, boosted, _ = at
            m, found = found_at(x)
            goes_on = (found.gap > gap_tol) & jnp.isfinite(m @ m)
            target, length, along = found.paper_step(jnp, x, etas[made].astype(x.dtype))
            moved = jnp.where(goes_on, (1.0 - length) * x + length * target, x)
            called = calls + jnp.where(goes_on, found.rounds.calls.astype(int), 0)
            return moved, made + goes_on, called, boosted + (along & goes_on), goes_on

        def go_on(at: tuple[Any, ...]) -> Any:
            _, made, calls, _, went_on = at
            return went_on & (made < count) & ((max_calls == 0) | (calls < max_calls))

        zero = jnp.zeros((), int)
        x, made, calls, boosted, _ = lax.while_loop(go_on, body, (x.reshape(-1), zero, zero, zero, jnp.array(True)))
        return x.reshape(shape), jnp.stack([made, calls, boosted])

    return look, loop
