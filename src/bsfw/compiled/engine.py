"""The compiled engine: many iterations in one call, for linear models over sets whose vertices have few nonzeros."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from ..boosting import Direction, zero_squared
from ..constraints.balls import L1Ball
from ..constraints.simplex import Simplex
from ..constraints.sparse_sets import GroupBall, KSparse
from ..estimators import ESTIMATORS, HeavyBall
from ..estimators.base import BatchEstimator, CoordinateEstimator
from ..estimators.lsvrg import CoinEstimator
from ..estimators.sag import refresh_period
from ..objectives.base import Counts
from ..objectives.linear_model import LinearModel
from ..objectives.losses import Huber, LeastSquares, Logistic, SigmoidSquared, Tukey
from ..results import Status
from ..steps import ImageStep, LineSearch, Move, PaperStep, ShortStep
from ..vertices import OneHot, Sparse, Vertex
from . import kernels, layout, lists, losses, margins, passes
from .batches import GROUP, MOST_AT_ONCE
from .boosting import direction_of
from .lines import CompiledLine
from .memory import COMPACT, check_memory
from .onehot import BLOCK, LANES, RUN
from .sets import set_of
from .work import Model, Rule, Work

if TYPE_CHECKING:
    from ..solver import Solver
    from ..state import Limits, State

LOSSES = {
    Logistic: losses.LOGISTIC,
    LeastSquares: losses.LEAST_SQUARES,
    Huber: losses.HUBER,
    Tukey: losses.TUKEY,
    SigmoidSquared: losses.SIGMOID_SQUARED,
}
CODES = {name: code for code, name in enumerate(
    ("full", "sag", "saga", "l-svrg", "sarah", "heavy-ball", "sega", "jaguar", "zoja")
)}  # fmt: skip
MARGIN_REFRESH = 2000
"""Iterations after which margins that follow x are formed anew."""
WIDE, WIDE_ROWS = 256, 4
"""With n so many times the coordinates, or the entries of rows, that an iteration writes into m, Boost keeps bounds of
|m| instead of a sweep over m."""
FLOOR_SHARE = 0.7
"""Rows are written with no care for the bounds of what is below this share of the largest."""
GRAM_SHARE, WINDOW = 4, 2048
"""The Gram matrix of the support has at most one number for so many samples; a column is spread for it over so many
rows at a time."""
LISTED_SHARE = 16
"""With more than one entry in so many in the support, margins that follow x are cheaper than lists of the support."""
CHUNK_SECONDS = 0.05
"""About so long one call runs, so that max_seconds, Ctrl-C and progress are noticed."""


def supports(solver: Solver) -> bool:
    """Whether the triple (objective, constraint, estimator) and the step rule have compiled code.

    Exact types only: a subclass may have changed anything.
    """
    return (
        type(solver.objective) in LOSSES
        and type(solver.constraint) in (L1Ball, Simplex, KSparse, GroupBall)
        and type(solver.estimator) is ESTIMATORS.get(solver.estimator.name)
        and type(solver.step_rule) in (PaperStep, ImageStep, ShortStep, LineSearch)
    )


class CompiledEngine:
    """Runs the iterations of one `State`. The state's memory is the engine's own arrays (`work.Work`)."""

    name = "compiled"

    def __init__(self, solver: Solver, state: State) -> None:
        assert isinstance(solver.objective, LinearModel)
        self.solver, self.objective = solver, solver.objective
        self.n, self.m = int(np.prod(solver.shape)), self.objective.n_samples
        self.coordinate = isinstance(solver.estimator, CoordinateEstimator)
        self._small = self.n**2 <= 2 * self.m  # the Gram matrix takes no more room than two numbers a sample
        self.set = set_of(solver.constraint, self.n)
        self.rule = self._rule()
        self._uses_image = isinstance(solver.step_rule, LineSearch)
        self._chunk = 1
        self._kept: tuple[int, Array, Array] = (0, np.empty(0), np.empty(0))
        fresh = self._fresh(state)
        if state.memory:
            check_memory(state.memory, fresh, self.m, self.rule.population, self.set)
        else:
            state.memory = fresh
        self.memory: dict[str, Any] = state.memory
        self._scratch: dict[str, Any] = {}
        self._gram = self._gram_room()
        self.model = self._model()

    def _rule(self) -> Rule:
        solver, estimator = self.solver, self.solver.estimator
        size, refresh = 0, MARGIN_REFRESH
        population = self.m
        if isinstance(estimator, CoordinateEstimator):
            size, population = estimator.size(self.n), self.n
        elif isinstance(estimator, BatchEstimator):
            size = estimator.batch(self.m)
            refresh = refresh_period(self.m, size)
        constraint: Any = solver.constraint
        own = self.set.rule()
        return Rule(
            **own,
            radius=constraint.radius,
            max_rounds=solver.max_rounds,
            min_gain=solver.min_gain,
            zero=zero_squared(np.float64),
            estimator=CODES[estimator.name],
            size=size,
            population=population,
            probability=estimator.p(self.m) if isinstance(estimator, CoinEstimator) else 0.0,
            difference=float(getattr(estimator, "step", 0.0)),
            at_current=getattr(estimator, "point", "") == "current",
            zeros=getattr(estimator, "table", "") == "zeros",
            refresh=refresh,
            image=isinstance(solver.step_rule, ImageStep),
            folds=self._folds(size),
            bounded=own["kind"] == layout.L1 and self._writes_little(size),
            floor=0.0 if self.coordinate else FLOOR_SHARE,
            exact=estimator.exact,
            searches=isinstance(solver.step_rule, (ShortStep, LineSearch)),
        )

    def _follows(self) -> bool:
        """Whether margins follow x from the start: where steps or estimates by columns read them, or full passes do."""
        return self.coordinate or self._uses_image or (self.solver.estimator.exact and self._columns_pay())

    def _columns_pay(self) -> bool:
        """Whether slopes by the columns of the support (lists of them, later margins that follow x) are cheaper than
        slopes by the rows of the batch.

        Decided by counting: a step adds some columns, as long as those that many rows have (SARAH also copies the
        margins); without them the rows of the batch are read.
        """
        A = self.objective.A
        if isinstance(A, np.ndarray):
            return False
        popular, others = self.set.columns()
        step = popular * self.objective.column_length + others * A.nnz / self.n
        if self.solver.estimator.name == "sarah":
            step += self.m
        return step < (self.rule.size or self.m) * A.nnz / self.m

    def _follow(self) -> None:
        """Begin to follow x by margins: the support has outgrown its lists, or the step its Gram matrix."""
        self._scratch = {}  # lists are of no use any more
        self.memory["margins"] = np.zeros(self.m)
        self.memory["real"][layout.MARGIN_SCALE] = 0.0  # which means that they must be formed first
        self.model = self._model()
        if self.memory["whole"][layout.PHASE] == layout.MOVE:
            margins.form_margins(self.model, self._work())

    def _blocks_of_lists(self) -> int:
        """Blocks of nodes for the lists of the support, 0 where there are none.

        Lists are for batches that are worth a copy of the data in columns, until margins follow x, as far as there is
        room for them: three vectors of n and three of m are what a run may take. x itself is one only when published.
        """
        rule, memory, n, m = self.rule, self.memory, self.n, self.m
        if self.coordinate or not rule.size or memory["margins"].size or not self._columns_pay():
            return 0
        held = memory["g"].nbytes + memory["base"].nbytes + memory["everyone"].nbytes
        held += 4 * (n + m) + (n + m) // 4 + (10 * m if rule.image else 0)  # slots, heads; sets; image and Gram matrix
        room = max(0, 24 * (n + m) - held) // (4 * lists.BLOCK + 12)
        entries = self.objective.A.nnz / LISTED_SHARE
        return int(min(room, entries / lists.BLOCK + entries / self.objective.column_length))  # a column begins a block

    def _folds(self, batch: int) -> bool:
        """Whether SAGA and L-SVRG form m by a pass over n, rather than by adding the batch and taking it out again.

        Decided by counting: the pass costs n, taking out costs the nonzeros of the batch; the pass needs one more
        vector of n.
        """
        if self.solver.estimator.name not in ("saga", "l-svrg"):
            return False
        A = self.objective.A
        entries = batch * (A.size if isinstance(A, np.ndarray) else A.nnz) / self.m
        return self.n <= min(2 * entries, 3 * self.m)

    def _writes_little(self, size: int) -> bool:
        """Whether an iteration writes so little into m that bounds of |m| cost less than a sweep over m."""
        A = self.objective.A
        if self.coordinate or isinstance(A, np.ndarray):
            return self.coordinate and self.n >= WIDE * size
        return 0 < WIDE_ROWS * size * A.nnz <= self.n * self.m and not self._folds(size)

    def _model(self) -> Model:
        objective = self.objective
        A = objective.A
        dense = isinstance(A, np.ndarray)
        by_columns = self.memory["margins"].size or self._gram["formed"].size or self._blocks_of_lists()
        if dense:
            rows: tuple[Any, ...] = (A, None, None)
            columns = (objective.columns.T if by_columns else A[:0], None, None)
        else:
            rows = (A.data, A.indices, A.indptr)
            if by_columns or self.rule.estimator in (layout.FULL, layout.LSVRG, layout.SARAH):
                csc = objective.columns
                columns = (csc.data, csc.indices, csc.indptr)
            else:
                columns = (A.data[:0], A.indices[:0], A.indptr[:0])
        weight = objective.sample_weight
        signs = objective.y if isinstance(objective, Logistic) else objective.y[:0]
        return Model(
            data=rows[0],
            indices=rows[1],
            indptr=rows[2],
            columns=columns[0],
            column_indices=columns[1],
            column_indptr=columns[2],
            y=np.asarray(objective.y, dtype=np.float64),
            signs=np.asarray(signs, dtype=np.int8),
            sample_weight=np.empty(0) if weight is None else np.asarray(weight, dtype=np.float64),
            loss=LOSSES[type(objective)],
            parameter=float(objective._parameters()[0]) if objective._parameters() else 0.0,
        )

    def _fresh(self, state: State) -> dict[str, Any]:
        x = np.asarray(state.x, dtype=np.float64).ravel()
        support = self.set.support(x)
        capacity = self._capacity(2 * len(support) + 64)
        compact = np.zeros(capacity)
        compact[1 : len(support) + 1] = x[support]
        coordinates = np.zeros(capacity, dtype=np.int64)
        coordinates[1 : len(support) + 1] = support
        whole, real = np.zeros(layout.WHOLE_SIZE, dtype=np.int64), np.zeros(layout.REAL_SIZE)
        whole[layout.COUNT] = len(support)
        whole[layout.LMO_CALLS] = state.lmo_calls
        for name, position in _COUNTERS.items():
            whole[position] = getattr(state.counts, name)
        real[layout.SCALE] = real[layout.MARGIN_SCALE] = 1.0
        code = self.rule.estimator
        keep_previous, follows = code in (layout.LSVRG, layout.SARAH), self._follows()
        return {
            "whole": whole,
            "real": real,
            "g": np.zeros(self.n),
            "coordinates": coordinates,
            "x": compact,
            "previous": np.zeros(capacity if keep_previous else 0),
            "q": np.zeros(capacity),
            "everyone": np.zeros(0 if self.coordinate or code == layout.HEAVY_BALL else self.m),
            "margins": np.zeros(self.m if follows else 0),
            "batch": np.zeros(self.rule.size, dtype=np.uint32),
            "change": np.zeros(self.rule.size if self._keeps_changes() else 0),
            "base": np.zeros(self.n if self.rule.folds else 0),
            **self.set.arrays(support, capacity),
        }

    def _gram_room(self) -> dict[str, Any]:
        """The Gram matrix for steps that ask for lengths in the image (`gram`), to be formed where there are many
        columns: not a part of the state, for it can be formed again."""
        side = math.isqrt(self.m // GRAM_SHARE) if self.rule.image and not self._small else 0
        gram = self.objective.gram if self.rule.image and self._small else np.zeros((side, side))
        return {
            "gram": gram,
            "formed": np.zeros(1 if side else 0, dtype=np.int64),
            "cursors": np.zeros(side, dtype=np.uint64),
            "window": np.zeros(WINDOW if side else 0),
        }

    def _has_room(self) -> bool:
        """Whether steps in the image may take one more vector of m, which saves them one of two passes over the
        columns of their vertices: three vectors of n and three of m are what a run may take."""
        return self.rule.image and not self._small and self.n > self.m

    def _keeps_changes(self) -> bool:
        """Whether an iteration asks what the one before it changed."""
        code = self.rule.estimator
        return code == layout.SEGA or (code in (layout.SAGA, layout.LSVRG) and not self.rule.folds)

    def _capacity(self, wanted: int) -> int:
        """Length of the compact arrays: slot 0, the coordinates, room for `look` to see that there is some, zeros."""
        return min(wanted, self.n) + 3 + LANES

    def _work(self) -> Work:
        if not self._scratch:
            count = self.memory["whole"][layout.COUNT]
            slots = np.zeros(self.n, dtype=np.uint32)
            slots[self.memory["coordinates"][1 : count + 1]] = np.arange(1, count + 1)
            self.memory["whole"][layout.BOUNDED] = 0
            blocks = np.zeros(-(-self.n // BLOCK), dtype=np.int64)
            at_once = max(GROUP, min(self.rule.size, MOST_AT_ONCE))
            listed = self._blocks_of_lists()
            self._scratch = {
                "slots": slots,
                "image": np.zeros(self.m if self._uses_image or self._has_room() else 0),
                "blocks": blocks,
                "tops": np.zeros(-(-blocks.size // RUN) if self.rule.bounded else 0, dtype=np.int64),
                "keys": blocks[: blocks.size if self.rule.bounded else 0].view(np.float64),
                "marked": np.zeros(self.rule.population // 64 + 1 if self.rule.size else 0, dtype=np.uint64),
                "bits": np.zeros(self.n // 64 + 2 if self.rule.bounded else 0, dtype=np.uint64),
                "heads": np.zeros(self.m if listed else 0, dtype=np.uint32),
                "links": np.zeros(listed * lists.BLOCK, dtype=np.uint32),
                "owners": np.zeros(listed, dtype=np.uint32),
                "shifts": np.zeros(listed, dtype=np.uint64),
                "listed": np.zeros(2, dtype=np.int64),
                "pair": np.zeros((2, len(self._gram["gram"]))),
                "here": np.zeros(at_once),
                "there": np.zeros(at_once),
                "labels": np.zeros(at_once),
                "samples": np.zeros(at_once, dtype=np.uint32),
                "nodes": np.zeros(at_once, dtype=np.uint32),
                "log": self.set.log,
            }
        size = self.memory["x"].size
        places = self.memory["coordinates"] if self._small else np.arange(size)
        return Work(
            held=np.zeros(size), residual=np.zeros(size), places=places, **self.memory, **self._scratch, **self._gram,
            **self.set.scratch(size),
        )  # fmt: skip

    def _grow(self) -> None:
        capacity = self._capacity(3 * self.memory["x"].size // 2)
        for name in COMPACT:
            old = self.memory.get(name)
            if old is not None and old.size:
                self.memory[name] = np.zeros(capacity, dtype=old.dtype)
                self.memory[name][: old.size] = old

    def _full_pass(self) -> None:
        """The slopes of all samples and the full gradient, where the kernel asked for them."""
        memory, whole = self.memory, self.memory["whole"]
        x = memory["previous"] if whole[layout.PASS_AT_PREVIOUS] else memory["x"]
        passes.slopes(self.model, self._work(), x)
        passes.gradient(self.model, memory["everyone"], memory["g"])
        whole[layout.SAMPLE_GRADIENTS] += self.m
        whole[layout.FULL_GRADIENTS] += 1

    def _schedules(self, first: int, count: int) -> tuple[Array, Array]:
        """eta_t and Heavy Ball's r_t for `count` iterations; kept, since a kernel may return in the midst of them."""
        start, etas, rates = self._kept
        if not start <= first <= first + count <= start + len(etas):
            estimator, etas, rates = self.solver.estimator, self.solver.etas(first, count), np.zeros(count)
            if isinstance(estimator, HeavyBall):
                rates = estimator.rate(np.arange(first, first + count), self.objective.quasar_rho)
            start, self._kept = first, (first, etas, rates)
        part = slice(first - start, first - start + count)
        return etas[part], rates[part]

    def _call(
        self, state: State, mode: int, count: int, gap_tol: float = -np.inf, budgets: tuple[int, int] = (0, 0)
    ) -> int:
        """Run kernels for at most `count` iterations, on the clock; returns why they stopped."""
        started, first = time.perf_counter(), state.iteration
        etas, rates = self._schedules(first, count)
        if self._blocks_of_lists():
            state.x = np.empty(0, dtype=self.objective.dtype)  # lists take its room, `publish` makes it again
        try:
            status: int = kernels.run(
                self.model, self.rule, self._work(), mode, etas, rates, state.rng, gap_tol, *budgets
            )
            if status == layout.GROW:
                self._grow()
            elif status == layout.FULL_PASS:
                self._full_pass()
            elif status == layout.FOLLOW:
                self._follow()
        except BaseException:  # Ctrl-C: whoever catches it finds the present x
            self.publish(state)
            raise
        whole = self.memory["whole"]
        state.iteration = int(whole[layout.ITERATION])
        state.lmo_calls = int(whole[layout.LMO_CALLS])
        state.boosted_steps = int(whole[layout.BOOSTED_STEPS])
        for name, position in _COUNTERS.items():
            setattr(state.counts, name, int(whole[position]))
        state.seconds += time.perf_counter() - started
        return status

    # What the solver asks.

    def look(self, state: State) -> Direction | None:
        """The estimate and Boost; the vertices stay here."""
        while (status := self._call(state, layout.LOOK, 1)) in _AGAIN:
            pass
        if status == layout.NOT_FINITE:
            return None
        return direction_of(self.memory["whole"], self.memory["real"], [], [], self._vertex())

    def _vertex(self) -> Vertex:
        """s, the vertex of round 0."""
        if "vertex" not in self.memory:
            whole, real = self.memory["whole"], self.memory["real"]
            return OneHot(int(whole[layout.VERTEX]), float(real[layout.VALUE]), self.solver.shape)
        slots = np.flatnonzero(self.memory["vertex"])
        slots = slots[np.argsort(self.memory["coordinates"][slots])]
        return Sparse(self.memory["coordinates"][slots], self.memory["vertex"][slots], self.solver.shape)

    def advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """The step."""
        if self.rule.searches:
            self._search(state, direction)
        self._call(state, layout.ADVANCE, 1)
        real, boosted = self.memory["real"], bool(self.memory["whole"][layout.BOOSTED])
        return float(real[layout.ETA]), Move(float(real[layout.GAMMA]), boosted, float(real[layout.LENGTH]))

    def _search(self, state: State, direction: Direction) -> None:
        """Let the step rule find the step, and leave it where the kernel takes it from."""
        started, rule, counts = time.perf_counter(), self.solver.step_rule, Counts()
        with self.objective.counting(counts):
            if isinstance(rule, LineSearch):
                work = self._work()
                z = work.real[layout.MARGIN_SCALE] * work.margins

                def along() -> CompiledLine:
                    margins.image_of(self.model, work, work.q, 1.0 / work.real[layout.LAMBDA], work.image)
                    return CompiledLine(self.objective, self.model, z, work.image - z)

                def towards_vertex() -> CompiledLine:
                    if work.vertex is None:
                        margins.image_of_vertex(self.model, work, work.image)
                    else:
                        margins.image_of(self.model, work, work.vertex, 1.0, work.image)
                    return CompiledLine(self.objective, self.model, z, work.image - z)

                move = rule.search(direction, along, towards_vertex)
            else:
                move = rule(self.objective, state.x, direction, 0.0)
        whole, real = self.memory["whole"], self.memory["real"]
        real[layout.GAMMA], whole[layout.BOOSTED], real[layout.LENGTH] = move.gamma, move.boosted, move.length
        for name, position in _COUNTERS.items():
            whole[position] += getattr(counts, name)
        state.seconds += time.perf_counter() - started

    def forward(self, state: State, until: int, limits: Limits) -> None:
        """Iterate to x^until, or until something needs the solver's judgement."""
        if self.rule.searches:
            return
        huge = np.iinfo(np.int64).max
        gap_tol = -np.inf if limits.gap_tol is None else limits.gap_tol
        gradients, calls = (huge if b is None else math.ceil(b) for b in (limits.max_gradients, limits.max_lmo_calls))
        while state.iteration < until and limits.used_up(state) is not Status.SECONDS:
            before, stop = state.seconds, min(state.iteration + self._chunk, until)
            while state.iteration < stop:
                status = self._call(state, layout.RUN, stop - state.iteration, gap_tol, (gradients, calls))
                if status not in (layout.DONE, *_AGAIN):
                    return
            if state.seconds - before < CHUNK_SECONDS / 2:
                self._chunk *= 2

    def boost_again(self, times: int = 1) -> int:
        """Boost at the present x and m so many times more, without a trace in the run; for benchmarks. Returns K_t."""
        work, calls = self._work(), self.memory["whole"][layout.LMO_CALLS]
        kernels.find_again(self.rule, work, times)
        self.memory["whole"][layout.LMO_CALLS] = calls
        return int(self.memory["whole"][layout.ROUNDS])

    def publish(self, state: State) -> None:
        """Write x as an array into the state, for whoever looks at it, and free what can be made again. O(n)."""
        self._scratch = {}
        whole = self.memory["whole"]
        coordinates = self.memory["coordinates"][1 : whole[layout.COUNT] + 1]
        x = np.zeros(self.n, dtype=self.objective.dtype)
        x[coordinates] = self.memory["x"][1 : len(coordinates) + 1]
        state.x = x.reshape(self.solver.shape)

    def estimate(self, state: State) -> Array:
        """m as an array. O(n)."""
        return (self.memory["real"][layout.SCALE] * self.memory["g"]).reshape(self.solver.shape)

    def extras(self) -> dict[str, Any]:
        return {}


_AGAIN = (layout.GROW, layout.FULL_PASS, layout.FOLLOW)
"""Reasons of a kernel to return that the engine sees to itself."""
_COUNTERS = {
    "sample_gradients": layout.SAMPLE_GRADIENTS,
    "coordinate_gradients": layout.COORDINATE_GRADIENTS,
    "function_values": layout.FUNCTION_VALUES,
    "full_gradients": layout.FULL_GRADIENTS,
}
