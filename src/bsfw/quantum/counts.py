"""Counts of outcomes as people have them: dictionaries, and what qiskit and qiskit-experiments give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array
from .measurements import INPUTS, SETTINGS, Design

PREPARED, PREPARED_SIX, MEASURED = "01+r", "01+-rl", "ZXY"
"""Letters in the order of qiskit-experiments' Pauli- and Pauli6PreparationBasis, and PauliMeasurementBasis."""


@dataclass(frozen=True)
class Record:
    """What was counted.

    Attributes
    ----------
    design : Design
        The inputs and settings that occur; a state has the one input 0...0.
    counts : array (inputs, settings, 2^n)
        Zeros for pairs that were not measured.
    """

    design: Design
    counts: Array

    @property
    def shots(self) -> Array:
        """(inputs, settings)."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def frequencies(self) -> Array:
        """(inputs, settings, 2^n); zeros where nothing was measured."""
        return np.asarray(self.counts / np.maximum(self.shots, 1)[:, :, None])


def read(
    counts: Any, *, process: bool, labels: Sequence[Any] | None = None, bit_order: str = "same", qubits: Any = None
) -> Record:
    """Counts of a process (or of a state) as arrays.

    Parameters
    ----------
    counts : mapping or qiskit object
        ``{("0+", "XZ"): {"00": 512, ...}, ...}``, for a state ``{"XZ": {...}}``; a qiskit ``Result`` or
        ``PrimitiveResult``, with `labels`; or a qiskit-experiments ``ExperimentData`` of the Pauli bases.
    process : bool
        Whether keys are pairs (input, setting), or settings only.
    labels : sequence, optional
        For ``Result`` and ``PrimitiveResult``: the keys of its circuits, in their order.
    bit_order : {"same", "reversed"}
        "same": letter k of a label and bit k of an outcome belong to one qubit, as where Paulis and counts are both
        written in qiskit's order. "reversed": letter k belongs to the k-th bit from the right.
    qubits : int, optional
        Their number, where it shall be checked.
    """
    if bit_order not in ("same", "reversed"):
        raise ValueError(f"bit_order must be 'same' or 'reversed', got {bit_order!r}.")
    pairs = _pairs(counts, labels, process)
    if not pairs:
        raise ValueError("there are no counts: give at least one setting with the counts of its outcomes.")
    n = len(_key(pairs[0][0], process)[1])
    if qubits is not None and n != qubits:
        raise ValueError(f"the counts are of {n} qubits, as the label {pairs[0][0]!r} says, but qubits is {qubits!r}.")
    found: dict[tuple[str, str], Array] = {}
    for key, outcomes in pairs:
        pair = _key(key, process, n)
        if pair in found:
            raise ValueError(f"the counts have {key!r} twice; add up the counts of repeated measurements first.")
        found[pair] = _outcomes(outcomes, key, n, bit_order)
    return _record(found, n)


def _record(found: Mapping[tuple[str, str], Array], n: int) -> Record:
    inputs = sorted({prepared for prepared, _ in found}, key=lambda label: [INPUTS.index(letter) for letter in label])
    settings = sorted({measured for _, measured in found})
    table = np.zeros((len(inputs), len(settings), 2**n), dtype=np.int64)
    where = {label: k for k, label in enumerate(inputs)}, {label: k for k, label in enumerate(settings)}
    for (prepared, measured), outcomes in found.items():
        table[where[0][prepared], where[1][measured]] = outcomes
    return Record(Design.of(n, inputs, settings), table)


def _pairs(counts: Any, labels: Sequence[Any] | None, process: bool) -> list[tuple[Any, Any]]:
    if isinstance(counts, Mapping):
        if labels is not None:
            raise ValueError("labels= belongs to a qiskit result; a dictionary of counts has its labels as keys.")
        return list(counts.items())
    if hasattr(counts, "analysis_results") and callable(getattr(counts, "data", None)):
        return _experiment_data(counts, process)
    if hasattr(counts, "get_counts") or type(counts).__name__ == "PrimitiveResult":
        return _qiskit_result(counts, labels, process)
    example = '{("0+", "XZ"): {"00": 512, "11": 488}, ...}' if process else '{"XZ": {"00": 512, "11": 488}, ...}'
    raise TypeError(
        f"counts must be a dictionary such as {example}, a qiskit Result or PrimitiveResult with labels=, or "
        f"qiskit-experiments' ExperimentData; got {type(counts).__name__}."
    )


def _qiskit_result(result: Any, labels: Sequence[Any] | None, process: bool) -> list[tuple[Any, Any]]:
    if hasattr(result, "get_counts"):
        tables = [result.get_counts(k) for k in range(len(result.results))]
    else:
        tables = [part.join_data().get_counts() for part in result]
    if labels is None or len(labels) != len(tables):
        given = "none are" if labels is None else f"{len(labels)} are"
        key = '("0+", "XZ")' if process else '"XZ"'
        raise ValueError(
            f"the result has the counts of {len(tables)} circuits and no word of what they prepared and measured: give "
            f"labels=, one key such as {key} for each circuit in order ({given} given)."
        )
    return list(zip(labels, tables, strict=True))


def _experiment_data(data: Any, process: bool) -> list[tuple[Any, Any]]:
    """By the indices in qiskit-experiments' metadata, which begin with qubit 0, the last letter of a label."""
    pairs, alphabet = [], _prepared_by(data)
    for entry in data.data():
        facts = entry.get("metadata", {})
        if "m_idx" not in facts or ("p_idx" in facts and bool(facts["p_idx"])) != process:
            kind = "process" if process else "state"
            raise ValueError(f"the ExperimentData are not of {kind} tomography: their metadata lack its indices.")
        measured = letters(facts["m_idx"], MEASURED, "measurement")
        key = (letters(facts["p_idx"], alphabet, "preparation"), measured) if process else measured
        pairs.append((key, _marginal(entry["counts"], facts.get("clbits"))))
    return pairs


def _prepared_by(data: Any) -> str:
    """The letters of its preparation basis; without the experiment only indices above 3 tell the six from the four."""
    analysis = getattr(getattr(data, "experiment", None), "analysis", None)
    basis = None if analysis is None else getattr(analysis.options, "preparation_basis", None)
    if basis is not None:
        return PREPARED_SIX if type(basis).__name__ == "Pauli6PreparationBasis" else PREPARED
    used = [index for entry in data.data() for index in entry.get("metadata", {}).get("p_idx") or ()]
    return PREPARED_SIX if max(used, default=0) >= len(PREPARED) else PREPARED


def _marginal(counts: Mapping[str, int], clbits: Sequence[int] | None) -> Mapping[str, int]:
    if not clbits:
        return counts
    out: dict[str, int] = {}
    for bits, count in counts.items():
        plain = bits.replace(" ", "")
        kept = "".join(plain[len(plain) - 1 - bit] for bit in sorted(clbits, reverse=True))
        out[kept] = out.get(kept, 0) + count
    return out


def letters(indices: Iterable[int], alphabet: str, what: str) -> str:
    """A label from qiskit-experiments' basis indices, which begin with qubit 0."""
    indices = [int(index) for index in indices]
    if not all(0 <= index < len(alphabet) for index in indices):
        raise ValueError(
            f"the {what} indices {indices} are not those of qiskit-experiments' Pauli basis, 0 to {len(alphabet) - 1}; "
            "other bases are not supported."
        )
    return "".join(alphabet[index] for index in reversed(indices))


def _key(key: Any, process: bool, n: int | None = None) -> tuple[str, str]:
    if process:
        if not (isinstance(key, tuple) and len(key) == 2 and all(isinstance(part, str) for part in key)):
            raise ValueError(f'a key must be a pair of labels, (input, setting), such as ("0+", "XZ"), got {key!r}.')
        prepared, measured = key
        if len(prepared) != len(measured):
            raise ValueError(f"the input and the setting of {key!r} are of different numbers of qubits.")
    else:
        if not isinstance(key, str):
            raise ValueError(f'a key must be a setting such as "XZ", got {key!r}.')
        prepared, measured = "0" * len(key), key
    if not measured or (n is not None and len(measured) != n):
        raise ValueError(f"the label {key!r} has {len(measured)} letters, but the first one {n}: one for each qubit.")
    if set(prepared) - set(INPUTS):
        raise ValueError(f"the input {prepared!r} has letters other than those of {INPUTS!r} (r is |+i>, l is |-i>).")
    if set(measured) - set(SETTINGS):
        raise ValueError(f"the setting {measured!r} has letters other than those of {SETTINGS!r}.")
    return prepared, measured


def _outcomes(outcomes: Any, key: Any, n: int, bit_order: str) -> Array:
    if not isinstance(outcomes, Mapping):
        raise ValueError(f'the counts of {key!r} must be a dictionary such as {{"{"0" * n}": 512}}, got {outcomes!r}.')
    table = np.zeros(2**n, dtype=np.int64)
    seen: set[str] = set()
    for given, count in outcomes.items():
        bits = given.replace(" ", "") if isinstance(given, str) else None
        if bits is None or len(bits) != n or set(bits) - {"0", "1"}:
            raise ValueError(f"the counts of {key!r} have the outcome {given!r}, which is no string of {n} bits.")
        if bits in seen:
            raise ValueError(f"the counts of {key!r} have the outcome {given!r} twice.")
        seen.add(bits)
        whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
        whole = whole or (isinstance(count, (float, np.floating)) and float(count).is_integer())
        if not whole or count < 0:
            raise ValueError(
                f"the counts of {key!r} have {count!r} for {given!r}; counts are whole numbers of at least 0 (for "
                "frequencies there is from_measurements)."
            )
        table[int(bits if bit_order == "same" else bits[::-1], 2)] = count
    if table.sum() == 0:
        raise ValueError(f"the setting {key!r} has no shots; leave it out.")
    return table


def readout_matrices(readout: Any, n: int) -> list[Array] | None:
    """One matrix A[read, true] for each letter of a label, or a sentence why `readout` is not that."""
    if readout is None:
        return None
    given = [np.asarray(matrix, dtype=float) for matrix in readout]
    if len(given) != n:
        raise ValueError(f"readout must have one 2 x 2 matrix for each of the {n} qubits, got {len(given)}.")
    for place, matrix in enumerate(given):
        fits = matrix.shape == (2, 2) and bool(np.isfinite(matrix).all()) and bool((matrix >= 0).all())
        if not fits or np.abs(matrix.sum(axis=0) - 1).max() > 1e-6:
            raise ValueError(
                f"readout[{place}] must be a 2 x 2 matrix of the probabilities to read 0 or 1 (row) where 0 or 1 is "
                f"true (column), so that each column sums to 1, got {matrix.tolist()}."
            )
        if abs(np.linalg.det(matrix)) < 1e-6:
            raise ValueError(f"readout[{place}] reads the same whatever is true: it tells nothing of the qubit.")
    return given
