"""Losses of counted outcomes, as functions of the Pauli means s of the outputs that were measured.

All of a problem's physics is the linear map from its variable to s, shape (d, d, outputs) with the Pauli product (a, b)
at [a, b]; all of its statistics is one of these. `slope` is the derivative by s. `at` is the slice of outputs that s
belongs to: large problems come in blocks.

In a setting the probabilities of the 2^n outcomes are the Walsh-Hadamard transform of the means of the 2^n Pauli
products that it measures, and errors of the readout a matrix on each qubit after that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array, converted, host_dtype, is_foreign, namespace
from .measurements import Design, walsh

_QUBITS = 5
"""Transforms of more qubits than that go in two products: a matrix of 2^10 x 2^10 would cost 16 times more."""


_ALL = slice(None)
_TINY = 1e-30


def quartic(residuals: tuple[Any, Any, Any], weights: Any) -> Array:
    """Coefficients c_0, ..., c_4 of (1/2) sum w |r_0 + gamma r_1 + gamma^2 r_2|^2 in gamma, w real, r real."""
    r0, r1, r2 = residuals
    w1, w2 = weights * r1, weights * r2
    products = [0.5 * (weights * r0 * r0), r0 * w1, 0.5 * (r1 * w1) + r0 * w2, r1 * w2, 0.5 * (r2 * w2)]
    return np.array([float(product.sum()) for product in products])


class PauliSquares:
    """(c/2) sum of (p - f)^2 over all outcomes, each with the same weight (paper, eq. QPT).

    By Parseval that is a weighted sum over Pauli products (`Design.pauli_means`), 16^n numbers in place of 24^n.

    Parameters
    ----------
    frequencies : array (outputs, settings, 2^n)
        NumPy.
    design : Design
    scale : float
        c.
    put : callable
        Brings NumPy arrays to the kind, device and precision of the run.
    """

    def __init__(self, frequencies: Array, design: Design, scale: float, put: Callable[[Array], Any]) -> None:
        weights, means, rest = design.pauli_means(frequencies)
        self.rest = 0.5 * scale * rest
        self._weights = put((scale / design.dimension) * weights[:, :, None])
        self._means = put(means)

    def value(self, s: Any, at: slice) -> Any:
        residual = namespace(s).real(s) - self._means[:, :, at]
        return 0.5 * (self._weights * residual * residual).sum()

    def slope(self, s: Any, at: slice) -> Any:
        return self._weights * (s - self._means[:, :, at])

    def quartic(self, s: tuple[Any, Any, Any], at: slice) -> Array:
        """The coefficients of the loss along s_0 + gamma s_1 + gamma^2 s_2."""
        real = namespace(s[0]).real
        return quartic((real(s[0]) - self._means[:, :, at], real(s[1]), real(s[2])), self._weights)


class _Outcomes:
    """Counts, and the linear map K from Pauli means to the probabilities of what was counted.

    Parameters
    ----------
    counts : array (outputs, settings, 2^n)
        NumPy; a pair (output, setting) that was not measured is all zeros.
    design : Design
    put : callable
        See `PauliSquares`.
    readout : list of arrays (2, 2), optional
        For each letter of a label the probabilities A[read, true]; default: none is read wrongly.
    """

    rest = 0.0

    def __init__(
        self, counts: Array, design: Design, put: Callable[[Array], Any], readout: list[Array] | None = None
    ) -> None:
        self.design, self._put = design, put
        n, d = design.qubits, design.dimension
        matrices = [np.eye(2)] * n if readout is None else readout
        self._factors = [
            put(_kron(matrices[part]) @ walsh(part.stop - part.start) / 2 ** (part.stop - part.start))
            for part in (slice(0, n // 2), slice(n // 2, n)) if n > _QUBITS
        ] or [put(_kron(matrices) @ walsh(n) / d)]  # fmt: skip
        self._measured = design.measured().reshape(-1)
        self._counts = put(np.ascontiguousarray(np.moveaxis(counts.astype(float), 0, -1)))
        self._gather: Any = None
        self._scatter: Any = None

    def _apply(self, factors: list[Any], array: Any) -> Any:
        """The Kronecker product of the factors to the middle axis of an array (settings, d, outputs)."""
        if len(factors) == 1:
            return factors[0] @ array
        settings, d, outputs = array.shape
        high = factors[0].shape[0]
        array = factors[0] @ array.reshape((settings, high, -1))
        return (factors[1] @ array.reshape((settings * high, -1, outputs))).reshape((settings, d, outputs))

    def probabilities(self, s: Any) -> Any:
        """K s: (settings, outcomes, outputs)."""
        d = self.design.dimension
        if self._gather is None:
            self._gather = converted(self._measured, np.int64, s) if is_foreign(s) else self._measured
        flat = namespace(s).real(s).reshape((d * d, -1))
        return self._apply(self._factors, flat[self._gather].reshape((-1, d, flat.shape[1])))

    def adjoint(self, slope: Any) -> Any:
        """K^T of an array like `probabilities`: (d, d, outputs)."""
        d, outputs = self.design.dimension, slope.shape[2]
        by_product = self._apply([factor.T for factor in self._factors], slope).reshape((-1, outputs))
        if self._scatter is None:
            self._scatter = self._scatter_matrix(slope)
        return (self._scatter @ by_product).reshape((d, d, outputs))

    def _scatter_matrix(self, like: Any) -> Any:
        """0 and 1: sums what several settings say of the same Pauli product. Sparse on the host, dense elsewhere."""
        from scipy.sparse import csr_matrix

        rows, columns = self._measured, np.arange(len(self._measured))
        ones, shape = np.ones(len(rows), host_dtype(like)), (self.design.dimension**2, len(rows))
        made = csr_matrix((ones, (rows, columns)), shape)
        return self._put(made.toarray()) if is_foreign(like) else made


class OutcomeSquares(_Outcomes):
    """Half of chi^2 = sum of N (p - f)^2 / q over the outcomes of each setting, f their frequencies in N shots.

    N diag(1/q) is the inverse covariance of multinomial frequencies where they sum to 1, if q is their probability; q
    here is the frequency after half a count more for each outcome, so that an outcome never seen counts too.
    """

    def __init__(
        self, counts: Array, design: Design, put: Callable[[Array], Any], readout: list[Array] | None = None,
        scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(counts, design, put, readout)
        shots = counts.sum(axis=-1, keepdims=True)
        hedged = (counts + 0.5) / (shots + 0.5 * design.dimension)
        self._weights = put(np.ascontiguousarray(np.moveaxis(scale * shots / hedged, 0, -1)))
        self._frequencies = put(np.ascontiguousarray(np.moveaxis(counts / np.maximum(shots, 1), 0, -1)))

    def value(self, s: Any, at: slice) -> Any:
        residual = self.probabilities(s) - self._frequencies[:, :, at]
        return 0.5 * (self._weights[:, :, at] * residual * residual).sum()

    def slope(self, s: Any, at: slice) -> Any:
        return self.adjoint(self._weights[:, :, at] * (self.probabilities(s) - self._frequencies[:, :, at]))

    def quartic(self, s: tuple[Any, Any, Any], at: slice) -> Array:
        """See `PauliSquares.quartic`."""
        p = tuple(self.probabilities(part) for part in s)
        return quartic((p[0] - self._frequencies[:, :, at], p[1], p[2]), self._weights[:, :, at])


class Likelihood(_Outcomes):
    """Minus the logarithm of the likelihood, less its least possible value: sum of n log(f / p) + N (sum of p - 1).

    The second term is zero where probabilities sum to 1; without it a fit that is free to do so would let them grow.
    Infinite where an outcome that was seen has no probability.
    """

    def __init__(
        self, counts: Array, design: Design, put: Callable[[Array], Any], readout: list[Array] | None = None
    ) -> None:
        super().__init__(counts, design, put, readout)
        shots = counts.sum(axis=-1, keepdims=True)
        seen = counts > 0
        logarithms = np.log(np.where(seen, counts, 1) / np.maximum(shots, 1))
        self.rest = float((counts * logarithms).sum() - shots.sum())
        self._seen = put(np.ascontiguousarray(np.moveaxis(seen, 0, -1)).astype(float))
        self._shots = put(np.ascontiguousarray(np.moveaxis(shots, 0, -1)).astype(float))

    def value(self, s: Any, at: slice) -> Any:
        return self.value_at(self.probabilities(s), at)

    def value_at(self, p: Any, at: slice = _ALL) -> Any:
        """The value less `rest`, from probabilities."""
        seen = self._seen[:, :, at]
        q = seen * p + (1.0 - seen)
        if not float(q.min()) > 0.0:
            return np.inf
        return (self._shots[:, :, at] * p).sum() - (self._counts[:, :, at] * namespace(p).log(q)).sum()

    def slope(self, s: Any, at: slice) -> Any:
        return self.adjoint(self.slope_at(self.probabilities(s), at))

    def slope_at(self, p: Any, at: slice = _ALL) -> Any:
        """Derivatives by the probabilities; huge where one that was seen has none."""
        seen = self._seen[:, :, at]
        q = seen * p + (1.0 - seen)
        return self._shots[:, :, at] - self._counts[:, :, at] / namespace(p).where(q > _TINY, q, _TINY + 0.0 * q)


def _kron(matrices: list[Array]) -> Array:
    out: Array = np.ones((1, 1))
    for matrix in matrices:
        out = np.kron(out, matrix)
    return out
