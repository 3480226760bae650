"""What happened: status, trace and result of a run."""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeResult

from ._arrays import Array
from ._extras import extra
from ._files import atomic_write, read_npz
from ._refusals import Refusing

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


class Status(IntEnum):
    """Why a run ended. `GAP_REACHED` and `CONVERGED`, on an exact gap, are success."""

    GAP_REACHED = 0
    ITERATIONS = 1
    SECONDS = 2
    GRADIENTS = 3
    LMO_CALLS = 4
    CALLBACK = 5
    NUMERICAL_FAILURE = 6
    CONVERGED = 7
    INTERRUPTED = 8

    @property
    def success(self) -> bool:
        return self in (Status.GAP_REACHED, Status.CONVERGED)

    @property
    def message(self) -> str:
        return _MESSAGES[self]


_MESSAGES = {
    Status.GAP_REACHED: "The exact Frank-Wolfe gap is at most gap_tol.",
    Status.ITERATIONS: "The number of iterations reached max_iter.",
    Status.SECONDS: "The time spent in the algorithm reached max_seconds.",
    Status.GRADIENTS: "The number of gradients reached max_gradients.",
    Status.LMO_CALLS: "The number of LMO calls reached max_lmo_calls.",
    Status.CALLBACK: "The callback raised StopIteration.",
    Status.NUMERICAL_FAILURE: "A value, a gradient or a gap is not finite, or a gap negative; x is the last iterate.",
    Status.CONVERGED: "The exact Frank-Wolfe gap is at most the relative tolerance times |f|, or at rounding level.",
    Status.INTERRUPTED: "Ctrl-C; x is the last iterate.",
}


class Interrupted(Refusing, KeyboardInterrupt):
    """Ctrl-C ended a run, between two iterations. A loop over runs ends too, unless it catches this.

    Attributes
    ----------
    result : Result
        What the run had found, with status `INTERRUPTED`. The checkpoint, if there is one, was written.
    path : CompletionPath or None
        From `completion_path`: the runs that had ended before this one.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(f"interrupted at iteration {result.nit}; the exception's .result has what was found so far")
        self.result = result
        self.path: Any = None


class Result(OptimizeResult):
    """Outcome of `minimize`: SciPy's `OptimizeResult` with a few more fields.

    Attributes
    ----------
    x : array
        The last iterate; feasible by construction. Of the kind, dtype and device of x0 or of the objective's data.
    fun : float
        f(x).
    gap : float
        Frank-Wolfe gap at x, an upper bound of f(x) - min f if f is convex.
    gap_exact : bool
        Whether `gap` is that of the exact gradient, told by `Constraint.lower_bound` where the oracle is not exact.
    success : bool
        True only if the exact gap reached gap_tol, or without one the run's natural end.
    status : Status
        Why the run ended.
    message : str
        The same in a sentence, and what else a reader should know.
    method, engine, step, decay
        What ran: the names of method and engine, the step rule, and the decay of eta (None where the method has none).
    why : str
        Why these, in a sentence.
    nit : int
        Iterations.
    nfev, njev : int
        Function values and full gradients evaluated by the algorithm.
    sample_gradients, coordinate_gradients, lmo_calls : int
        What else the algorithm asked, counted as evaluated, the start included.
    boosting_percentage : float
        Share of the iterations that stepped along d~ (gamma_t < 1: paper, eq. boosting_per), before the end phase if
        there was one; nan for vanilla Frank-Wolfe and the methods that do not boost.
    seconds : float
        Time in the algorithm, metrics excluded.
    check_counts : Counts
        What metrics and exact gap checks asked, counted apart.
    check_lmo_calls : int
        LMO calls of the exact gap checks.
    check_seconds : float
        Time of metrics and checks.
    trace : Trace
        The recorded iterations.
    active_set : ActiveSet
        Atoms of x and their weights; only for the methods that keep one: "corrective", also as an end phase, "away",
        "pairwise" and "blended-pairwise".
    path_flows : PathFlows
        The paths of each demand and their flows (``path_flows.of(k)``, ``path_flows.by_origin()``), instead of an
        active set: for the method "corrective" with `LinkCosts` over a `PathPolytope`.
    cached_calls : int
        Questions that vertices of the cache answered; only in a lazy run.
    multiplier : float
        Of the constraint at x; only for the method "corrective", also as an end phase, on l1 balls and simplices.
    switch : Switch or None
        Where and why the run went over to its end phase: `iteration`, `reason` ("error", "stalled" or "halfway"),
        `gap`, `error`; None if it did not. Only in a run with `end_phase`.
    """


@dataclass
class Row(Refusing):
    """A row of the trace: x^t, what it cost to reach it, and the step taken from it.

    The row of the last iterate has no step: 0 rounds and nan.

    Attributes
    ----------
    iteration : int
        t.
    value, gap, gap_exact
        f(x^t), and its gap.
    rounds, eta, gamma, alignment, boosted
        K_t, and the step taken from x^t.
    sample_gradients, coordinate_gradients, function_values, lmo_calls, seconds
        What it cost to reach x^t.
    metrics : dict of float
        What else the objective records, a column each.
    phase : PhaseCells or None
        In a run with an end phase.
    """

    iteration: int
    value: float = math.nan
    gap: float = math.nan
    gap_exact: bool = False
    rounds: int = 0
    eta: float = math.nan
    gamma: float = math.nan
    alignment: float = math.nan
    boosted: bool = False
    sample_gradients: int = 0
    coordinate_gradients: int = 0
    function_values: int = 0
    lmo_calls: int = 0
    seconds: float = 0.0
    metrics: dict[str, float] = field(default_factory=dict)
    phase: PhaseCells | None = None

    def cells(self) -> dict[str, Any]:
        """By column."""
        phase = {} if self.phase is None else dataclasses.asdict(self.phase)
        return {name: getattr(self, name) for name in COLUMNS} | self.metrics | phase


@dataclass
class PhaseCells:
    """What a row has beside the others in a run with an end phase.

    Attributes
    ----------
    phase : str
        The method that takes the step from x^t.
    error : float
        The estimator's error at an exact gap check (`bsfw.phases.Check`), else nan.
    switch : str
        The reason of the switch in the row where it happened, else "".
    """

    phase: str
    error: float = math.nan
    switch: str = ""


_DTYPES = {"int": np.int64, "float": float, "bool": bool, "str": str}
COLUMNS: dict[str, Any] = {
    cell.name: _DTYPES[str(cell.type)] for cell in dataclasses.fields(Row) if cell.name not in ("metrics", "phase")
}
"""Columns of every trace, see `Row`, and their types."""
PHASE_COLUMNS: dict[str, Any] = {cell.name: _DTYPES[str(cell.type)] for cell in dataclasses.fields(PhaseCells)}
"""Columns beside these in a run with an end phase, see `PhaseCells`."""


class Trace(Refusing):
    """The recorded iterations, by column: ``trace["value"]`` is an array.

    `gap` is the exact Frank-Wolfe gap at x^t where `gap_exact` is True, else that of the estimate m^t, which is no
    certificate. Counters and `seconds` are those of the algorithm up to x^t.

    Parameters
    ----------
    columns : dict of arrays, optional
        The columns of a trace that exists already; beside `COLUMNS` those of the objective's `metrics`, and
        `PHASE_COLUMNS`.
    """

    def __init__(self, columns: dict[str, Any] | None = None) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        if columns is not None:
            if missing := set(COLUMNS) - set(columns):
                raise ValueError(f"a trace needs the columns {', '.join(sorted(missing))}.")
            self._columns = {name: np.asarray(column).tolist() for name, column in columns.items()}

    def append(self, row: Row) -> None:
        cells = row.cells()
        if not len(self):
            self._columns |= {name: [] for name in cells if name not in COLUMNS}
        for name, column in self._columns.items():
            column.append(cells[name])

    def __len__(self) -> int:
        return len(self._columns["iteration"])

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            raise KeyError(f"a trace has no column {name!r}; it has {', '.join(self._columns)}.")
        return np.array(self._columns[name], dtype=(COLUMNS | PHASE_COLUMNS).get(name, float))

    def columns(self) -> dict[str, Array]:
        """All columns as arrays."""
        return {name: self[name] for name in self._columns}

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} recorded iterations>"

    def to_pandas(self) -> pandas.DataFrame:
        """The trace as a pandas DataFrame (needs pandas)."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas.") from None
        return pandas.DataFrame(self.columns())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to `path`, whole or not at all: ``.npz`` or ``.csv`` by its ending."""
        suffix = Path(path).suffix
        if suffix == ".npz":
            with atomic_write(path) as file:
                np.savez_compressed(file, **self.columns())  # type: ignore[arg-type]  # stubs miss the keywords
        elif suffix == ".csv":
            columns = self.columns()
            with atomic_write(path, "w") as file:
                file.write(",".join(columns) + "\n")
                for row in zip(*(column.tolist() for column in columns.values()), strict=True):
                    file.write(",".join(cell if isinstance(cell, str) else repr(cell) for cell in row) + "\n")
        else:
            raise ValueError(f"a trace is saved as .npz or .csv, got {Path(path).name!r}.")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read what `save` wrote as ``.npz``."""
        return cls(read_npz(path))

    def plot(self, y: str = "value", x: str = "iteration", ax: Axes | None = None, **style: Any) -> Axes:
        """Draw column `y` against column `x` (logarithmic where all values are positive) and return the axes."""
        plt = extra("matplotlib.pyplot", "Trace.plot")
        horizontal, vertical = self[x], self[y]
        if ax is None:
            ax = plt.subplots()[1]
        ax.plot(horizontal, vertical, **style)
        if (vertical > 0).all():
            ax.set_yscale("log")
        ax.set_xlabel(x.replace("_", " "))
        ax.set_ylabel(y.replace("_", " "))
        return ax
