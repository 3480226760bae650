"""The problems that are timed: l1-constrained logistic regression on synthetic and published data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import bsfw
from bsfw.datasets.synthetic import text_like

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """min (1/m) sum_i log(1 + exp(-y_i <a_i, x>)) over ||x||_1 <= tau, with the batch size of the paper.

    Attributes
    ----------
    name : str
        Of the data and the radius.
    A : csr_array, (m, n)
        float64 with int32 indices.
    y : array, (m,)
        -1 and +1.
    tau : float
        Radius.
    batch : int
        b_s.
    """

    name: str
    A: sp.csr_array
    y: Array
    tau: float
    batch: int

    @cached_property
    def objective(self) -> bsfw.Logistic:
        """Kept, so that what bsfw derives from the data once (a CSC copy) is not in the time of an iteration."""
        return bsfw.Logistic(self.A, self.y)

    @cached_property
    def start(self) -> Array:
        """x^0 of a run of bsfw. Kept, as it takes a full gradient, which is not in the time of an iteration either."""
        return bsfw.Solver(self.objective, bsfw.L1Ball(self.tau)).init().x

    @cached_property
    def smoothness(self) -> float:
        return self.objective.smoothness()

    def value(self, x: Array) -> float:
        """f(x), independent of every solver."""
        return float(np.logaddexp(0.0, -self.y * (self.A @ x)).mean())

    def gradient(self, x: Array) -> Array:
        """The gradient of f at x."""
        slopes: Array = self.A.T @ (-self.y / (1.0 + np.exp(self.y * (self.A @ x)))) / len(self.y)
        return slopes

    def gap(self, x: Array) -> float:
        """The exact Frank-Wolfe gap at x, an upper bound of f(x) - f*."""
        gradient = self.gradient(x)
        return float(gradient @ x + self.tau * np.abs(gradient).max())

    def into_ball(self, x: Array) -> Array:
        """x, scaled into the ball if it lies outside."""
        return x * min(1.0, self.tau / max(float(np.abs(x).sum()), 1e-300))


@dataclass(frozen=True)
class Sizes:
    """How large and how long a run of the suite is. The paper's sizes by default.

    Attributes
    ----------
    m, n, per_row, batch
        Of the rcv1-like set.
    taus : tuple of float
        Radii on it.
    wide : tuple of int
        The two n between which the time of an iteration is compared.
    tall : int
        m of the tall set and n of the wide set of the memory rows.
    text_iterations, small_iterations : int
        Iterations of a timed run on the sparse text-like sets and on mushrooms.
    steady : int
        The same where boosted and vanilla are compared. Boosting finds the coordinates of the support sooner, so that
        at first more samples change in an iteration; a run is long enough for vanilla to have found them as well.
    scaling : int
        The same where two n are compared. At first Heavy Ball visits hundreds of coordinates an iteration.
    repeats : int
        Timed runs of every competitor, of which the median counts.
    patience : float
        Seconds for more runs of a row where the first leave open on which side of its bound it is.
    cap : float
        Seconds after which a run to an accuracy is given up.
    everything : bool
        Whether rows that no bound judges and that take long are in: news20, and deterministic runs to an accuracy.
    """

    m: int = 20_242
    n: int = 47_236
    per_row: int = 73
    batch: int = 742
    taus: tuple[float, ...] = (100.0, 500.0, 2000.0)
    wide: tuple[int, int] = (50_000, 500_000)
    tall: int = 2_000_000
    text_iterations: int = 400
    small_iterations: int = 2000
    steady: int = 1000
    scaling: int = 800
    repeats: int = 5
    patience: float = math.inf
    cap: float = 60.0
    everything: bool = True


FULL = Sizes()
QUICK = Sizes(
    taus=(100.0, 500.0), tall=1_000_000, text_iterations=60, small_iterations=300, scaling=400, repeats=3,
    patience=4.0, cap=6.0, everything=False,
)  # fmt: skip


@lru_cache(maxsize=2)
def _text(m: int, n: int, per_row: int) -> tuple[sp.csr_array, Array]:
    return text_like(m, n, per_row)


@lru_cache(maxsize=4)
def rcv1_like(sizes: Sizes, tau: float) -> Problem:
    """The synthetic stand-in for rcv1_train.binary: its shape and sparsity, not its content."""
    A, y = _text(sizes.m, sizes.n, sizes.per_row)
    return Problem(f"rcv1-like tau={tau:g}", A, y, tau, sizes.batch)


@lru_cache(maxsize=2)
def wide(sizes: Sizes, n: int) -> Problem:
    """As many rows and nonzeros a row as rcv1-like, on n columns."""
    A, y = text_like(sizes.m, n, sizes.per_row)
    return Problem(f"n={n:,}", A, y, 500.0, sizes.batch)


@lru_cache(maxsize=1)
def mushrooms(sizes: Sizes) -> Problem:
    """The bundled set with the paper's radius and batch."""
    A, y = bsfw.datasets.load("mushrooms")
    return Problem("mushrooms tau=50", A, y, 50.0, 404)


@lru_cache(maxsize=1)
def news20(sizes: Sizes) -> Problem:
    """news20 in two halves, where the file is on this machine; the batch is the share of the data that rcv1's is."""
    A, y = bsfw.datasets.load("news20-halves")
    return Problem("news20-halves tau=500", A, y, 500.0, round(A.shape[0] * 742 / 20_242))


def has_news20() -> bool:
    """Whether news20 is here: the suite downloads nothing."""
    return any(known.name == "news20-halves" and known.place != "download" for known in bsfw.datasets.available())
