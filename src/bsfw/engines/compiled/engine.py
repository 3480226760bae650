"""The compiled engine: many iterations in one call, for linear models over sets whose vertices have few nonzeros."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._threads import cores
from ...boosting import Direction
from ...constraints._compiled_boost import compiled_set, direction_of
from ...estimators import LSVRG, SAG, SARAH, HeavyBall
from ...kernels import passes
from ...kernels import record as records
from ...kernels import run as kernels
from ...kernels._jit import Random, announced, random_of
from ...kernels.losses import for_loss
from ...kernels.margins import compile_image, image_of
from ...kernels.record import Work
from ...objectives.base import Counts
from ...objectives.linear_model import LinearModel
from ...plan import Plan
from ...state import Limits, State
from ...steps import LineSearch, Move, ShortStep
from ...vertices import Vertex
from ..base import Engine
from . import arrays
from .choices import Choices
from .lines import CompiledLine, compile_line
from .memory import check_memory
from .parts import ESTIMATES, MOVES

CHUNK_SECONDS = 0.05
"""About so long one call runs, so that max_seconds, Ctrl-C and progress are noticed."""
AGAIN = (records.GROW, records.FULL_PASS, records.COMBINE, records.FOLLOW, records.REFIT)
"""Reasons of a kernel to return that the engine sees to itself."""
COUNTERS = ("sample_gradients", "coordinate_gradients", "function_values", "full_gradients")
HUGE = int(np.iinfo(np.int64).max)
NO_BUDGETS = kernels.Budgets(-np.inf, HUGE, HUGE)


class CompiledEngine(Engine):
    """Runs the iterations of one `State`. The state's memory is the engine's own arrays (`arrays.fresh_memory`)."""

    name = "compiled"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        assert isinstance(plan.objective, LinearModel)
        self.objective, self.n = plan.objective, plan.dimension
        self.of = compiled_set(plan.constraint, self.n)
        self.choices = Choices(self.objective, plan.estimator, plan.step, self.of, self.n)
        self.searches = isinstance(plan.step, (ShortStep, LineSearch))
        self._chunk, self._threads = 1, cores()  # counted once: it reads files
        self._source: tuple[Any, Random] = (state.rng, random_of(state.rng))
        self._kept: tuple[int, Array, Array] = (0, np.empty(0), np.empty(0))
        fresh = arrays.fresh_memory(self.choices, state.x)
        if state.memory:
            check_memory(state.memory, fresh, self.choices.m, self.choices.population, self.of)
            # A file does not keep that the record is aligned, and Numba would compile everything once more.
            saved, state.memory["record"] = state.memory["record"], np.zeros(1, dtype=records.RECORD)
            state.memory["record"][:] = saved
        else:
            fresh["record"]["lmo_calls"] = state.lmo_calls
            for name in COUNTERS:
                fresh["record"][name] = getattr(state.counts, name)
            state.memory = fresh
        self.memory: dict[str, Any] = state.memory
        self.rule = arrays.make_rule(self.choices, self._pass_length if self.objective.intercept else 0)
        self.boost_rule = arrays.make_boost_rule(self.choices, plan.max_rounds, plan.min_gain)
        self._gram = arrays.make_gram(self.choices)
        self._work: Work | None = None
        self._phases: kernels.Phases | None = None
        self._renew()

    @property
    def record(self) -> Any:
        """Counters and numbers of the run, by name."""
        return self.memory["record"][0]

    def _renew(self) -> None:
        """After the arrays of the memory were replaced: the model, the scratch and the rule for them."""
        self._work = None
        self._listed = 0
        if not self.memory["margins"].size:
            held = sum(self.memory[name].nbytes for name in ("g", "base", "table"))
            self._listed = self.choices.blocks_of_lists(held)
        by_columns = bool(self.memory["margins"].size or self._gram["formed"].size or self._listed)
        self.model = arrays.make_model(self.choices, by_columns)

    def work(self) -> Work:
        """What kernels change; made when it is asked for, and given up by `publish`."""
        if self._work is None:
            self._work = arrays.make_work(self.choices, self.memory, self._gram, self._listed)
            touched = self.memory.get("touched", np.empty(0, dtype=np.int64))
            self.set = self.of.kernel(self.memory["x"].size, touched)
        return self._work

    def _rules(self) -> tuple[Any, Any, Any]:
        return self.rule, self.set, self.boost_rule

    def prepare(self, announce: Callable[[], None] | None = None) -> None:
        """Compile all that the run needs, or load it from the cache, so that no clock sees it. `announce` is called
        once, and only if something must be compiled, before it is."""
        if self._phases is not None:
            return
        with announced(announce):
            work, loss = self.work(), self.model.loss
            estimate = for_loss(ESTIMATES[type(self.plan.estimator)], loss)
            move = for_loss(MOVES[type(self.plan.step)], loss)
            self._phases = kernels.compile_phases(estimate, move, self.model, *self._rules(), work)
            kernels.compile_run(self._phases, self.model, *self._rules(), work)
            if work.estimate.table.size:
                passes.compile_passes(self.model, work)
            if self.choices.searches_lines:
                compile_line(self.model)
            if self.objective.intercept:
                compile_image(self.model)

    # Between Python and kernels.

    def _full_pass(self) -> None:
        """The slopes of all samples and the full gradient, where the kernel asked for them."""
        r, work, threads = self.record, self.work(), self._threads
        passes.slopes(self.model, work, work.support.previous if r["pass_at_previous"] else work.support.x, threads)
        passes.gradient(self.model, work.estimate.table, 1.0 / self.choices.m, work.estimate.g, threads)
        r["sample_gradients"] += self.choices.m
        r["full_gradients"] += 1

    def _fit(self) -> None:
        """The intercept at x."""
        r, support = self.record, self.work().support
        if self.model.columns.size:
            z = np.empty(self.choices.m)
            image_of(*self.model[3:6], support.coordinates, int(r["count"]), support.x, 1.0, z)
        else:
            z = self.objective.A @ self._dense()
        r["offset"] = self.objective.best_intercept(z, float(r["offset"]) if r["fitted_at"] >= 0 else None)
        r["fitted_at"] = r["iteration"]

    def _follow(self) -> None:
        """Begin to follow x by margins: the support has outgrown its lists, or the step its Gram matrix."""
        self.memory["margins"] = np.zeros(self.choices.m)
        self.record["margin_scale"] = 0.0  # which means that they must be formed first
        self._renew()

    def _random(self, rng: np.random.Generator) -> Random:
        """The addresses of the generator, which is kept along with them."""
        if self._source[0] is not rng:
            self._source = rng, random_of(rng)
        return self._source[1]

    def _schedules(self, first: int, count: int) -> tuple[Array, Array]:
        """eta_t and Heavy Ball's r_t for `count` iterations; kept, since a kernel may return in the midst of them."""
        start, etas, rates = self._kept
        if not start <= first <= first + count <= start + len(etas):
            estimator, etas, rates = self.plan.estimator, self.plan.etas(first, count), np.zeros(count)
            if isinstance(estimator, HeavyBall):
                rates = estimator.rate(np.arange(first, first + count), self.objective.quasar_rho)
            start, self._kept = first, (first, etas, rates)
        part = slice(first - start, first - start + count)
        return etas[part], rates[part]

    def _call(self, state: State, mode: int, count: int, budgets: kernels.Budgets = NO_BUDGETS) -> int:
        """Run kernels for at most `count` iterations; returns why they stopped."""
        self.prepare()
        etas, rates = self._schedules(state.iteration, count)
        state.x = None  # the compact arrays have it; lists of the support take its room
        onward = not isinstance(self.plan.estimator, (LSVRG, SARAH))
        self.work()
        try:
            status: int = for_loss(kernels.run, self.model.loss)(
                self._phases, self.model, *self._rules(), self.work(), onward, mode, etas, rates,
                self._random(state.rng), budgets,
            )  # fmt: skip
            if status == records.GROW:
                self._work = None  # before, not after: both together would be too much
                arrays.grow(self.memory, self.n)
            elif status == records.FULL_PASS:
                self._full_pass()
            elif status == records.COMBINE:  # SAG's table has the factor 1/m
                factor = 1.0 if isinstance(self.plan.estimator, SAG) else 1.0 / self.choices.m
                estimate = self.work().estimate
                passes.gradient(self.model, estimate.table, factor, estimate.g, self._threads)
            elif status == records.FOLLOW:
                self._follow()
            elif status == records.REFIT:
                self._fit()
        except BaseException:  # Ctrl-C: whoever catches it finds the present x
            self.publish(state)
            raise
        r = self.record
        state.iteration, state.lmo_calls = int(r["iteration"]), int(r["lmo_calls"])
        state.boosted_steps = int(r["boosted_steps"])
        for name in COUNTERS:
            setattr(state.counts, name, int(r[name]))
        return status

    def _vertex(self) -> Vertex:
        """s, the vertex of round 0."""
        slots = np.flatnonzero(self.memory["vertex"])
        slots = slots[np.argsort(self.memory["coordinates"][slots])]
        return self.of.vertex(self.memory["coordinates"][slots], self.memory["vertex"][slots], self.plan.shape)

    def _search(self, state: State, direction: Direction) -> None:
        """Let the step rule find the step, and leave it where the kernel takes it from."""
        rule, counts, r = self.plan.step, Counts(), self.record
        with self.objective.counting(counts):
            if isinstance(rule, LineSearch):
                work = self.work()
                z = r["margin_scale"] * work.margins.z

                def line(point: Array, factor: float) -> CompiledLine:
                    image, coordinates = work.margins.image, work.support.coordinates
                    image_of(*self.model[3:6], coordinates, int(r["count"]), point, factor, image)
                    return CompiledLine(self.objective, self.model, z + r["offset"], image - z)

                move = rule.search(
                    direction,
                    lambda: line(work.support.q, 1.0 / float(r["total"])),
                    lambda: line(work.support.vertex, 1.0),
                )
            else:
                move = rule(self.objective, state.x, direction, 0.0)
        r["gamma"], r["boosted"], r["length"] = move.gamma, move.boosted, move.length
        for name in COUNTERS:
            r[name] += getattr(counts, name)

    # What the loop asks.

    def _look(self, state: State) -> Direction | None:
        """The estimate and Boost; the vertices stay here."""
        while (status := self._call(state, records.LOOK, 1)) in AGAIN:
            pass
        if status in (records.NOT_FINITE, records.OUT_OF_RANGE):
            return None
        return direction_of(self.record, [], [], self._vertex())

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """The step."""
        if self.searches:
            self._search(state, direction)
        while self._call(state, records.ADVANCE, 1) in AGAIN:
            pass
        r = self.record
        return float(r["eta"]), Move(float(r["gamma"]), bool(r["boosted"]), float(r["length"]))

    def _forward(self, state: State, until: int, limits: Limits) -> Iterator[None]:
        """Iterate to x^until, or until something needs the solver's judgement."""
        if self.searches:
            return
        gap_tol = -np.inf if limits.gap_tol is None else float(limits.gap_tol)
        most = (HUGE if b is None else math.ceil(b) for b in (limits.max_gradients, limits.max_lmo_calls))
        budgets = kernels.Budgets(gap_tol, *most)
        while state.iteration < until:
            before, stop = time.perf_counter(), min(state.iteration + self._chunk, until)
            while state.iteration < stop:
                if self._call(state, records.RUN, stop - state.iteration, budgets) not in (records.DONE, *AGAIN):
                    return
            if time.perf_counter() - before < CHUNK_SECONDS / 2:
                self._chunk *= 2
            yield

    def publish(self, state: State) -> None:
        """Write x as an array into the state, for whoever looks at it, and free what can be made again. O(n)."""
        self._work = None
        state.x = self._dense().reshape(self.plan.shape)

    def _dense(self) -> Array:
        """x as an array. O(n)."""
        coordinates = self.memory["coordinates"][1 : self.record["count"] + 1]
        x = np.zeros(self.n, dtype=self.objective.dtype)
        x[coordinates] = self.memory["x"][1 : len(coordinates) + 1]
        return x

    def estimate(self, state: State) -> Array:
        """m as an array. O(n)."""
        m: Array = self.record["scale"] * self.memory["g"]
        return m.reshape(self.plan.shape)
