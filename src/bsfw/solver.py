"""Boosted stochastic Frank-Wolfe: the loop, written once. `init`, `step`, `run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ._refusals import Refusing
from ._sampling import generator
from ._threads import one_blas_thread
from .auto import choose_method
from .constraints.base import Constraint
from .decays import Decay
from .engines import Engine, engine_type
from .estimators import Estimator
from .kernels import announced
from .objectives.base import Objective
from .phases import END_PHASES, Switch
from .plan import Plan, make_plan
from .recorder import Callback, Recorder
from .results import Interrupted, Result, Status
from .state import Limits, Schedule, State
from .steps import Move, Step

Save = Callable[[State, dict[str, Any]], None]
"""Takes a state between two iterations, and its arrays by name."""


class Solver(Refusing):
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
    foreign : bool
        Whether x0 will be an array of PyTorch or JAX, which narrows what "auto" can take.
    method : str
        How directions are chosen: "boosted" as in the paper, or "auto" by `bsfw.auto.choose_method`; all others
        ("corrective", "away", "pairwise", "blended-pairwise", "conjugate", "biconjugate", "block-cyclic",
        "block-random", "block-gap") need the exact gradient.
    lazy : bool
        As in `minimize`.
    end_phase : {"corrective"}, optional
        The method with which `run` ends a boosted run with a stochastic estimator: at an exact gap check (`gap_every`
        of the schedule) where `bsfw.phases.reason_to_switch` finds a reason, it goes on from the same x^t with the
        exact gradient. `step` does not switch.
    engine : {"auto", "reference", "compiled", "factored"}
        Who carries out the iterations: the fastest that fits, or the algorithm as printed.

    Attributes
    ----------
    plan : Plan
        What the run is, checked.
    end : Plan or None
        What its end phase is.
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
        foreign: bool = False,
        method: str = "boosted",
        lazy: bool = False,
        end_phase: str | None = None,
        engine: str = "auto",
    ) -> None:
        why = ""
        if method == "auto":
            asked = decay != "auto" or step != "auto" or max_rounds is not None or end_phase is not None
            method, step, why = choose_method(objective, constraint, estimator, shape, step, asked, foreign, lazy)
        self.plan = make_plan(
            objective, constraint, estimator, max_rounds=max_rounds, min_gain=min_gain, decay=decay, step=step,
            horizon=horizon, shape=shape, method=method, why=why, lazy=lazy,
        )  # fmt: skip
        self._wanted = engine
        first = engine_type(self.plan, engine)
        self.end = None if end_phase is None else _end_plan(self.plan, end_phase, first)
        self._engines: WeakKeyDictionary[State, Engine] = WeakKeyDictionary()

    @one_blas_thread
    def init(self, x0: Any = None, rng: np.random.Generator | int | None = None) -> State:
        """The state at x^0 = lmo(m_init), counted, or at the given `x0`.

        m_init is the gradient at the origin if that lies in C, else at the set's start vertex; boosted and vanilla
        runs start from the same point. The corrective method starts at the origin itself if that lies in C (its first
        iteration finds many atoms there), or on tall data at the solution for some of the samples. The run goes on with
        arrays of the kind and on the device of `x0`, else of the objective's `like`.
        """
        return engine_type(self.plan, self._wanted).start(self.plan, x0, generator(rng))

    def engine(self, state: State) -> Engine:
        """Who carries out the iterations of this state in its present phase."""
        found = self._engines.get(state)
        if found is None or found.name != state.engine_name:
            plan = self.plan if state.switch is None or self.end is None else self.end
            wanted = state.engine_name or ("auto" if plan is self.end else self._wanted)
            found = self._engines[state] = engine_type(plan, wanted)(plan, state)
            state.engine_name = found.name
        return found

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
        return self.engine(state).check(state).gap

    def run(
        self,
        state: State,
        limits: Limits,
        schedule: Schedule,
        *,
        callback: Callback | None = None,
        verbose: bool = False,
        save: Save | None = None,
    ) -> Result:
        """Iterate from `state` until a limit is reached; `save` is called on the checkpoint schedule and at the end.

        A run with an end phase is one plan, then another: what `_iterate` says is why the first of them ended. After
        Ctrl-C the iteration is completed, the state saved, and `Interrupted` raised with the result.
        """
        if self.end is not None and schedule.gap_every is None:
            raise ValueError("an end phase begins at an exact gap check; give gap_every to the Schedule.")
        recorder = Recorder(self.plan, state, limits, schedule, callback, verbose, self.end is not None)
        with one_blas_thread, recorder.interrupts.watched(), announced(recorder.announce_compilation):
            while isinstance(ended := self._iterate(state, limits, schedule, recorder, save), Switch):
                state.begin_phase(ended)
            result = recorder.finish(self.engine(state), ended)
        if ended is Status.INTERRUPTED:
            raise Interrupted(result)
        return result

    def _iterate(
        self, state: State, limits: Limits, schedule: Schedule, recorder: Recorder, save: Save | None
    ) -> Status | Switch:
        """Algorithm BSFW (Full) from x^t on, to the end of the run or of its phase, and why it ended."""
        engine, saved = self.engine(state), state.iteration
        engine.prepare(recorder.announce_compilation)
        while (ended := recorder.begin(engine)) is None:
            if save is not None and state.iteration > saved and schedule.checkpoint_due(state.iteration):
                save(state, engine.save(state))
                saved = state.iteration
            direction = engine.look(state)  # lines 3-30: m^t, s^t and the boosted direction
            stopped = recorder.judge(engine, direction)
            if stopped is not None:
                return stopped
            assert direction is not None
            eta, chosen = engine.advance(state, direction)  # lines 31-38: gamma_t and x^{t+1}
            recorder.add_step(direction, eta, chosen)
            until = schedule.next_event(state.iteration, limits.max_iter)
            engine.forward(state, until, limits, recorder.stop)
        if save is not None:  # only between two iterations: once an estimate is drawn, the state is not that of x^t
            save(state, engine.save(state))
        return ended


def _end_plan(plan: Plan, end_phase: str, first: type[Engine]) -> Plan:
    """The plan of the end phase, made before the run, so that what cannot work is said before it."""
    if end_phase not in END_PHASES:
        raise ValueError(f"end_phase must be one of {', '.join(END_PHASES)}, or None, got {end_phase!r}.")
    if plan.method != "boosted":
        raise ValueError(f"an end phase follows method='boosted', but method is {plan.method!r}; leave one out.")
    if plan.estimator.exact:
        raise ValueError(
            "an end phase follows a stochastic estimator such as bsfw.SAGA(batch_size=100), but the estimator is "
            f"{type(plan.estimator).__name__}; with the exact gradient use method={end_phase!r} from the start."
        )
    if not first.on_arrays:
        raise ValueError(
            f"end_phase={end_phase!r} works on arrays, but this run keeps x in factored form; leave end_phase out."
        )
    try:
        end = make_plan(plan.objective, plan.constraint, shape=plan.shape, method=end_phase)
        second = engine_type(end)
    except ValueError as error:
        raise ValueError(f"end_phase={end_phase!r} does not fit this problem: {error}") from None
    if not second.from_any_start:
        raise ValueError(
            f"end_phase={end_phase!r} cannot go on from another method's x on this problem: use method={end_phase!r} "
            "from the start, without an estimator."
        )
    return end
