"""The contract of an objective f: what estimators and solvers may ask, and what is counted when they do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import local
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import (
    Array,
    add_at,
    copied,
    digest,
    inner,
    is_complex,
    is_foreign,
    matching,
    namespace,
    number,
    plain,
    shown,
)
from .._refusals import Refusing
from ..lowrank import LowRank
from . import _checks

if TYPE_CHECKING:
    from ..constraints.base import Constraint


@dataclass
class Counts:
    """What an objective was asked.

    Attributes
    ----------
    sample_gradients : int
        Gradients of single f_i; a full gradient of m samples counts m, one of an objective without samples counts 1.
    coordinate_gradients : int
        Partial derivatives, by formula or by forward difference.
    function_values : int
        Full evaluations of f.
    full_gradients : int
        How many of the above came as full passes.
    """

    sample_gradients: int = 0
    coordinate_gradients: int = 0
    function_values: int = 0
    full_gradients: int = 0


class _Blocks(local):
    """Where each thread counts, by the objective asked: an own dictionary in every thread."""

    def __init__(self) -> None:
        self.counts: dict[int, Counts] = {}


_BLOCKS = _Blocks()
"""One for all objectives, so that they can be copied and pickled; by their identity, which lasts as long as a block."""


class _Counting:
    """The block of `Objective.counting`."""

    __slots__ = ("counts", "objective", "previous")

    def __init__(self, objective: Objective, counts: Counts) -> None:
        self.objective, self.counts = objective, counts

    def __enter__(self) -> None:
        here, key = _BLOCKS.counts, id(self.objective)
        self.previous = here.get(key)
        here[key] = self.counts

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        here, key = _BLOCKS.counts, id(self.objective)
        if self.previous is None:
            del here[key]
        else:
            here[key] = self.previous


class Line(Refusing):
    """f along x + gamma d, for line searches. A `value` counts as a function value, a `derivative` as a gradient."""

    def __init__(self, objective: Objective, x: Array, direction: Array) -> None:
        if not isinstance(objective, Objective):
            raise TypeError(f"a Line is a line of an objective, got {shown(objective)}.")
        self.objective, self.x, self.direction = (
            objective,
            objective._point(x),
            objective._point(direction, "direction"),
        )

    def value(self, gamma: float) -> float:
        return self.objective.value(self.x + number(gamma, "gamma") * self.direction)

    def derivative(self, gamma: float) -> float:
        return inner(self.objective.gradient(self.x + number(gamma, "gamma") * self.direction), self.direction)

    def minimiser(self) -> float | None:
        """The best gamma in [0, 1] where the line knows it in closed form, else None: then it is searched for."""
        return None

    def zero(self, largest: float) -> float | None:
        """A zero of the derivative up to the largest step, or that, where the line has a way of its own; else None."""
        return None


class Objective(Refusing, ABC):
    """A differentiable function f of one array variable; a finite sum is always the average f = (1/m) sum_i f_i.

    The public methods check what they are given and count; subclasses implement the underscored ones they can offer,
    which do neither.

    Attributes
    ----------
    shape : tuple of int or None
        Shape of the variable; None when only a start point can tell (`Function` without shape).
    dtype : numpy.dtype
        Dtype of the variable.
    like : array or None
        Some array of the kind (NumPy, PyTorch, JAX) and on the device with which the objective computes: x and the
        gradients are such arrays. None if it takes the kind that x0 has (NumPy without x0).
    n_samples : int or None
        m for a finite sum, else None.
    quasar_rho : float or None
        rho in ]0, 1] if f is known to be rho-quasar-convex (1.0 for convex f), None for a general nonconvex f.
        It decides the default step decay.
    intercept : bool
        Whether f has a free intercept beside x.
    offset : float, array or None
        The intercept where a run's copy (`for_run`) holds it fixed.
    counts : Counts
        Where calls are counted: inside of a `counting` block, as every run has its own, what was given there; else the
        objective's own, which is exact as long as one thread asks.
    """

    shape: tuple[int, ...] | None = None
    dtype: np.dtype = np.dtype(float)
    like: Array | None = np.empty(0)
    n_samples: int | None = None
    quasar_rho: float | None = None
    intercept: bool = False
    offset: Any = None
    only_exact: str = ""
    """Why it takes no estimator but the exact gradient, as the end of a sentence; empty if it takes others."""
    _how_to_sum = ""
    """What the user can do about an objective that is no finite sum, at the end of a sentence."""

    def __init__(self) -> None:
        self._counts = Counts()

    @property
    def counts(self) -> Counts:
        return _BLOCKS.counts.get(id(self), self._counts)

    # What a subclass implements. `_value` is the only one that every objective has; what it leaves out of the others it
    # does not offer (`_offers`), and a solver that needs it says so before the run.

    @abstractmethod
    def _value(self, x: Array) -> float: ...

    def _gradient(self, x: Array) -> Array:
        raise ValueError(f"{type(self).__name__} has no gradient.")

    def _precise_gradient(self, x: Array) -> Array:
        return self._gradient(x)

    def _batch_gradient(self, x: Array, batch: Array) -> Array:
        raise ValueError(f"{type(self).__name__} has no gradients of batches.")

    def _partial_derivatives(self, x: Array, coordinates: Array) -> Array:
        raise ValueError(f"{type(self).__name__} has no partial derivatives.")

    def _hessian_product(self, x: Array, direction: Array) -> Array:
        raise ValueError(f"{type(self).__name__} has no second derivatives.")

    def _forward_differences(self, x: Array, coordinates: Array, step: float) -> Array:
        base = self._value(x)
        out = np.empty(len(coordinates), dtype=float)
        for k, j in enumerate(coordinates):
            moved = add_at(copied(x).reshape(-1), int(j), step).reshape(x.shape)
            out[k] = (self._value(moved) - base) / step
        return matching(out, x)

    def _offers(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(Objective, method)

    @property
    def has_gradient(self) -> bool:
        return self._offers("_gradient")

    @property
    def has_batches(self) -> bool:
        return self.n_samples is not None and self._offers("_batch_gradient")

    @property
    def has_partial_derivatives(self) -> bool:
        return self._offers("_partial_derivatives")

    @property
    def has_hessian_product(self) -> bool:
        return self._offers("_hessian_product")

    def dtype_at(self, x: Array) -> np.dtype:
        """Dtype of the variable in a run that starts from x: `dtype`, unless the objective takes that of x."""
        return self.dtype

    # What others ask.

    def value(self, x: Array) -> float:
        """f(x)."""
        x = self._point(x)
        self.counts.function_values += 1
        return self._value(x)

    def gradient(self, x: Array) -> Array:
        """The full gradient, an array like x."""
        x = self._point(x)
        self.counts.sample_gradients += self.n_samples or 1
        self.counts.full_gradients += 1
        return self._gradient(x)

    def precise_gradient(self, x: Array) -> Array:
        """The full gradient as a certificate needs it: in double precision where data and x are in single precision
        and the objective can, else as `gradient` gives it. Counts as a gradient."""
        x = self._point(x)
        self.counts.sample_gradients += self.n_samples or 1
        self.counts.full_gradients += 1
        return self._precise_gradient(x)

    def batch_gradient(self, x: Array, batch: Array) -> Array:
        """Average of the gradients of f_i, i in `batch`, a NumPy array of distinct indices."""
        x, batch = self._point(x), self._batch(batch)
        self.counts.sample_gradients += len(batch)
        return self._batch_gradient(x, batch)

    def sample_gradients(self, x: Array, batch: Array) -> Array:
        """Gradients of f_i, i in `batch`, stacked along a new first axis."""
        x, batch = self._point(x), self._batch(batch)
        self.counts.sample_gradients += len(batch)
        stacked: Array = namespace(x).stack([self._batch_gradient(x, batch[k : k + 1]) for k in range(len(batch))])
        return stacked

    def partial_derivatives(self, x: Array, coordinates: Array) -> Array:
        """Partial derivatives at the flat `coordinates` of a real variable."""
        x = self._point(x)
        coordinates = _checks.indices(coordinates, math.prod(x.shape), "coordinates", empty=True)
        self.counts.coordinate_gradients += len(coordinates)
        return self._partial_derivatives(x, coordinates)

    def hessian_product(self, x: Array, direction: Array) -> Array:
        """The Hessian at x times a direction, an array like x. Counts as a gradient."""
        x, direction = self._point(x), self._point(direction, "direction")
        self.counts.sample_gradients += self.n_samples or 1
        self.counts.full_gradients += 1
        return self._hessian_product(x, direction)

    def forward_differences(self, x: Array, coordinates: Array, step: float) -> Array:
        """(f(x + step e_j) - f(x)) / step at the flat `coordinates`; counts len(coordinates) + 1 function values."""
        x, step = self._point(x), number(step, "step")
        coordinates = _checks.indices(coordinates, math.prod(x.shape), "coordinates", empty=True)
        if step == 0.0:
            raise ValueError("step must not be 0: a difference needs two points.")
        self.counts.coordinate_gradients += len(coordinates)
        self.counts.function_values += len(coordinates) + 1
        return self._forward_differences(x, coordinates, step)

    def along(self, x: Array, direction: Array) -> Line:
        """f restricted to the line x + gamma direction."""
        return Line(self, x, direction)

    def _point(self, x: Any, name: str = "x") -> Any:
        """x as an array of the shape of the variable, not copied where it is one; `LowRank` matrices stay such."""
        if type(x) is not np.ndarray and not isinstance(x, LowRank) and not is_foreign(x):
            x = plain(x, name)
        if isinstance(x.dtype, np.dtype) and x.dtype.kind not in "biufc":
            raise TypeError(f"{name} must hold numbers, got entries of type {x.dtype}.")
        if self.shape is not None and tuple(x.shape) != self.shape:
            raise ValueError(f"{name} must have the shape {self.shape} of the variable, but has {tuple(x.shape)}.")
        if is_complex(x.dtype) and not is_complex(self.dtype):
            raise TypeError(f"{name} is complex, but the variable is real; take its real part.")
        return x

    def _batch(self, batch: Any, *, empty: bool = False) -> Array:
        """Indices of samples, checked."""
        if self.n_samples is None or not self.has_batches:
            raise ValueError(
                f"{type(self).__name__} is no finite sum: it has no gradients of batches{self._how_to_sum}."
            )
        return _checks.indices(batch, self.n_samples, "batch", empty=empty)

    def default_constraint(self) -> Constraint:
        """The set that `minimize` takes where none is given; most objectives have none of their own."""
        raise ValueError(f"{type(self).__name__} has no set of its own: give a constraint, such as bsfw.L1Ball(1.0).")

    def default_settings(self) -> dict[str, Any]:
        """Settings of `minimize` that go with `default_constraint`: any of x0, step and callback."""
        return {}

    def smoothness(self) -> float:
        """A Lipschitz constant L of the gradient of f (Assumption L-smoothness)."""
        raise ValueError(f"{type(self).__name__} does not know its smoothness constant; give it explicitly.")

    def sample_smoothness(self) -> float:
        """A common Lipschitz constant of the gradients of all f_i, which the proofs for SAGA, L-SVRG, SARAH use."""
        raise ValueError(f"{type(self).__name__} does not know the smoothness of its samples; give it explicitly.")

    def for_run(self) -> Objective:
        """The objective as one run asks it: self, unless it has parameters of its own beside x, such as an intercept.

        Those are free: f(x) is the minimum over them. A run has a copy, which keeps them as `refit` left them.
        """
        return self

    def refit(self, x: Array) -> None:  # most have nothing to fit
        """Minimise over the parameters beside x."""

    def fields(self, x: Array) -> dict[str, Any]:
        """Fields of the result that only the objective knows, at the last x: nothing, unless a subclass knows more."""
        return {}

    def metrics(self, x: Array) -> dict[str, float]:
        """What the trace records of x besides f, by name: nothing, unless a subclass knows more. Counts nothing."""
        return {}

    def progress(self) -> str:
        """What a progress line says of it: nothing, unless a subclass knows more."""
        return ""

    def fingerprint(self) -> str:
        """Hash by which a checkpoint recognises the problem; subclasses with data hash the data."""
        return digest(type(self).__name__, self.shape, self.dtype.str, self.n_samples)

    def counting(self, counts: Counts) -> AbstractContextManager[None]:
        """Count into `counts` what this thread asks inside of the block: metrics do not mix with the algorithm, nor
        runs with each other, also when they share the objective at the same time."""
        return _Counting(self, counts)
