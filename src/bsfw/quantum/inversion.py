"""Linear inversion: where a fit starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._arrays import Array, host
from .channels import trace_preserving
from .measurements import Design, pauli_rows, walsh

if TYPE_CHECKING:
    from .tomography import ProcessTomography

_FLOOR = 1e-3
"""Least eigenvalue of a start, relative to the mean: a Kraus operator that is zero has no gradient, and would stay."""


def pauli_estimates(
    frequencies: Array, shots: Array | None, design: Design, readout: list[Array] | None = None
) -> Array:
    """Mean of each Pauli product in each output over the settings that measured it, weighted by shots: (d, d, outputs).

    0 for a product that nobody measured. Errors of the readout are inverted, qubit by qubit.
    """
    n_outputs, n_settings, d = design.shape
    if shots is None:
        shots = np.ones((n_outputs, n_settings))
    inverse: Array = np.ones((1, 1))
    for matrix in readout or []:
        inverse = np.kron(inverse, np.linalg.inv(matrix))
    transform = walsh(design.qubits) @ inverse if readout else walsh(design.qubits)
    sums, total = np.zeros((n_outputs, d * d)), np.zeros((n_outputs, d * d))
    for setting, products in enumerate(design.measured()):
        sums[:, products] += shots[:, setting, None] * (frequencies[:, setting] @ transform.T)
        total[:, products] += shots[:, setting, None]
    means = sums / np.maximum(total, 1e-300)
    return np.ascontiguousarray(means.T).reshape(d, d, n_outputs)


def on_simplex(values: Array, total: float) -> Array:
    """The nearest point of {v >= 0, sum v = total}: for eigenvalues, the nearest positive semidefinite matrix."""
    ordered = np.sort(values)[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum(values - shifts[np.nonzero(ordered > shifts)[0][-1]], 0.0))


def linear_inversion(problem: ProcessTomography) -> Array:
    """x of the process whose outputs have the measured Pauli means, by its r leading Kraus operators: (d^2, r)."""
    design, d = problem.design, problem.design.dimension
    means = pauli_estimates(host(problem.frequencies).astype(float), problem.shots, design, problem.readout)
    masks = np.arange(d)
    # Outputs (1/d) sum_P mean_P P: row c of P = (a, b) has its nonzero in column c xor a.
    rows = pauli_rows(design.qubits).transpose(0, 2, 1) @ means / d
    outputs = rows[masks[:, None] ^ masks, masks[:, None]].reshape(d * d, -1)
    states = design.input_states()
    inputs = (states[:, None] * states.conj()).reshape(d * d, -1)
    # Lambda(X)[c, e] = sum L[(c, e), (a, b)] X[a, b]; the Choi matrix has the same entries at [(c, a), (e, b)].
    superoperator = (outputs @ np.linalg.pinv(inputs, rcond=1e-10)).reshape(d, d, d, d)
    choi = superoperator.transpose(0, 2, 1, 3).reshape(d * d, d * d)
    values, vectors = np.linalg.eigh(0.5 * (choi + choi.conj().T))
    values = on_simplex(values, d)[::-1][: problem.rank]
    values = np.maximum(values, _FLOOR / d)  # the mean of all d^2 is 1/d
    kraus = (vectors[:, ::-1][:, : problem.rank] * np.sqrt(values)).T.reshape(-1, d, d)
    if problem.rank < d:  # few operators may miss an input altogether
        kraus[0] += _FLOOR * np.eye(d)
    return np.ascontiguousarray(trace_preserving(kraus).reshape(problem.rank, -1).T)
