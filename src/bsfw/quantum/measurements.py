"""What is measured: product inputs, product Pauli settings, and their outcomes, all of them Kronecker products.

A process on n qubits, d = 2^n, is probed with input states that are products of |0>, |1>, |+>, |+i> (4^n of them), or
also of |-> and |-i>; its output is measured in 3^n settings, X, Y or Z on each qubit, with 2^n outcomes each.
Everywhere the first letter of a label, the leftmost Kronecker factor and the highest bit of an index belong to the same
qubit (which is the last one of qiskit).

A Pauli product is named by two bit masks (a, b): letter I, X, Y, Z where the bits of a and b are 00, 10, 11, 01. Row c
of it has its only nonzero in column c xor a, so that a table of signs replaces all 4^n matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from .._arrays import Array, positive_int, shown
from .._refusals import Refusing

INPUTS = "01+r-l"
"""Letters of input states, as in ``qiskit.quantum_info.Statevector.from_label``: r is |+i>, l is |-i>."""
_USUAL = 4
"""The first so many letters tell all of a process; they are taken if no inputs are named, and positions count them."""
SETTINGS = "XYZ"
MOST_QUBITS = 12
"""Matrices of more would take gigabytes each."""
MOST_LABELS = 10**5
"""Inputs and settings that are taken if none are named: those of eight qubits, whose measurements take 880 GB."""

_HALF = 0.5**0.5
_STATES = np.array([[1, 0, _HALF, _HALF, _HALF, _HALF], [0, 1, _HALF, 1j * _HALF, -_HALF, -1j * _HALF]])
_EIGENVECTORS = np.array(
    [
        [[_HALF, _HALF], [_HALF, -_HALF]],
        [[_HALF, _HALF], [1j * _HALF, -1j * _HALF]],
        [[1, 0], [0, 1]],
    ]
)
"""By setting; the columns belong to the eigenvalues +1 (outcome 0) and -1 (outcome 1)."""


def qubit_count(qubits: Any) -> int:
    """`qubits` as a number of qubits whose matrices fit into memory."""
    n = positive_int(qubits, "qubits")
    if n > MOST_QUBITS:
        raise ValueError(f"qubits must be {MOST_QUBITS} at most, for matrices have 4^n entries, got {shown(qubits)}.")
    return n


def parity(masks: Array) -> Array:
    """Number of ones in each mask, modulo 2."""
    counts = np.zeros_like(masks)
    while masks.any():
        counts ^= masks & 1
        masks = masks >> 1
    return counts


def walsh(qubits: int) -> Array:
    """The Walsh-Hadamard matrix (-1)^(o.m): (d, d), its own inverse up to d."""
    masks = np.arange(2**qubits)
    return np.asarray(1.0 - 2.0 * parity(masks[:, None] & masks))


def pauli_phases(qubits: int) -> Array:
    """i^-|a and b|, by which the Pauli product (a, b) differs from a real signed permutation: (d, d)."""
    masks = np.arange(2**qubits)
    powers = np.zeros((len(masks), len(masks)), dtype=int)
    for bit in range(qubits):
        powers += (masks[:, None] >> bit & 1) * (masks >> bit & 1)
    phases: Array = np.array([1, -1j, -1, 1j])[powers % 4]
    return phases


def pauli_rows(qubits: int) -> Array:
    """t[a, b, c], the entry of the Pauli product (a, b) in row c and column c xor a: (d, d, d) of 1, -1, i, -i."""
    return pauli_phases(qubits)[:, :, None] * walsh(qubits)


def pauli_order(qubits: int) -> Array:
    """Flat (a, b) index of each Pauli product in the usual order II..I, II..X, II..Y, II..Z, ..."""
    digits = _digits(np.arange(4**qubits), 4, qubits)
    place = 2 ** np.arange(qubits)[::-1]
    a, b = np.isin(digits, (1, 2)) @ place, np.isin(digits, (2, 3)) @ place
    return np.asarray(a * 2**qubits + b)


def _digits(indices: Array, base: int, length: int) -> Array:
    """Digits of each index, highest first, one row each."""
    return np.asarray(indices)[:, None] // base ** np.arange(length)[::-1] % base


@dataclass(frozen=True)
class Design(Refusing):
    """Which inputs and settings of n qubits were measured; frequencies come as (inputs, settings, outcomes).

    Attributes
    ----------
    qubits : int
    inputs, settings : tuple of int
        The labels as numbers, to the base 6 by "01+r-l" and to the base 3.
    """

    qubits: int
    inputs: tuple[int, ...]
    settings: tuple[int, ...]

    @classmethod
    def of(cls, qubits: Any, inputs: Any = None, settings: Any = None) -> Design:
        """All inputs and settings where None is given, else those of the labels or positions given."""
        n = qubit_count(qubits)
        counts = (4**n if inputs is None else 0, 3**n if settings is None else 0)
        if sum(counts) > MOST_LABELS:
            raise ValueError(
                f"all inputs and settings of {n} qubits are {sum(counts)}, and their measurements take "
                f"{8e-9 * 24**n:.3g} GB; name inputs= and settings= of what was measured."
            )
        return cls(n, _chosen(inputs, INPUTS, _USUAL, n, "inputs"), _chosen(settings, SETTINGS, 3, n, "settings"))

    @property
    def dimension(self) -> int:
        """d = 2^n."""
        return 1 << self.qubits

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the frequencies."""
        return len(self.inputs), len(self.settings), self.dimension

    @property
    def complete(self) -> bool:
        return self.settings == tuple(range(3**self.qubits)) and self.inputs == _usual(INPUTS, _USUAL, self.qubits)

    @property
    def input_labels(self) -> list[str]:
        return [
            "".join(INPUTS[k] for k in digits) for digits in _digits(np.array(self.inputs), len(INPUTS), self.qubits)
        ]

    @property
    def setting_labels(self) -> list[str]:
        return ["".join(SETTINGS[k] for k in digits) for digits in _digits(np.array(self.settings), 3, self.qubits)]

    def input_states(self) -> Array:
        """Psi, the input states as columns: (d, inputs)."""
        factors = [_STATES[:, digits] for digits in _digits(np.array(self.inputs), len(INPUTS), self.qubits).T]
        # Columns stay aligned: the Kronecker product is taken column by column.
        return reduce(lambda left, right: (left[:, None] * right).reshape(-1, left.shape[1]), factors)

    def basis(self, setting: int) -> Array:
        """The eigenvectors of a setting as columns, by outcome: (d, d)."""
        return reduce(np.kron, _EIGENVECTORS[_digits(np.array([setting]), 3, self.qubits)[0]])

    def effects(self) -> Array:
        """Phi, the vectors of all outcomes of all settings as rows: (settings * outcomes, d)."""
        return np.concatenate([self.basis(setting).T for setting in self.settings])

    def probabilities(self, kraus: Iterable[Array]) -> Array:
        """sum_k |phi^H M_k psi|^2 for the Kraus operators M_k: (inputs, settings, outcomes)."""
        outputs = [matrix @ self.input_states() for matrix in kraus]
        found = np.empty(self.shape)
        for place, setting in enumerate(self.settings):
            bra = self.basis(setting).conj().T
            found[:, place] = sum(np.abs(bra @ output) ** 2 for output in outputs).T
        return found

    def pauli_means(self, frequencies: Array) -> tuple[Array, Array, float]:
        """What least squares on the frequencies depends on: means of Pauli products in the outputs.

        In a setting the 2^n outcomes and the 2^n Pauli products that it measures are Walsh-Hadamard transforms of each
        other. By Parseval, for the values s of the Pauli products in the output states of a process,

            sum_(outcomes, settings) (p - f)^2 = 2^-n sum_P w_P (s_P - mean_P)^2 + rest,

        where w_P settings measure P and mean_P averages what they found: 16^n numbers in place of 24^n.

        Returns
        -------
        weights : array (d, d)
            w_P at (a, b).
        means : array (d, d, inputs)
        rest : float
            What no process can explain: the disagreement of settings on the same Pauli product.
        """
        n_inputs, _, d = self.shape
        measured, transform = self.measured(), walsh(self.qubits)
        weights, sums = np.zeros(d * d), np.zeros((n_inputs, d * d))
        for setting, products in enumerate(measured):
            weights[products] += 1.0
            sums[:, products] += frequencies[:, setting] @ transform
        means = sums / np.maximum(weights, 1.0)
        rest = 0.0
        for setting, products in enumerate(measured):
            rest += float(((frequencies[:, setting] @ transform - means[:, products]) ** 2).sum()) / d
        return weights.reshape(d, d), np.ascontiguousarray(means.T).reshape(d, d, n_inputs), rest

    def measured(self) -> Array:
        """Flat (a, b) indices of the 2^n Pauli products that each setting measures: (settings, d).

        Product m of a setting has its letters where mask m has ones, so that its value in an outcome o is the sign
        (-1)^(o.m): the rows of `walsh`.
        """
        masks, place = np.arange(self.dimension), 2 ** np.arange(self.qubits)[::-1]
        letters = _digits(np.array(self.settings), 3, self.qubits)
        x_part, z_part = (letters != 2) @ place, (letters != 0) @ place
        return np.asarray((masks & x_part[:, None]) * self.dimension + (masks & z_part[:, None]))


def _usual(letters: str, base: int, qubits: int) -> tuple[int, ...]:
    """All labels of the first `base` letters, as numbers to the base of all letters."""
    digits = _digits(np.arange(base**qubits), base, qubits)
    return tuple((digits @ len(letters) ** np.arange(qubits)[::-1]).tolist())


def _chosen(wanted: Any, letters: str, base: int, qubits: int, name: str) -> tuple[int, ...]:
    if wanted is None:
        return _usual(letters, base, qubits)
    if isinstance(wanted, str) or not isinstance(wanted, (Sequence, np.ndarray)) or len(wanted) == 0:
        raise ValueError(f"{name} must be a list of labels such as {letters[:1] * qubits!r} or of positions, "
                         f"got {wanted!r}.")  # fmt: skip
    chosen = tuple(_position(item, letters, base, qubits, name) for item in wanted)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"{name} has the same entry twice; name each once, and average what was measured twice.")
    return chosen


def _position(item: Any, letters: str, base: int, qubits: int, name: str) -> int:
    if isinstance(item, str) and len(item) == qubits and set(item) <= set(letters):
        return reduce(lambda number, letter: number * len(letters) + letters.index(letter), item, 0)
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool) and 0 <= item < base**qubits:
        return int(_digits(np.array([item]), base, qubits)[0] @ len(letters) ** np.arange(qubits)[::-1])
    raise ValueError(
        f"{name} has {item!r}, which is neither {qubits} letter{'s' * (qubits > 1)} of {letters!r} nor a position from "
        f"0 to {base**qubits - 1}."
    )
