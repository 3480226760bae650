"""What happened: status, trace and result of a run."""

from __future__ import annotations

import os
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array, host, is_foreign
from ._files import atomic_write

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


class Status(IntEnum):
    """Why a run ended. Only `GAP_REACHED`, on an exact gap, is success."""

    GAP_REACHED = 0
    ITERATIONS = 1
    SECONDS = 2
    GRADIENTS = 3
    LMO_CALLS = 4
    CALLBACK = 5
    NUMERICAL_FAILURE = 6

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
    Status.NUMERICAL_FAILURE: "A value or a gradient is not finite; x is the last iterate.",
}


class Result(dict[str, Any]):
    """Outcome of `minimize`, with the fields of `scipy.optimize.OptimizeResult` and a few more.

    Attributes
    ----------
    x : array
        The last iterate; feasible by construction. Of the kind, dtype and device of x0 or of the objective's data.
    fun : float
        f(x).
    gap : float
        Frank-Wolfe gap at x, an upper bound of f(x) - min f if f is convex.
    gap_exact : bool
        Whether `gap` was computed from the exact gradient.
    success : bool
        True only if the exact gap reached gap_tol.
    status : Status
        Why the run ended.
    message : str
        The same in a sentence.
    nit : int
        Iterations.
    nfev, njev : int
        Function values and full gradients evaluated by the algorithm.
    sample_gradients, coordinate_gradients, lmo_calls : int
        What else the algorithm asked, counted as evaluated, the start included.
    boosting_percentage : float
        Share of the iterations with gamma_t < 1 (paper, eq. boosting_per), before the end phase if there was one; nan
        for vanilla Frank-Wolfe and the methods that do not boost.
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
        Atoms of x and their weights; only for the methods that keep one: all but "boosted", also as an end phase.
    multiplier : float
        Of the constraint at x; only for the method "corrective", also as an end phase, on l1 balls and simplices.
    switch : Switch or None
        Where and why the run went over to its end phase: `iteration`, `reason` ("error", "stalled" or "halfway"),
        `gap`, `error`; None if it did not. Only in a run with `end_phase`.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a Result has no field {name!r}; it has {', '.join(self)}.") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        lines = []
        for name, value in self.items():
            if isinstance(value, np.ndarray) or is_foreign(value):
                value = host(value)
                with np.printoptions(threshold=8, edgeitems=3, precision=4):
                    shown = f"{np.array2string(value, separator=' ')}" + (f"  {value.shape}" if value.size > 8 else "")
            else:
                shown = repr(value)
            lines.append(f"{name:>{width}}: " + shown.replace("\n", "\n" + " " * (width + 2)))
        return "\n".join(lines)


COLUMNS: dict[str, Any] = {
    "iteration": np.int64,
    "value": float,
    "gap": float,
    "gap_exact": bool,
    "rounds": np.int64,
    "eta": float,
    "gamma": float,
    "alignment": float,
    "boosted": bool,
    "sample_gradients": np.int64,
    "coordinate_gradients": np.int64,
    "function_values": np.int64,
    "lmo_calls": np.int64,
    "seconds": float,
}
"""Columns of every trace. A row describes x^t and what it cost to reach it, and the step taken from it (rounds, eta,
gamma, alignment, boosted); the row of the last iterate has no step: 0 rounds and nan."""
PHASE_COLUMNS: dict[str, Any] = {"phase": str, "error": float, "switch": str}
"""Columns beside these in a run with an end phase: the method that takes the step from x^t; the estimator's error at an
exact gap check (`bsfw.phases.Check`), else nan; the reason of the switch in the row where it happened, else ''."""


class Trace:
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

    def append(self, row: dict[str, Any]) -> None:
        if not len(self):
            self._columns |= {name: [] for name in row if name not in (*COLUMNS, "recorded")}
        for name, column in self._columns.items():
            column.append(row[name])

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
        with np.load(path, allow_pickle=False) as file:
            return cls({name: file[name] for name in file.files})

    def plot(self, y: str = "value", x: str = "iteration", ax: Axes | None = None, **style: Any) -> Axes:
        """Draw column `y` against column `x` (logarithmic where all values are positive) and return the axes."""
        import matplotlib.pyplot as plt

        horizontal, vertical = self[x], self[y]
        if ax is None:
            ax = plt.subplots()[1]
        ax.plot(horizontal, vertical, **style)
        if (vertical > 0).all():
            ax.set_yscale("log")
        ax.set_xlabel(x.replace("_", " "))
        ax.set_ylabel(y.replace("_", " "))
        return ax
