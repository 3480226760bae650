"""Processes to be found again, and the noise of their measurement."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, positive_int
from . import conversions
from .measurements import Design, pauli_rows


def haar_unitary(qubits: int, rng: np.random.Generator | int | None = None) -> Array:
    """A unitary (d, d) from the Haar measure: the Q of a complex Gaussian matrix, with R's phases taken out."""
    d = 2 ** positive_int(qubits, "qubits")
    generator = np.random.default_rng(rng)
    q, r = np.linalg.qr(generator.standard_normal((d, d)) + 1j * generator.standard_normal((d, d)))
    diagonal = np.diag(r)
    return np.asarray(q * (diagonal / np.abs(diagonal)))


def depolarised(unitary: Any, probability: float) -> Array:
    """Kraus operators (4^n, d, d) of rho -> (1 - p) V rho V^H + p tr(rho) I / d.

    Parameters
    ----------
    unitary : array (d, d) or qiskit object
        V.
    probability : float
        p in [0, 1], the probability to lose the state.
    """
    kraus = as_kraus(unitary)
    if len(kraus) > 1:
        raise ValueError("depolarised takes a unitary, but was given a channel of several Kraus operators.")
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in [0, 1], got {probability!r}.")
    V = kraus[0]
    d = len(V)
    rows = np.arange(d)
    # The Pauli product (a, b) times V: row c is t[a, b, c] times row c xor a of V.
    moved = pauli_rows(d.bit_length() - 1)[..., None] * V[rows[:, None] ^ rows][:, None]
    weights = np.full(d * d, probability / d**2)
    weights[0] += 1.0 - probability
    return np.asarray(np.sqrt(weights)[:, None, None] * moved.reshape(-1, d, d))


def as_kraus(truth: Any) -> Array:
    """A unitary, Kraus operators or anything of qiskit's as Kraus operators (r, d, d); ValueError if it is no channel.

    A matrix must be unitary; a stack of matrices K must satisfy sum_k K_k^H K_k = I.
    """
    if isinstance(truth, str):
        truth = conversions.gate(truth)
    kraus = conversions.kraus_of(truth) if conversions.is_qiskit(truth) else np.asarray(truth)
    matrix = kraus.ndim == 2
    kraus = kraus[None] if matrix else kraus
    d = kraus.shape[-1]
    if kraus.ndim != 3 or kraus.shape[1] != d or d < 2 or d & (d - 1) or kraus.dtype.kind not in "biufc":
        raise ValueError(
            f"a truth is a unitary of shape (2^n, 2^n), Kraus operators of shape (r, 2^n, 2^n), a qiskit operator or "
            f"circuit, or the name of a gate; got an array of {kraus.dtype} of shape {kraus.shape[matrix:]}."
        )
    kraus = kraus.astype(complex)
    defect = float(np.abs(np.einsum("kab,kac->bc", kraus.conj(), kraus) - np.eye(d)).max())
    if not defect <= 1e-8:
        what = "the truth must be unitary" if matrix else "the truth must preserve the trace"
        product = "V^H V" if matrix else "sum_k K_k^H K_k"
        raise ValueError(
            f"{what}, but {product} differs from the identity by {defect:.2g}; for a channel give its Kraus operators."
        )
    return kraus


def measure(
    kraus: Array, design: Design, noise: float, shots: int | None, rng: np.random.Generator | int | None
) -> Array:
    """Frequencies (inputs, settings, outcomes) of a process.

    Parameters
    ----------
    kraus : array (r, d, d)
    design : Design
    noise : float
        xi: adds xi N(0, 1) to each probability, not clipped (paper, eq. app qpt eq: noise addn).
    shots : int or None
        In place of Gaussian noise: so many repetitions of each setting on each input, multinomial.
    rng : numpy.random.Generator, int or None
    """
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise (xi of the paper) must be a finite number of at least 0, got {noise!r}.")
    generator = np.random.default_rng(rng)
    found = design.probabilities(kraus)
    if shots is not None:
        if noise > 0:
            raise ValueError("noise and shots are two models of the same error; give one of them.")
        found /= found.sum(axis=-1, keepdims=True)  # 1 up to rounding, which multinomial does not forgive
        return generator.multinomial(positive_int(shots, "shots"), found) / shots
    if noise > 0:
        for block in found:  # one input at a time: the noise of all would be as large as the data
            block += noise * generator.standard_normal(block.shape)
    return found
