"""What a run shows of itself: rows of the trace, progress, callbacks, the result. Off the clock, and counted apart."""

from __future__ import annotations

import math
from collections.abc import Callable

from ._interrupts import Interrupts
from ._progress import ProgressLine, readable
from .boosting import Direction
from .engines import Engine
from .engines.starts import clock
from .objectives.linear_model import LinearModel
from .phases import WINDOW, Check, Switch, reason_to_switch
from .plan import Plan
from .results import PhaseCells, Result, Row, Status
from .state import Limits, Schedule, State
from .steps import Move
from .vertices import Vertex

Callback = Callable[[Result], object]
BUDGETS = (Status.ITERATIONS, Status.SECONDS, Status.GRADIENTS, Status.LMO_CALLS)
FAR = 1e-3
"""A gap of more than this fraction of |f| is far from the end."""
ROUNDING = 1e-13
"""A gap of this fraction of f at the start is one of rounding."""


class Recorder:
    """Judges and records the iterates of one run.

    Parameters
    ----------
    plan : Plan
        Of the run; of its first phase if there are two.
    state : State
    limits : Limits
    schedule : Schedule
    callback : callable, optional
        As in `minimize`.
    verbose : bool
    has_end_phase : bool
        Whether the run ends with another phase, so that the rule of the switch is asked.
    """

    def __init__(
        self,
        plan: Plan,
        state: State,
        limits: Limits,
        schedule: Schedule,
        callback: Callback | None = None,
        verbose: bool = False,
        has_end_phase: bool = False,
    ) -> None:
        self.state, self.limits, self.schedule, self.callback = state, limits, schedule, callback
        self._boosts = plan.max_rounds > 1
        self.progress, self.has_end_phase, self.interrupts = ProgressLine(verbose), has_end_phase, Interrupts()
        self._began, self._share, self._announced = clock(), limits.share_used(state), False
        self._row, self._measured, self._checked = Row(state.iteration), False, False
        self._look_again, self._scale = (math.inf, 0), math.nan

    def announce_compilation(self) -> None:
        """Say once why nothing moves yet."""
        if not self._announced:
            self.progress.compiling()
        self._announced = True

    def begin(self, engine: Engine) -> Status | None:
        """Begin the row of x^t with what it cost to reach it. Returns why the run ends here, if it does."""
        self._row, self._measured, self._checked = self._new_row(engine), False, False
        return Status.INTERRUPTED if self.stop() else self.limits.used_up(self.state)

    def judge(self, engine: Engine, direction: Direction | None) -> Status | Switch | None:
        """Why the run, or its phase, ends at x^t with what `look` found there; on a schedule record x^t and show it."""
        state, schedule, row = self.state, self.schedule, self._row
        if direction is None or not math.isfinite(direction.norm):
            return Status.NUMERICAL_FAILURE
        row.gap, row.gap_exact = direction.gap, engine.exact_gaps
        reached = self._end_of_gap(engine, row, self.limits.gap_tol, Status.GAP_REACHED)
        if reached is not None or not schedule.record_due(state.iteration):
            return reached
        engine.publish(state)
        self._measure(engine, row, schedule.gap_due(state.iteration), direction.vertex if self.has_end_phase else None)
        if not math.isfinite(row.value) or (row.gap_exact and not math.isfinite(row.gap)):
            return Status.NUMERICAL_FAILURE
        reached = self._end_of_gap(engine, row, self.limits.gap_tol, Status.GAP_REACHED)
        if reached is None:
            reached = self._natural_end(engine, row)
        if reached is not None:
            return reached
        return self._switch(row) or self._show(engine, row)

    def add_step(self, direction: Direction, eta: float, step: Move) -> None:
        """Complete the row of x^t, if it is a recorded one, by the step that was taken from it."""
        row = self._row
        if self._measured:
            row.rounds, row.alignment = direction.rounds, direction.alignment
            row.eta, row.gamma, row.boosted = eta, step.gamma, step.boosted
            self.state.trace.append(row)

    def finish(self, engine: Engine, status: Status) -> Result:
        """The result of a run that ends at x^t."""
        row = self._row
        engine.publish(self.state)
        row.gap_exact = self._checked
        self._measure(engine, row, with_gap=True)
        if not math.isfinite(row.gap):
            row.gap_exact = False
        self.state.trace.append(row)
        self.progress.close(self._line(engine, row))
        result = self._result(engine, row)
        result.update(success=status.success, status=status, message=_message(engine, status, row))
        return result

    def stop(self) -> bool:
        """Whether somebody wants an end."""
        return self.interrupts.pending

    def _end_of_gap(self, engine: Engine, row: Row, tolerance: float | None, reached: Status) -> Status | None:
        """`reached` if the exact gap is at most the tolerance; no end, or a numerical failure, if it only seems so.

        The gap that came with a direction follows from what a run keeps up to date; a verdict is given on one that is
        computed afresh from the gradient at x^t, with its rounding. If that is larger, the next look at it comes when
        the other has halved or the iterations have doubled.
        """
        if tolerance is None or not (row.gap_exact or engine.plan.estimator.exact) or not row.gap <= tolerance:
            return None
        if not self._checked and not (row.gap <= self._look_again[0] or self.state.iteration >= self._look_again[1]):
            return None
        seemed = row.gap
        if not self._checked:
            engine.publish(self.state)
            started = clock()
            self._check(engine, row, None)
            self.state.check_seconds += clock() - started
        if math.isnan(row.gap):  # of a gradient that is not finite, or negative beyond rounding
            return Status.NUMERICAL_FAILURE
        if row.gap <= tolerance:
            return reached
        self._look_again = 0.5 * seemed if seemed > 0.0 else -math.inf, 2 * self.state.iteration
        return None

    def _natural_end(self, engine: Engine, row: Row) -> Status | None:
        if self.limits.relative_gap is None or not engine.plan.estimator.exact:
            return None
        self._scale = abs(row.value) if math.isnan(self._scale) else self._scale
        tolerance = max(self.limits.relative_gap * abs(row.value), ROUNDING * self._scale)
        return self._end_of_gap(engine, row, tolerance, Status.CONVERGED)

    def _switch(self, row: Row) -> Switch | None:
        """Ask the rule at an exact gap check of the first phase."""
        state = self.state
        if row.phase is None or state.switch is not None or not row.gap_exact:
            return None
        check = Check(row.gap, row.phase.error)
        state.checks = [*state.checks, check][-2 * WINDOW :]
        reason = reason_to_switch(state.checks, state.iteration, self.limits.max_iter)
        return None if reason is None else Switch(state.iteration, reason, *check)

    def _show(self, engine: Engine, row: Row) -> Status | None:
        if self.progress.due():
            self.progress.show(self._line(engine, row))
        if self.callback is not None:
            try:
                self.callback(self._result(engine, row))
            except StopIteration:
                return Status.CALLBACK
        return None

    def _measure(self, engine: Engine, row: Row, with_gap: bool, vertex: Vertex | None = None) -> None:
        """Put f(x), and the exact gap if asked and not known yet, into the row."""
        state, objective = self.state, engine.plan.objective
        started = clock()
        if not self._measured:
            self._measured = True
            with objective.counting(state.check_counts):
                row.value = objective.value(state.x)
            row.metrics = objective.metrics(state.x)
        if with_gap and not row.gap_exact and objective.has_gradient:
            self._check(engine, row, vertex)
        state.check_seconds += clock() - started

    def _check(self, engine: Engine, row: Row, vertex: Vertex | None) -> None:
        """The exact gap, computed afresh, and the error of an estimate with this vertex."""
        check = engine.check(self.state, vertex)
        row.gap, row.gap_exact, self._checked = check.gap, True, True
        if vertex is not None and row.phase is not None:
            row.phase.error = check.error

    def _new_row(self, engine: Engine) -> Row:
        """The row of x^t with what it cost to reach it; value, gap and step are not known yet."""
        state, phase = self.state, None
        if self.has_end_phase:
            phase = PhaseCells(engine.plan.method)
            if state.switch is not None and state.switch.iteration == state.iteration:
                phase.error, phase.switch = state.switch.error, state.switch.reason
        return Row(
            iteration=state.iteration,
            sample_gradients=state.counts.sample_gradients,
            coordinate_gradients=state.counts.coordinate_gradients,
            function_values=state.counts.function_values,
            lmo_calls=state.lmo_calls,
            seconds=state.seconds,
            phase=phase,
        )

    def _result(self, engine: Engine, row: Row) -> Result:
        state, plan = self.state, engine.plan
        boostable = state.iteration if state.switch is None else state.switch.iteration
        return Result(
            x=state.x,
            fun=row.value,
            gap=row.gap,
            gap_exact=row.gap_exact,
            nit=state.iteration,
            nfev=state.counts.function_values,
            njev=state.counts.full_gradients,
            sample_gradients=state.counts.sample_gradients,
            coordinate_gradients=state.counts.coordinate_gradients,
            lmo_calls=state.lmo_calls,
            boosting_percentage=100.0 * state.boosted_steps / boostable if boostable and self._boosts else math.nan,
            seconds=state.seconds,
            check_counts=state.check_counts,
            check_lmo_calls=state.check_lmo_calls,
            check_seconds=state.check_seconds,
            method=plan.method,
            engine=engine.name,
            step=plan.step,
            decay=None if plan.step.deterministic else plan.decay,
            why=plan.why,
            trace=state.trace,
            **plan.objective.fields(state.x),
            **engine.extras(),
            **({"switch": state.switch} if self.has_end_phase else {}),
        )

    def _line(self, engine: Engine, row: Row) -> str:
        kind = "gap" if row.gap_exact else "gap of the estimate"
        phase = "" if row.phase is None else f"{row.phase.phase}   "
        return (
            f"{phase}iteration {row.iteration}/{self.limits.max_iter}   f {row.value:.8g}   {kind} {row.gap:.3g}   "
            f"LMO calls {row.lmo_calls}   {row.seconds:.1f} s{engine.plan.objective.progress()}{self._time_left()}"
        )

    def _time_left(self) -> str:
        """By the limit that is nearest; a gap that is reached earlier ends the run earlier."""
        done = self.limits.share_used(self.state) - self._share
        passed = clock() - self._began
        if passed < 1.0 or done <= 0.0:
            return ""
        return f"   at most {readable(passed * (1.0 - self._share - done) / done)} left"


def _message(engine: Engine, status: Status, row: Row) -> str:
    """Why the run ended, a default that its reader may not have meant, and what to try if it is far from the end."""
    plan, parts = engine.plan, [status.message]
    if not status.success:
        parts.append(plan.note)
        if status in BUDGETS and row.gap_exact and row.gap > FAR * abs(row.value):
            parts.append(f"The gap is still {row.gap:.1e}, f {row.value:.3g}: try {', '.join(_to_try(plan, status))}.")
    return " ".join(filter(None, parts))


def _to_try(plan: Plan, status: Status) -> list[str]:
    """What may bring a run nearer to its end, the most promising first."""
    found = []
    if plan.method == "boosted" and plan.estimator.exact:
        found.append("method='auto'")
    elif plan.method == "boosted" and isinstance(plan.objective, LinearModel) and plan.constraint.few_atoms:
        found.append("end_phase='corrective'")
    if plan.objective.quasar_rho is None and plan.method == "boosted":
        found.append("quasar_rho= (1.0 if f is convex)")
    return [*found, "more iterations" if status is Status.ITERATIONS else "a larger budget"]
