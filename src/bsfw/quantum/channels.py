"""Channels by their Kraus operators (r, d, d)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, host, namespace
from .measurements import pauli_order, pauli_rows


def trace_preserving(kraus: Any) -> Any:
    """M_k (sum_j M_j^H M_j)^(-1/2): the trace-preserving channel that has the same Kraus operators up to that factor.

    Of all such factors it changes the operators least: it is the polar factor of the operators below each other.
    """
    xp = namespace(kraus)
    stacked = kraus.reshape((-1, kraus.shape[-1]))
    values, vectors = xp.linalg.eigh(xp.conj(stacked).T @ stacked)
    if not float(values.min()) > 1e-12 * max(float(values.max()), 1e-300):
        raise ValueError(
            "the process loses some input altogether (sum_k M_k^H M_k is singular), so that no scaling makes it "
            "preserve the trace; measure more inputs, fit further, or ask with trace_preserving=False."
        )
    return kraus @ ((vectors / values**0.5) @ xp.conj(vectors).T)


def ptm(kraus: Array) -> Array:
    """R_ab = tr(P_a Lambda(P_b)) / d, (d^2, d^2), in the order II, IX, IY, IZ, XI, ..."""
    d = kraus.shape[-1]
    n, masks = d.bit_length() - 1, np.arange(d)
    basis = np.zeros((d * d, d, d), dtype=complex)
    # Row c of the Pauli product (a, b) has its nonzero in column c xor a.
    basis[np.arange(d * d)[:, None], masks, masks ^ np.arange(d * d)[:, None] // d] = pauli_rows(n).reshape(d * d, d)
    basis = basis[pauli_order(n)]
    # The superoperator, row by row: Lambda(X)[a, b] = sum L[(a, b), (c, e)] X[c, e].
    superoperator = np.einsum("kac,kbe->abce", kraus, kraus.conj(), optimize=True).reshape(d * d, d * d)
    flat = basis.reshape(d * d, -1)
    return np.asarray((flat.conj() @ superoperator @ flat.T).real / d)


def diamond_bounds(a: Array, b: Array) -> tuple[float, float]:
    """Bounds of (1/2) ||A - B||_diamond for channels by their factors (d^2, r), entries row by row.

    With J the difference of the Choi matrices, and |J| = sqrt(J^2): (1/2d) tr |J| below, by the maximally entangled
    input; (1/2) || tr_out |J| ||_op above, as J = P - Q with P, Q >= 0 bounds the norm by that of the completely
    positive map of P + Q.
    """
    d = round(float(np.sqrt(a.shape[0])))
    values, vectors = np.linalg.eigh(a @ a.conj().T - b @ b.conj().T)
    absolute = (vectors * np.abs(values)) @ vectors.conj().T
    inputs = np.einsum("aiaj->ij", absolute.reshape(d, d, d, d))
    return float(np.abs(values).sum()) / (2 * d), min(1.0, float(np.linalg.norm(inputs, 2)) / 2)


def choi_matrix(kraus: Any) -> Array:
    """The Choi matrix in qiskit's order, columns stacked: sum_k vec(M_k) vec(M_k)^H, NumPy."""
    kraus = host(kraus)
    columns = kraus.transpose(0, 2, 1).reshape(len(kraus), -1)
    return np.asarray(columns.T @ columns.conj())
