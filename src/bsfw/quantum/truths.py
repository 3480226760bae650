"""Processes to be found again, and the noise of their measurement."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, number, plain, positive_int
from .._refusals import refusing
from .._sampling import generator
from . import conversions
from .counts import readout_matrices
from .measurements import Design, pauli_rows, qubit_count


@refusing
def haar_unitary(qubits: int, rng: np.random.Generator | int | None = None) -> Array:
    """A unitary (d, d) from the Haar measure: the Q of a complex Gaussian matrix, with R's phases taken out."""
    d = 2 ** qubit_count(qubits)
    source = generator(rng)
    q, r = np.linalg.qr(source.standard_normal((d, d)) + 1j * source.standard_normal((d, d)))
    diagonal = np.diag(r)
    return np.asarray(q * (diagonal / np.abs(diagonal)))


@refusing
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
    probability = number(probability, "probability")
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
    kraus = conversions.kraus_of(truth) if conversions.is_qiskit(truth) else plain(truth, "truth")
    matrix = kraus.ndim == 2
    kraus = kraus[None] if matrix else kraus
    d = kraus.shape[-1] if kraus.ndim == 3 else 0
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
    noise = number(noise, "noise (xi of the paper)")
    if noise < 0:
        raise ValueError(f"noise (xi of the paper) must be a finite number of at least 0, got {noise!r}.")
    source = generator(rng)
    found = design.probabilities(kraus)
    if shots is not None:
        if noise > 0:
            raise ValueError("noise and shots are two models of the same error; give one of them.")
        found /= found.sum(axis=-1, keepdims=True)  # 1 up to rounding, which multinomial does not forgive
        count = positive_int(shots, "shots")
        return source.multinomial(count, found) / count
    if noise > 0:
        for block in found:  # one input at a time: the noise of all would be as large as the data
            block += noise * source.standard_normal(block.shape)
    return found


def misread(probabilities: Array, readout: list[Array] | None) -> Array:
    """Probabilities (..., 2^n) of what is read, from those of what is true: A[read, true] on each qubit."""
    if readout is None:
        return probabilities
    shape = probabilities.shape
    found = probabilities.reshape(*shape[:-1], *(2,) * len(readout))
    for place, matrix in enumerate(readout):
        axis = len(shape) - 1 + place
        found = np.moveaxis(np.tensordot(matrix, found, axes=(1, axis)), 0, axis)
    return np.ascontiguousarray(found).reshape(shape)


@refusing
def simulate_counts(
    truth: Any,
    shots: Any,
    rng: np.random.Generator | int | None = None,
    *,
    inputs: Any = None,
    settings: Any = None,
    readout: Any = None,
) -> dict[tuple[str, str], dict[str, int]]:
    """Counts of a known process, as a laboratory would have them: ``{("0+", "XZ"): {"00": 512, ...}, ...}``.

    Parameters
    ----------
    truth : array, qiskit object or str
        As for `ProcessTomography.from_truth`.
    shots : int
        Repetitions of each setting on each input.
    rng : numpy.random.Generator, int or None
    inputs, settings : list of labels or positions, optional
        What is measured; default: all.
    readout : list of arrays (2, 2), optional
        For each letter of a label the probabilities A[read, true].
    """
    kraus = as_kraus(truth)
    design = Design.of(kraus.shape[-1].bit_length() - 1, inputs, settings)
    matrices = readout_matrices(readout, design.qubits)
    return counted(misread(design.probabilities(kraus), matrices), design, shots, rng)


def counted(
    probabilities: Array, design: Design, shots: Any, rng: np.random.Generator | int | None
) -> dict[tuple[str, str], dict[str, int]]:
    """Multinomial counts of probabilities (inputs, settings, outcomes), outcomes never seen left out."""
    shots, generator = positive_int(shots, "shots"), np.random.default_rng(rng)
    drawn = generator.multinomial(shots, probabilities / probabilities.sum(axis=-1, keepdims=True))
    found = {}
    for i, prepared in enumerate(design.input_labels):
        for j, measured in enumerate(design.setting_labels):
            seen = np.nonzero(drawn[i, j])[0]
            found[prepared, measured] = {format(o, f"0{design.qubits}b"): int(drawn[i, j, o]) for o in seen}
    return found


def state_factor(state: Any, qubits: int | None = None, rtol: float = 1e-10) -> Array:
    """A factor B (d, k) of a density matrix B B^H, from a vector, a density matrix or qiskit's objects of either."""
    given = np.asarray(state.data if conversions.is_qiskit(state) else state)
    d = given.shape[0] if given.ndim in (1, 2) and given.size else 0
    if d < 2 or d & (d - 1) or given.shape[-1] != d or given.dtype.kind not in "biufc":
        raise ValueError(
            "a state is a vector of 2^n numbers, a density matrix of shape (2^n, 2^n) or a qiskit Statevector or "
            f"DensityMatrix; got an array of {given.dtype} of shape {given.shape}."
        )
    if qubits is not None and d != 2**qubits:
        raise ValueError(f"the state has dimension {d}, but {qubits} qubits have {2**qubits}.")
    given = given.astype(complex)
    trace = float(np.linalg.norm(given) ** 2 if given.ndim == 1 else np.trace(given).real)
    if not abs(trace - 1) <= 1e-6:
        raise ValueError(f"a state must have trace (for a vector, squared norm) 1, got {trace:.6g}.")
    if given.ndim == 1:
        return given[:, None]
    values, vectors = np.linalg.eigh(0.5 * (given + given.conj().T))
    if values[0] < -1e-6 or np.abs(given - given.conj().T).max() > 1e-6:
        raise ValueError("a density matrix must be Hermitian and positive semidefinite, but the given one is not.")
    kept = values > rtol * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


@refusing
def simulate_state_counts(
    state: Any,
    shots: Any,
    rng: np.random.Generator | int | None = None,
    *,
    settings: Any = None,
    readout: Any = None,
) -> dict[str, dict[str, int]]:
    """Counts of a known state, as a laboratory would have them: ``{"XZ": {"00": 512, ...}, ...}``.

    Parameters
    ----------
    state : array or qiskit object
        A vector (d,) or a density matrix (d, d).
    shots, rng, settings, readout
        As for `simulate_counts`.
    """
    factor = state_factor(state)
    design = Design.of(factor.shape[0].bit_length() - 1, [0], settings)
    matrices = readout_matrices(readout, design.qubits)
    found = np.empty(design.shape)
    for place, setting in enumerate(design.settings):
        found[0, place] = (np.abs(design.basis(setting).conj().T @ factor) ** 2).sum(axis=1)
    drawn = counted(misread(found, matrices), design, shots, rng)
    return {measured: outcomes for (_, measured), outcomes in drawn.items()}
