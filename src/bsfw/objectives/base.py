"""The contract of an objective f: what estimators and solvers may ask, and what is counted when they do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from .._arrays import Array, add_at, copied, digest, inner, matching, namespace


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


class Line:
    """f along x + gamma d, for line searches. A `value` counts as a function value, a `derivative` as a gradient."""

    def __init__(self, objective: Objective, x: Array, direction: Array) -> None:
        self.objective, self.x, self.direction = objective, x, direction

    def value(self, gamma: float) -> float:
        return self.objective.value(self.x + gamma * self.direction)

    def derivative(self, gamma: float) -> float:
        return inner(self.objective.gradient(self.x + gamma * self.direction), self.direction)


class Objective(ABC):
    """A differentiable function f of one array variable; a finite sum is always the average f = (1/m) sum_i f_i.

    The public methods count and validate nothing else; subclasses implement the underscored ones they can offer.

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
    counts : Counts
        Where calls are counted; a solver puts its own there with `counting`.
    """

    shape: tuple[int, ...] | None = None
    dtype: np.dtype = np.dtype(float)
    like: Array | None = np.empty(0)
    n_samples: int | None = None
    quasar_rho: float | None = None

    def __init__(self) -> None:
        self.counts = Counts()

    # What a subclass implements. `_value` is the only one that every objective has; what it leaves out of the others it
    # does not offer (`_offers`), and a solver that needs it says so before the run.

    @abstractmethod
    def _value(self, x: Array) -> float: ...

    def _gradient(self, x: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} has no gradient.")

    def _batch_gradient(self, x: Array, batch: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} has no gradients of batches.")

    def _partial_derivatives(self, x: Array, coordinates: Array) -> Array:
        raise NotImplementedError(f"{type(self).__name__} has no partial derivatives.")

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

    def dtype_at(self, x: Array) -> np.dtype:
        """Dtype of the variable in a run that starts from x: `dtype`, unless the objective takes that of x."""
        return self.dtype

    # What others ask.

    def value(self, x: Array) -> float:
        """f(x)."""
        self.counts.function_values += 1
        return self._value(x)

    def gradient(self, x: Array) -> Array:
        """The full gradient, an array like x."""
        self.counts.sample_gradients += self.n_samples or 1
        self.counts.full_gradients += 1
        return self._gradient(x)

    def batch_gradient(self, x: Array, batch: Array) -> Array:
        """Average of the gradients of f_i, i in `batch`, a NumPy array of distinct indices."""
        self.counts.sample_gradients += len(batch)
        return self._batch_gradient(x, batch)

    def sample_gradients(self, x: Array, batch: Array) -> Array:
        """Gradients of f_i, i in `batch`, stacked along a new first axis."""
        self.counts.sample_gradients += len(batch)
        return namespace(x).stack([self._batch_gradient(x, batch[k : k + 1]) for k in range(len(batch))])

    def partial_derivatives(self, x: Array, coordinates: Array) -> Array:
        """Partial derivatives at the flat `coordinates` of a real variable."""
        self.counts.coordinate_gradients += len(coordinates)
        return self._partial_derivatives(x, coordinates)

    def forward_differences(self, x: Array, coordinates: Array, step: float) -> Array:
        """(f(x + step e_j) - f(x)) / step at the flat `coordinates`; counts len(coordinates) + 1 function values."""
        self.counts.coordinate_gradients += len(coordinates)
        self.counts.function_values += len(coordinates) + 1
        return self._forward_differences(x, coordinates, step)

    def along(self, x: Array, direction: Array) -> Line:
        """f restricted to the line x + gamma direction."""
        return Line(self, x, direction)

    def smoothness(self) -> float:
        """A Lipschitz constant L of the gradient of f (Assumption L-smoothness)."""
        raise ValueError(f"{type(self).__name__} does not know its smoothness constant; give it explicitly.")

    def sample_smoothness(self) -> float:
        """A common Lipschitz constant of the gradients of all f_i, which the proofs for SAGA, L-SVRG, SARAH use."""
        raise ValueError(f"{type(self).__name__} does not know the smoothness of its samples; give it explicitly.")

    def metrics(self, x: Array) -> dict[str, float]:
        """What the trace records of x besides f, by name: nothing, unless a subclass knows more. Counts nothing."""
        return {}

    def fingerprint(self) -> str:
        """Hash by which a checkpoint recognises the problem; subclasses with data hash the data."""
        return digest(type(self).__name__, self.shape, self.dtype.str, self.n_samples)

    @contextmanager
    def counting(self, counts: Counts) -> Iterator[None]:
        """Count into `counts` inside of the block: metrics do not mix with the algorithm, nor runs with each other."""
        previous, self.counts = self.counts, counts
        try:
            yield
        finally:
            self.counts = previous
