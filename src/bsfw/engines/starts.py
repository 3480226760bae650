"""Where a run starts: x^0 = lmo(m_init), or a point that the user gave, checked."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    converted,
    host,
    host_dtype,
    is_complex,
    is_foreign,
    kind,
    norm,
    plain,
    require_finite,
    zeros,
)
from ..estimators import ZOJA
from ..kernels import seconds_compiling
from ..plan import Plan
from ..state import State


def clock() -> float:
    """Seconds from some moment on, without those of compilations: differences of it are what a run takes."""
    return time.perf_counter() - seconds_compiling()


def start_on_arrays(plan: Plan, x0: Any, rng: np.random.Generator, at_origin: bool = False) -> State:
    """The state at `x0`, else at the origin if it lies in C and `at_origin` asks for it, else at x^0 = lmo(m_init).

    m_init is the gradient at the origin if that lies in C, else at the set's start vertex. The run goes on with arrays
    of the kind and on the device of `x0`, else of the objective's `like`.
    """
    objective, constraint = plan.objective, plan.constraint
    if x0 is not None:
        return State(x=checked_start(plan, x0), rng=rng)
    origin = zeros(plan.shape, objective.dtype, objective.like)
    _check_kind(plan, origin)
    state = State(x=origin, rng=rng)
    started = clock()
    inside = constraint.has_membership and constraint.contains(origin)
    if not (inside and at_origin):
        if not inside:
            state.x = constraint.start(plan.shape, objective.dtype).add_to(0.0 * origin, 1.0)
            state.lmo_calls += 1
        m_init = _first_gradient(plan, state)
        if not math.isfinite(norm(m_init)):
            raise ValueError("the gradient at the start is not finite; check the objective, or give x0=.")
        state.x = constraint.lmo(m_init).add_to(0.0 * origin, 1.0)
        state.lmo_calls += 1
    state.seconds += clock() - started
    return state


def _first_gradient(plan: Plan, state: State) -> Array:
    objective = plan.objective
    with objective.counting(state.counts):
        if objective.has_gradient:
            return objective.gradient(state.x)
        every, step = np.arange(plan.dimension), getattr(plan.estimator, "step", ZOJA.step)
        return objective.forward_differences(state.x, every, step).reshape(plan.shape)


def checked_start(plan: Plan, x0: Any) -> Array:
    """`x0` as an array of the variable's kind and dtype, or a ValueError why it cannot be x^0."""
    objective, constraint = plan.objective, plan.constraint
    x, like = x0 if is_foreign(x0) else plain(x0, "x0"), objective.like
    _check_kind(plan, x)
    if like is not None and kind(x) != kind(like):
        raise ValueError(
            f"x0 is an array of {kind(x)}, but {type(objective).__name__} computes with arrays of {kind(like)}; "
            "convert x0, or make the objective from arrays of the kind of x0."
        )
    if tuple(x.shape) != plan.shape:
        raise ValueError(f"x0 has the shape {tuple(x.shape)}, but the variable has {plan.shape}.")
    if is_complex(x.dtype) != is_complex(objective.dtype):
        kinds = ("complex", "real") if is_complex(x.dtype) else ("real", "complex")
        raise ValueError(f"x0 is {kinds[0]}, but the variable is {kinds[1]} ({objective.dtype}); convert one of them.")
    x = converted(x, objective.dtype_at(x), x)
    require_finite(x, "x0")
    tolerance = 1e-9 if np.finfo(host_dtype(x)).bits >= 64 else 1e-5
    if constraint.has_membership and not constraint.contains(x, tolerance):
        violation = constraint.violation(host(x))
        raise ValueError(
            f"x0 lies outside of {constraint!r} (relative violation {violation:.2g}); give a feasible point, or leave "
            "x0 out."
        )
    return x


def _check_kind(plan: Plan, x: Array) -> None:
    if is_foreign(x) and not plan.constraint.any_array:
        raise ValueError(
            f"the oracle of {type(plan.constraint).__name__} works on NumPy arrays only, but the variable is one of "
            f"{kind(x)}; give the objective and x0 as NumPy arrays, or choose a set such as L2Ball or L1Ball."
        )
