"""A fitter for the tomography analyses of qiskit-experiments."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .._arrays import Array
from .._minimize import minimize
from .._refusals import refusing
from .channels import choi_matrix
from .counts import MEASURED, PREPARED, PREPARED_SIX, Record, letters
from .measurements import INPUTS, Design
from .states import StateTomography
from .tomography import ProcessTomography


@refusing
def fitter(
    outcome_data: Array,
    shot_data: Array,
    measurement_data: Array,
    preparation_data: Array,
    measurement_basis: Any = None,
    preparation_basis: Any = None,
    measurement_qubits: Any = None,
    preparation_qubits: Any = None,
    conditional_measurement_indices: Any = None,
    conditional_preparation_indices: Any = None,
    rank: int | None = None,
    loss: str = "likelihood",
    **settings: Any,
) -> tuple[Array, dict[str, Any]]:
    """The Choi or density matrix of counts: for the option `fitter` of qiskit-experiments' tomography analyses.

    ``StateTomographyAnalysis`` and ``ProcessTomographyAnalysis`` of Pauli bases; readout errors of a
    ``PauliMeasurementBasis(mitigator)`` go into the model. The result is completely positive and trace-preserving.

    Parameters
    ----------
    outcome_data, shot_data, measurement_data, preparation_data
        Counts (1, circuits, 2^n), shots and basis indices, as the analyses give them.
    measurement_basis, preparation_basis, measurement_qubits, preparation_qubits
        As the analyses give them.
    conditional_measurement_indices, conditional_preparation_indices
        Not supported; must be left out.
    rank : int, optional
        By ``fitter_options={"rank": 4}``; default: full for states, as in `ProcessTomography.from_counts` for
        processes.
    loss : str
        Of `StateTomography`.
    **settings
        For `bsfw.minimize`, such as max_iter.

    Returns
    -------
    matrix : array
    metadata : dict
        Of which qiskit-experiments needs input_dims and output_dims.
    """
    started = time.perf_counter()
    _check(outcome_data, measurement_basis, preparation_basis, preparation_data)
    if conditional_measurement_indices or conditional_preparation_indices:
        raise ValueError("bsfw.quantum.fitter fits whole states and processes, not ones conditional on some qubits.")
    n = measurement_data.shape[1]
    process = preparation_data.shape[1] > 0
    settings_of = [letters(row, MEASURED, "measurement") for row in measurement_data]
    six = type(preparation_basis).__name__ == "Pauli6PreparationBasis"
    inputs_of = [
        letters(row, PREPARED_SIX if six else PREPARED, "preparation") if process else "0" * n
        for row in preparation_data
    ]
    record = _record(np.asarray(outcome_data[0]), inputs_of, settings_of, n)
    readout = _readout(measurement_basis, measurement_qubits, n)
    metadata: dict[str, Any] = {"fitter": "bsfw", "output_dims": (2,) * n, "input_dims": (2,) * n if process else (1,)}
    if process:
        problem = ProcessTomography.from_record(record, readout=readout, rank=rank)
        result = minimize(problem, **settings)
        matrix = choi_matrix(problem.kraus(result.x))
    else:
        state = StateTomography(record, loss=loss, rank=2**n if rank is None else rank, readout=readout)
        result = minimize(state, **settings)
        matrix = state.matrix(result.x)
    metadata |= {"iterations": result.nit, "objective": result.fun, "fitter_time": time.perf_counter() - started}
    return matrix, metadata


def _check(outcome_data: Array, measured: Any, prepared: Any, preparation_data: Array) -> None:
    if len(outcome_data) != 1:
        raise ValueError("bsfw.quantum.fitter does not condition on classical bits of the circuit.")
    bases: list[tuple[Any, tuple[str, ...]]] = [(measured, ("PauliMeasurementBasis",))]
    if preparation_data.shape[1]:
        bases.append((prepared, ("PauliPreparationBasis", "Pauli6PreparationBasis")))
    for basis, names in bases:
        if basis is not None and type(basis).__name__ not in names:
            raise ValueError(f"bsfw.quantum.fitter knows the {' and '.join(names)} only, got {type(basis).__name__}.")


def _record(outcomes: Array, inputs_of: list[str], settings_of: list[str], n: int) -> Record:
    inputs = sorted(set(inputs_of), key=lambda label: [INPUTS.index(letter) for letter in label])
    settings = sorted(set(settings_of))
    counts = np.zeros((len(inputs), len(settings), 2**n), dtype=np.int64)
    for prepared, measured, row in zip(inputs_of, settings_of, outcomes, strict=True):
        counts[inputs.index(prepared), settings.index(measured)] += row
    return Record(Design.of(n, inputs, settings), counts)


def _readout(basis: Any, qubits: Any, n: int) -> list[Array] | None:
    """A[read, true] of each letter, from what the basis calls the effects of a Z measurement; the last qubit first."""
    if basis is None:
        return None
    chosen = range(n) if qubits is None else qubits
    matrices = [
        np.array([np.diag(np.asarray(basis.matrix((0,), read, (qubit,)))).real for read in (0, 1)]) for qubit in chosen
    ]
    if all(np.abs(matrix - np.eye(2)).max() < 1e-12 for matrix in matrices):
        return None
    return matrices[::-1]
