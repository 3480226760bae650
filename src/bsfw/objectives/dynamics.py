"""Learning a linear dynamical system from sequences of inputs and outputs (paper, "Quasar-Convex Applications")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array, digest, positive, positive_int
from . import _checks
from .base import Objective

if TYPE_CHECKING:
    from ..constraints.base import Constraint

STABLE_RADIUS, GAIN = 0.5, 1.0
"""Of `LinearDynamics.default_constraint`."""


class LinearDynamics(Objective):
    """Mean squared error of a linear system's outputs, f = (1/m) sum_i (1/2T) sum_t (yhat_it - y_it)^2. Nonconvex.

    The system has one input u, one output, and n states that begin at zero (Hardt, Ma and Recht, 2018)::

        s_t = u_t - a_1 s_(t-1) - ... - a_n s_(t-n)
        yhat_t = b_0 s_t + b_1 s_(t-1) + ... + b_n s_(t-n)

    so that its transfer function is b(z) / p(z) with p(z) = 1 + a_1 z^-1 + ... + a_n z^-n. (In controllable canonical
    form C has the entries b_k - b_0 a_k, and D is b_0.) The variable is (a_1 ... a_n, b_0 ... b_n). The gradient is
    exact, by the adjoint: the same recursion backwards in time. Value and gradient cost O(m T n), a batch of sequences
    its share.

    Parameters
    ----------
    inputs : array, (m, T)
        u, a sequence a row; one sequence may be a vector.
    outputs : array, (m, T)
        y.
    order : int
        n, the number of states.
    quasar_rho : float, optional
        rho in ]0, 1] if you know f to be rho-quasar-convex, such as `rho_if_realisable`.
    """

    def __init__(self, inputs: Any, outputs: Any, order: int, quasar_rho: float | None = None) -> None:
        super().__init__()
        self.inputs, self.outputs = _sequences(inputs, "inputs"), _sequences(outputs, "outputs")
        if self.inputs.shape != self.outputs.shape:
            raise ValueError(
                f"inputs and outputs must have the same shape, a row for each sequence, but have {self.inputs.shape} "
                f"and {self.outputs.shape}."
            )
        self.order = positive_int(order, "order")
        if self.order >= self.inputs.shape[1]:
            raise ValueError(
                f"order must be below the length of the sequences, {self.inputs.shape[1]}, got {self.order}."
            )
        self.n_samples, self.shape = self.inputs.shape[0], (2 * self.order + 1,)
        self.quasar_rho = _checks.quasar_parameter(quasar_rho)

    @staticmethod
    def rho_if_realisable(radius: float) -> float:
        """rho with which f is quasar-convex over ||a||_1 <= radius if a system of that set made the outputs.

        Without noise, or with noise that is independent of the inputs, for the mean over it. With p* the p of the
        system that made the outputs, the residual e of a sequence satisfies

            <grad, x - x*> = (1/T) sum_t e_t (H e)_t,  H = p* / p,

        exactly, at any length, since systems are causal and begin at rest. That is at least (1/T) ||e||^2 min Re H on
        the unit circle, where p and p* lie in the disc of this radius around 1. There Re H >= (1 - r) / (1 + r) for
        r <= 1/2, and (1 - 2 r^2) / (2 - 2 r^2) above, which is positive for r < 1 / sqrt(2); rho is twice that, at most
        1: so 1 up to r = 1/3, and 2/3 at r = 1/2.

        Parameters
        ----------
        radius : float
            Below 1 / sqrt(2) = 0.7071.

        Returns
        -------
        float
        """
        r = positive(radius, "radius")
        if r * r >= 0.5:
            raise ValueError(f"beyond a radius of 1 / sqrt(2) = 0.7071 nothing is known of rho, got {radius!r}.")
        return min(1.0, 2.0 * (1.0 - r) / (1.0 + r) if r <= 0.5 else (1.0 - 2.0 * r * r) / (1.0 - r * r))

    def stable_set(self, radius: float = STABLE_RADIUS, gain: float = GAIN) -> Constraint:
        """Systems by their coefficients: ||a||_1 <= radius, and |b_k| <= gain.

        All of them are stable for radius < 1: where |z| >= 1, p(z) differs from 1 by less than 1, so that all poles lie
        inside of the unit circle.

        Parameters
        ----------
        radius, gain : float
            The radius in ]0, 1[, the gain positive.

        Returns
        -------
        Product
        """
        from ..constraints import L1Ball, LinfBall, Product

        if not 0.0 < positive(radius, "radius") < 1.0:
            raise ValueError(f"radius must be below 1, or systems need not be stable, got {radius!r}.")
        return Product([(L1Ball(radius), self.order), (LinfBall(positive(gain, "gain")), self.order + 1)])

    def default_constraint(self) -> Constraint:
        return self.stable_set()

    def predict(self, x: Array, inputs: Any = None) -> Array:
        """yhat, the outputs of the system x, for the inputs of the data or others."""
        u = self.inputs if inputs is None else _sequences(inputs, "inputs")
        x = np.asarray(self._point(x), dtype=float)
        return _weighted(_resonance(x[: self.order], u), x[self.order :])

    def _value(self, x: Array) -> float:
        return 0.5 * float(np.mean(np.square(self.predict(x) - self.outputs)))

    def _gradient(self, x: Array) -> Array:
        return self._batch_gradient(x, np.arange(len(self.inputs)))

    def _batch_gradient(self, x: Array, batch: Array) -> Array:
        a, b = x[: self.order], x[self.order :]
        s = _resonance(a, self.inputs[batch])
        e = (_weighted(s, b) - self.outputs[batch]) / s.size
        # What a change of s_t does: by the outputs from t on, and by the states after it. Time runs backwards.
        costate = _resonance(a, _weighted(e[:, ::-1], b))[:, ::-1]
        length = s.shape[1]
        by_a = [-float(np.vdot(costate[:, k:], s[:, : length - k])) for k in range(1, self.order + 1)]
        by_b = [float(np.vdot(e[:, k:], s[:, : length - k])) for k in range(self.order + 1)]
        return np.array(by_a + by_b)

    def fingerprint(self) -> str:
        """Hash of the sequences and of what f is made with."""
        return digest(type(self).__name__, self.shape, self.quasar_rho, self.inputs, self.outputs)


def _sequences(given: Any, name: str) -> Array:
    """A copy of real, finite sequences, one a row."""
    array = np.array(_checks.numbers(given, np.float64, name))
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{name} must have a row for each sequence, but its shape is {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite numbers; drop those sequences.")
    return array


def _resonance(a: Array, u: Array) -> Array:
    """s with s_t = u_t - a_1 s_(t-1) - ... - a_n s_(t-n), row by row, from rest."""
    from scipy.signal import lfilter

    return np.asarray(lfilter([1.0], np.concatenate(([1.0], a)), u, axis=1))


def _weighted(s: Array, b: Array) -> Array:
    """b_0 s_t + b_1 s_(t-1) + ... + b_n s_(t-n), row by row."""
    from scipy.signal import lfilter

    return np.asarray(lfilter(b, [1.0], s, axis=1))
