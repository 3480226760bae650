"""Boosted stochastic Frank-Wolfe: the loop, written once. `init`, `step`, `run`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import corrective, factored
from ._arrays import (
    Array,
    converted,
    host,
    host_dtype,
    inner,
    is_complex,
    is_foreign,
    kind,
    norm,
    positive_int,
    require_finite,
    zeros,
)
from ._progress import ProgressLine
from .boosting import Direction
from .constraints.base import Constraint
from .decays import DECAYS, Decay, choose_decay
from .engines import Engine, choose_engine
from .estimators import ZOJA, Estimator, FullGradient
from .lowrank import LowRank
from .objectives.base import Objective
from .phases import END_PHASES, METHODS, WINDOW, Check, Switch, reason_to_switch
from .results import Result, Status
from .state import Limits, Schedule, State
from .steps import STEPS, ImageStep, LineSearch, Move, PaperStep, Step
from .vertices import Vertex

Callback = Callable[[Result], object]


class Solver:
    """Algorithm BSFW (Full) of the paper on one problem. Vanilla Frank-Wolfe is max_rounds = 1.

    Parameters
    ----------
    objective : Objective
    constraint : Constraint
    estimator : Estimator, optional
        Default: the exact gradient.
    max_rounds : int, optional
        K; default: what the constraint suggests (10,000 for cheap LMOs, 5 for costly ones).
    min_gain : float
        delta in ]0, 1].
    decay : str, Decay or callable
        eta_t: "auto" (by estimator, convexity and K), a name of `bsfw.decays.DECAYS`, or a function of t.
    step : str or Step
        "auto" is the paper's rule (`ImageStep` for boosted SAG, else `PaperStep`).
    horizon : int, optional
        T, for the decays that need it.
    shape : tuple of int, optional
        Shape of the variable where neither objective nor constraint knows it.
    method : {"boosted", "corrective", "away", "pairwise", "blended-pairwise"}
        How directions are chosen; all but the first keep an active set, and need the exact gradient.
    end_phase : {"corrective"}, optional
        The method with which `run` ends a boosted run with a stochastic estimator: at an exact gap check (`gap_every`
        of the schedule) where `bsfw.phases.reason_to_switch` finds a reason, it goes on from the same x^t with the
        exact gradient. `step` does not switch.
    engine : {"auto", "reference", "compiled", "factored"}
        Who carries out the iterations: the fastest that fits, or the algorithm as printed.
    """

    def __init__(
        self,
        objective: Objective,
        constraint: Constraint,
        estimator: Estimator | None = None,
        *,
        max_rounds: int | None = None,
        min_gain: float = 1e-4,
        decay: str | Decay | Callable[[int], float] = "auto",
        step: str | Step = "auto",
        horizon: int | None = None,
        shape: tuple[int, ...] | None = None,
        method: str = "boosted",
        end_phase: str | None = None,
        engine: str = "auto",
    ) -> None:
        self.objective, self.constraint = objective, constraint
        self.estimator = FullGradient() if estimator is None else estimator
        if not isinstance(self.estimator, Estimator):
            raise TypeError(
                f"estimator must be an estimator object such as bsfw.SAGA(batch_size=100), got {estimator!r}."
            )
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
        self.method = method
        if method != "boosted":
            if not self.estimator.exact:
                raise ValueError(
                    f"method {method!r} needs the exact gradient, but the estimator is "
                    f"{type(self.estimator).__name__}; leave estimator= out, or use method='boosted' (on a linear "
                    "model with end_phase='corrective')."
                )
            # One vertex of the oracle an iteration, the rest is up to the active set.
            max_rounds, engine = 1, "reference"
            step = "line-search" if step == "auto" else step
        self.shape = _shape(objective, constraint, shape)
        constraint.check_shape(self.shape)
        self.estimator.check(objective, self.shape)
        self.max_rounds = constraint.suggested_rounds if max_rounds is None else positive_int(max_rounds, "max_rounds")
        if not (isinstance(min_gain, (int, float)) and 0 < min_gain <= 1):
            raise ValueError(f"min_gain (delta of the paper) must lie in ]0, 1], got {min_gain!r}.")
        self.min_gain = float(min_gain)
        self.decay: Decay | Callable[[int], float] = self._choose_decay(decay, horizon)
        self.step_rule = self._choose_step(step)
        self._wanted_engine = engine
        if method == "corrective":
            corrective.check(self)
        self.end_phase = end_phase
        self._end = None if end_phase is None else self._end_solver(end_phase)

    def _end_solver(self, end_phase: str) -> Solver:
        """The solver of the end phase, made before the run, so that what cannot work is said before it."""
        if end_phase not in END_PHASES:
            raise ValueError(f"end_phase must be one of {', '.join(END_PHASES)}, or None, got {end_phase!r}.")
        if self.method != "boosted":
            raise ValueError(f"an end phase follows method='boosted', but method is {self.method!r}; leave one out.")
        if self.estimator.exact:
            raise ValueError(
                "an end phase follows a stochastic estimator such as bsfw.SAGA(batch_size=100), but the estimator is "
                f"{type(self.estimator).__name__}; with the exact gradient use method={end_phase!r} from the start."
            )
        if self._wanted_engine in ("auto", "factored") and factored.supports(self):
            raise ValueError(
                f"end_phase={end_phase!r} works on arrays, but this run keeps x in factored form; leave end_phase out."
            )
        try:
            return Solver(self.objective, self.constraint, shape=self.shape, method=end_phase)
        except ValueError as error:
            raise ValueError(f"end_phase={end_phase!r} does not fit this problem: {error}") from None

    def _choose_decay(
        self, decay: str | Decay | Callable[[int], float], horizon: int | None
    ) -> Decay | Callable[[int], float]:
        if not isinstance(decay, str):
            if not callable(decay):
                raise TypeError(f"decay must be a name, a Decay or a function of t, got {decay!r}.")
            return decay
        return choose_decay(
            decay,
            estimator=self.estimator,
            constants=self.estimator.constants(
                n_samples=self.objective.n_samples, dimension=int(np.prod(self.shape)), horizon=horizon or 1
            ),
            quasar_rho=self.objective.quasar_rho,
            horizon=horizon,
            vanilla=self.max_rounds == 1,
        )

    def _choose_step(self, step: str | Step) -> Step:
        if isinstance(step, str):
            # With one round d~ = s - x, so both of the paper's rules give gamma = eta: no need for products with A.
            automatic = ImageStep if self.estimator.image_step and self.max_rounds > 1 else PaperStep
            if step != "auto" and step not in STEPS:
                raise ValueError(f"step must be 'auto' or one of {', '.join(STEPS)}, got {step!r}.")
            step = automatic() if step == "auto" else STEPS[step]()
        if not isinstance(step, Step):
            raise TypeError(f"step must be a name or a step rule such as bsfw.LineSearch(), got {step!r}.")
        if step.deterministic and not self.estimator.exact:
            raise ValueError(
                f"the step rule {step.name!r} needs the exact gradient, but the estimator is "
                f"{type(self.estimator).__name__}; use step='paper' or estimator=bsfw.FullGradient()."
            )
        if self.method != "boosted" and not isinstance(step, LineSearch):
            raise ValueError(
                f"method {self.method!r} searches along its direction, so that step= must be 'line-search' or a "
                f"bsfw.LineSearch, got {step.name!r}; leave it out."
            )
        if self.method == "boosted" and isinstance(step, LineSearch) and step.kind == "adaptive":
            raise ValueError(
                "the adaptive line search is for the methods with an active set (method='pairwise' and others); use "
                "bsfw.LineSearch('backtracking')."
            )
        step.check(self.objective)
        return step

    def init(self, x0: Any = None, rng: np.random.Generator | int | None = None) -> State:
        """The state at x^0 = lmo(m_init), counted, or at the given `x0`.

        m_init is the gradient at the origin if that lies in C, else at the set's start vertex; boosted and vanilla
        runs start from the same point. The corrective method starts at the origin itself if that lies in C: its
        first iteration finds many atoms there. The run goes on with arrays of the kind and on the device of `x0`,
        else of the objective's `like`.
        """
        generator = np.random.default_rng(rng)
        if self._wanted_engine in ("auto", "factored") and factored.supports(self):
            from .factored.engine import begin

            state = State(x=np.empty(0), rng=generator)
            begin(self, state, x0)
            return state
        if x0 is not None:
            return State(x=self._checked_start(x0), rng=generator)
        origin = zeros(self.shape, self.objective.dtype, self.objective.like)
        self._check_kind(origin)
        state = State(x=origin, rng=generator)
        started = time.perf_counter()
        inside = self.constraint.has_membership and self.constraint.contains(origin)
        if inside and self.method == "corrective":
            state.seconds += time.perf_counter() - started
            return state
        if not inside:
            state.x = self.constraint.start(self.shape, self.objective.dtype).add_to(0.0 * origin, 1.0)
            state.lmo_calls += 1
        with self.objective.counting(state.counts):
            if self.objective.has_gradient:
                m_init = self.objective.gradient(state.x)
            else:
                every, step = np.arange(math.prod(self.shape)), getattr(self.estimator, "step", ZOJA.step)
                m_init = self.objective.forward_differences(state.x, every, step).reshape(self.shape)
        if not math.isfinite(norm(m_init)):
            raise ValueError("the gradient at the start is not finite; check the objective, or give x0=.")
        state.x = self.constraint.lmo(m_init).add_to(0.0 * origin, 1.0)
        state.lmo_calls += 1
        state.seconds += time.perf_counter() - started
        return state

    def _checked_start(self, x0: Any) -> Array:
        x, like = x0 if is_foreign(x0) else np.asarray(x0), self.objective.like
        self._check_kind(x)
        if like is not None and kind(x) != kind(like):
            raise ValueError(
                f"x0 is an array of {kind(x)}, but {type(self.objective).__name__} computes with arrays of "
                f"{kind(like)}; convert x0, or make the objective from arrays of the kind of x0."
            )
        if tuple(x.shape) != self.shape:
            raise ValueError(f"x0 has the shape {tuple(x.shape)}, but the variable has {self.shape}.")
        if is_complex(x.dtype) != is_complex(self.objective.dtype):
            kinds = ("complex", "real") if is_complex(x.dtype) else ("real", "complex")
            raise ValueError(
                f"x0 is {kinds[0]}, but the variable is {kinds[1]} ({self.objective.dtype}); convert one of them."
            )
        x = converted(x, self.objective.dtype_at(x), x)
        require_finite(x, "x0")
        tolerance = 1e-9 if np.finfo(host_dtype(x)).bits >= 64 else 1e-5
        if self.constraint.has_membership and not self.constraint.contains(x, tolerance):
            violation = self.constraint.violation(host(x))
            raise ValueError(
                f"x0 lies outside of {self.constraint!r} (relative violation {violation:.2g}); give a feasible point, "
                "or leave x0 out."
            )
        return x

    def _check_kind(self, x: Array) -> None:
        if is_foreign(x) and not self.constraint.any_array:
            raise ValueError(
                f"the oracle of {type(self.constraint).__name__} works on NumPy arrays only, but the variable is one "
                f"of {kind(x)}; give the objective and x0 as NumPy arrays, or choose a set such as L2Ball or L1Ball."
            )

    def engine(self, state: State) -> Engine:
        """Who carries out the iterations of this state."""
        if state.engine is None:
            solver = self._solver_at(state)
            state.engine = choose_engine(solver, state, solver._wanted_engine)
            state.engine_name = state.engine.name
        return state.engine

    def _solver_at(self, state: State) -> Solver:
        """The solver of the phase that the run is in."""
        return self if state.switch is None or self._end is None else self._end

    def eta(self, t: int) -> float:
        """eta_t, clipped to 1."""
        eta = min(1.0, float(self.decay(t)))
        if not eta > 0:
            raise ValueError(f"the decay gave eta = {eta!r} at t = {t}; it must be positive.")
        return eta

    def etas(self, first: int, count: int) -> Array:
        """eta_t for `count` iterations from `first` on; in one go for bsfw's own decays, which take arrays."""
        if isinstance(self.decay, Decay) and type(self.decay) in DECAYS.values():
            return np.minimum(1.0, np.broadcast_to(self.decay.unclipped(np.arange(first, first + count)), count))
        return np.array([self.eta(t) for t in range(first, first + count)])

    def step(self, state: State) -> Move | None:
        """One iteration, for loops of one's own. None, and x unchanged, if the estimate is not finite."""
        engine = self.engine(state)
        direction = engine.look(state)
        chosen = None if direction is None else engine.advance(state, direction)[1]
        engine.publish(state)
        state.m = engine.estimate(state)
        return chosen

    def exact_gap(self, state: State) -> float:
        """max_{s in C} <grad f(x), x - s>, counted apart from the algorithm."""
        return self._check(state, None).gap

    def _check(self, state: State, vertex: Vertex | None) -> Check:
        """The exact gap, and the error of an estimate with this vertex, nan without one; counted apart."""
        if isinstance(state.x, LowRank):
            from .factored.engine import exact_gap

            return Check(exact_gap(self, state), math.nan)
        with self.objective.counting(state.check_counts):
            gradient = self.objective.gradient(state.x)
        if not math.isfinite(norm(gradient)):
            return Check(math.nan, math.nan)
        state.check_lmo_calls += 1
        best = self.constraint.lmo(gradient).inner(gradient)
        error = math.nan if vertex is None else vertex.inner(gradient) - best
        return Check(inner(gradient, state.x) - best, error)

    def run(
        self,
        state: State,
        limits: Limits,
        schedule: Schedule,
        *,
        callback: Callback | None = None,
        verbose: bool = False,
        save: Callable[[State], None] | None = None,
    ) -> Result:
        """Iterate from `state` until a limit is reached; `save` is called on the checkpoint schedule and at the end."""
        if self.end_phase is not None and schedule.gap_every is None:
            raise ValueError("an end phase begins at an exact gap check; give gap_every to the Schedule.")
        progress, engine, saved = ProgressLine(verbose), self.engine(state), state.iteration
        while True:
            if save is not None and state.iteration > saved and schedule.checkpoint_due(state.iteration):
                engine.publish(state)
                save(state)
                saved = state.iteration
            row = self._empty_row(state)
            direction: Direction | None = None
            status = limits.used_up(state)
            if status is None:
                direction = engine.look(state)
                status = self._solver_at(state)._judge(direction, limits, row)
            if status is None and schedule.record_due(state.iteration):
                assert direction is not None
                engine.publish(state)
                vertex = None if self.end_phase is None else direction.vertex
                self._measure(state, row, schedule.gap_due(state.iteration), vertex)
                status = self._judge_row(row, limits)
                if status is None and self._switches(state, row, limits):
                    engine = self.engine(state)
                    continue  # from the same x^t, which the end phase looks at anew
                if status is None and progress.due():
                    progress.show(_line(state, row, limits))
                if status is None and callback is not None:
                    try:
                        callback(self._result(state, row))
                    except StopIteration:
                        status = Status.CALLBACK
            if status is not None:
                break
            assert direction is not None
            recorded = row["recorded"]
            eta, chosen = engine.advance(state, direction)
            if recorded:
                row.update(
                    rounds=direction.rounds,
                    eta=eta,
                    gamma=chosen.gamma,
                    alignment=direction.alignment,
                    boosted=chosen.boosted,
                )
                state.trace.append(row)
            engine.forward(state, schedule.next_event(state.iteration, limits.max_iter), limits)
        engine.publish(state)
        if save is not None and direction is None:
            # Only between two iterations: once an estimate is drawn, the state is no longer that of x^t.
            save(state)
        self._finish(state, row)
        state.trace.append(row)
        progress.close(_line(state, row, limits))
        result = self._result(state, row)
        result.update(success=status is Status.GAP_REACHED, status=status, message=status.message)
        return result

    def _judge(self, direction: Direction | None, limits: Limits, row: dict[str, Any]) -> Status | None:
        if direction is None or not math.isfinite(direction.norm):
            return Status.NUMERICAL_FAILURE
        row.update(gap=direction.gap, gap_exact=self.estimator.exact)
        if self.estimator.exact and limits.gap_tol is not None and direction.gap <= limits.gap_tol:
            return Status.GAP_REACHED
        return None

    @staticmethod
    def _judge_row(row: dict[str, Any], limits: Limits) -> Status | None:
        if not math.isfinite(row["value"]) or (row["gap_exact"] and not math.isfinite(row["gap"])):
            return Status.NUMERICAL_FAILURE
        if row["gap_exact"] and limits.gap_tol is not None and row["gap"] <= limits.gap_tol:
            return Status.GAP_REACHED
        return None

    def _switches(self, state: State, row: dict[str, Any], limits: Limits) -> bool:
        """Ask the rule at an exact gap check of the first phase; on a switch leave all but x^t and what it cost."""
        if self.end_phase is None or state.switch is not None or not row["gap_exact"]:
            return False
        check = Check(row["gap"], row["error"])
        state.checks = [*state.checks, check][-2 * WINDOW :]
        reason = reason_to_switch(state.checks, state.iteration, limits.max_iter)
        if reason is None:
            return False
        started = time.perf_counter()
        state.switch = Switch(state.iteration, reason, *check)
        state.m, state.x_previous, state.memory, state.engine, state.engine_name = None, None, {}, None, ""
        # The corrective engine reads sparse data by columns if the objective has them already. Made here they are
        # always there, whatever was asked of the objective before: a resumed run must end in the same bits.
        if not isinstance(getattr(self.objective, "A", None), np.ndarray):
            getattr(self.objective, "columns", None)
        state.seconds += time.perf_counter() - started
        return True

    def _measure(self, state: State, row: dict[str, Any], with_gap: bool, vertex: Vertex | None = None) -> None:
        """Put f(x), and the exact gap if asked and not known yet, into the row: off the clock, counted apart."""
        started = time.perf_counter()
        if not row["recorded"]:
            with self.objective.counting(state.check_counts):
                row.update(value=self.objective.value(state.x), recorded=True)
            row.update(self.objective.metrics(state.x))
        if with_gap and not row["gap_exact"] and self.objective.has_gradient:
            check = self._check(state, vertex)
            row.update(gap=check.gap, gap_exact=True)
            if vertex is not None:
                row["error"] = check.error
        state.check_seconds += time.perf_counter() - started

    def _finish(self, state: State, row: dict[str, Any]) -> None:
        self._measure(state, row, with_gap=True)
        if not math.isfinite(row["gap"]):
            row["gap_exact"] = False

    def _empty_row(self, state: State) -> dict[str, Any]:
        """A trace row of x^t with what it cost to reach it; value, gap and step are not known yet."""
        row: dict[str, Any] = {
            "iteration": state.iteration,
            "value": math.nan,
            "gap": math.nan,
            "gap_exact": False,
            "rounds": 0,
            "eta": math.nan,
            "gamma": math.nan,
            "alignment": math.nan,
            "boosted": False,
            "sample_gradients": state.counts.sample_gradients,
            "coordinate_gradients": state.counts.coordinate_gradients,
            "function_values": state.counts.function_values,
            "lmo_calls": state.lmo_calls,
            "seconds": state.seconds,
            "recorded": False,
        }
        if self.end_phase is not None:
            row.update(phase=self._solver_at(state).method, error=math.nan, switch="")
            if state.switch is not None and state.switch.iteration == state.iteration:
                row.update(error=state.switch.error, switch=state.switch.reason)
        return row

    def _result(self, state: State, row: dict[str, Any]) -> Result:
        t = state.iteration
        boostable = t if state.switch is None else state.switch.iteration
        switch = {} if self.end_phase is None else {"switch": state.switch}
        return Result(
            x=state.x,
            fun=row["value"],
            gap=row["gap"],
            gap_exact=row["gap_exact"],
            nit=t,
            nfev=state.counts.function_values,
            njev=state.counts.full_gradients,
            sample_gradients=state.counts.sample_gradients,
            coordinate_gradients=state.counts.coordinate_gradients,
            lmo_calls=state.lmo_calls,
            boosting_percentage=100.0 * state.boosted_steps / boostable
            if boostable and self.max_rounds > 1
            else math.nan,
            seconds=state.seconds,
            check_counts=state.check_counts,
            check_lmo_calls=state.check_lmo_calls,
            check_seconds=state.check_seconds,
            trace=state.trace,
            **self.engine(state).extras(),
            **switch,
        )


def _shape(objective: Objective, constraint: Constraint, shape: tuple[int, ...] | None) -> tuple[int, ...]:
    known = objective.shape or constraint.shape or shape
    if known is None:
        raise ValueError("neither the objective nor the constraint knows the shape of the variable; give x0=.")
    return tuple(known)


def _line(state: State, row: dict[str, Any], limits: Limits) -> str:
    kind = "gap" if row["gap_exact"] else "gap of the estimate"
    phase = f"{row['phase']}   " if "phase" in row else ""
    return (
        f"{phase}iteration {state.iteration}/{limits.max_iter}   f {row['value']:.8g}   {kind} {row['gap']:.3g}   "
        f"LMO calls {state.lmo_calls}   {state.seconds:.1f} s"
    )
