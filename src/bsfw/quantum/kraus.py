"""The variable of process tomography, Kraus operators as columns, and the channel that it stands for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, host, is_foreign, namespace
from .._refusals import Refusing
from . import channels, conversions, truths
from .fidelity import process_fidelity
from .measurements import Design, pauli_order
from .transforms import PauliTransform, index_like


class KrausVariable(Refusing):
    """x, complex of shape (d^2, r): the Kraus operators M_k of a process, each a column, row by row.

    What comes out is a channel: completely positive as it is made of Kraus operators, and trace-preserving by
    M_k -> M_k (sum_j M_j^H M_j)^(-1/2), exact for any rank. ``trace_preserving=False`` leaves x as it is.
    """

    design: Design
    rank: int
    shape: tuple[int, int]
    truth: Array | None
    readout: list[Array] | None
    _transform: PauliTransform

    @property
    def largest_rank(self) -> int:
        return self.design.dimension**2

    @property
    def parameters(self) -> int:
        """How many real numbers a channel of this rank has: 2 d^2 r - r^2 - d^2.

        Less r^2, as two x that differ by a unitary (r, r) from the right are the same channel; d^2 for the trace.
        """
        d, r = self.design.dimension, self.rank
        return 2 * d * d * r - r * r - d * d

    def _matrices(self, x: Any) -> list[Any]:
        """The Kraus operators M_k as they are."""
        d = self.design.dimension
        return [x[:, k].reshape((d, d)) for k in range(self.rank)]

    def _stacked(self, x: Any) -> Any:
        """The Kraus operators below each other, (r d, d)."""
        d = self.design.dimension
        return x.T.reshape((self.rank * d, d))

    def _column(self, stacked: Any) -> Any:
        """x again: the inverse of `_stacked`."""
        return stacked.reshape((self.rank, -1)).T

    def kraus(self, x: Any, trace_preserving: bool = True) -> Any:
        """The Kraus operators of the channel, (r, d, d), an array of the kind of x."""
        d = self.design.dimension
        raw = self._stacked(x).reshape((self.rank, d, d))
        return channels.trace_preserving(raw) if trace_preserving else raw

    def factor(self, x: Any, trace_preserving: bool = True) -> Array:
        """Columns whose outer products sum to the Choi matrix, entries row by row: (d^2, r), NumPy."""
        kraus = host(self.kraus(x, trace_preserving))
        return np.ascontiguousarray(kraus.reshape(len(kraus), -1).T)

    def coefficients(self, x: Any) -> Any:
        """U of the paper, (d^2, r): U_a = tr(P_a^H M) / sqrt(d), Pauli products in the order II, IX, IY, IZ, XI, ...

        Of x as it is; a unitary change of basis.
        """
        xp, d = namespace(x), self.design.dimension
        rows = index_like(np.arange(d), x)
        # Row a of the diagonals holds M[c, c xor a] for all rows c.
        diagonals = [matrix[rows[None, :], self._transform.partner] for matrix in self._matrices(x)]
        found = [(xp.conj(self._transform.rows) @ diagonal[:, :, None]).reshape((-1,)) for diagonal in diagonals]
        order = index_like(pauli_order(self.design.qubits), x)
        return xp.stack([column[order] for column in found], axis=1) / np.sqrt(d)

    def variable(self, U: Any) -> Any:
        """x from the Pauli coefficients U (d^2, r): the inverse of `coefficients`."""
        d = self.design.dimension
        back = index_like(np.argsort(pauli_order(self.design.qubits)), U)
        rows = index_like(np.arange(d)[:, None], U)
        matrices = []
        for k in range(self.rank):
            diagonals = (U[back, k].reshape((d, 1, d)) @ self._transform.rows)[:, 0]
            # M[c, e] stands in row a = c xor e of the diagonals, at c.
            matrices.append(diagonals[self._transform.partner, rows] / np.sqrt(d))
        return self._column(namespace(U).concat(matrices, axis=0) if is_foreign(U) else np.concatenate(matrices))

    def choi(self, x: Any, trace_preserving: bool = True) -> Any:
        """The channel as `qiskit.quantum_info.Choi`."""
        return conversions.choi(host(self.kraus(x, trace_preserving)))

    def chi(self, x: Any, trace_preserving: bool = True) -> Any:
        """The channel as `qiskit.quantum_info.Chi`, chi = U U^H; its basis and scale are the paper's."""
        x = self._column(self.kraus(x, trace_preserving))
        return conversions.chi(host(self.coefficients(x)))

    def operator(self, x: Any, trace_preserving: bool = True) -> Any:
        """The only Kraus operator as `qiskit.quantum_info.Operator`, for rank 1; unitary if trace-preserving."""
        return conversions.operator(host(self.kraus(x, trace_preserving)))

    def ptm(self, x: Any, trace_preserving: bool = True) -> Array:
        """The Pauli transfer matrix R_ab = tr(P_a Lambda(P_b)) / d, (d^2, d^2), real, in the order II, IX, IY, ..."""
        return channels.ptm(host(self.kraus(x, trace_preserving)))

    def matrix(self, x: Any) -> Array:
        """The Choi matrix of the channel divided by d, a density matrix, in qiskit's order: (d^2, d^2), NumPy."""
        return channels.choi_matrix(self.kraus(x)) / self.design.dimension

    def fitted(self, x: Any) -> Array:
        """Probabilities of all outcomes by the channel of x, (inputs, settings, outcomes), NumPy, readout included."""
        return truths.misread(self.design.probabilities(host(self.kraus(x))), self.readout)

    def probabilities(self, x: Any) -> Array:
        """A_s(x) for all measurements: as `fitted`, but of x as it is."""
        return truths.misread(self.design.probabilities(host(self.kraus(x, trace_preserving=False))), self.readout)

    def fidelity(self, x: Any, target: Any = None) -> float:
        """Process fidelity of the channel to `target`, in [0, 1].

        Parameters
        ----------
        x : array
        target : optional
            A unitary, Kraus operators, anything of qiskit's or the name of a gate; default: the problem's truth.
        """
        return process_fidelity(self.factor(x), self._target_columns(target), normalised=False)

    def average_gate_fidelity(self, x: Any, target: Any = None) -> float:
        """(d F + 1) / (d + 1) with the process fidelity F to a unitary: the mean over all pure inputs."""
        d = self.design.dimension
        columns = self._target_columns(target)
        if columns.shape[1] > 1:
            raise ValueError("the average gate fidelity is that to a unitary, but the target has several operators.")
        return (d * self.fidelity(x, target) + 1.0) / (d + 1.0)

    def diamond_distance(self, x: Any, target: Any = None) -> tuple[float, float]:
        """Bounds below and above of half the diamond norm of the channel less the target, both in [0, 1]."""
        return channels.diamond_bounds(self.factor(x), self._target_columns(target))

    def fidelity_as_is(self, x: Any) -> float:
        """Process fidelity of x as it is to the truth: linear in tr chi, so that it can exceed 1 (the paper's)."""
        return process_fidelity(host(x), self._truth_columns, normalised=False)

    def fidelity_normalised(self, x: Any) -> float:
        """Process fidelity to the truth once chi is scaled to the trace d of a channel; in [0, 1]."""
        return process_fidelity(host(x), self._truth_columns)

    def fidelity_qiskit(self, x: Any) -> float:
        """What `qiskit.quantum_info.process_fidelity` says of x as it is and the truth; equal to `fidelity_as_is`."""
        kraus = host(self.kraus(x, trace_preserving=False))
        self._truth_columns  # noqa: B018  # says so if there is no truth
        assert self.truth is not None
        return conversions.process_fidelity(kraus, self.truth)

    @cached_property
    def _truth_columns(self) -> Array:
        if self.truth is None:
            raise ValueError("the fidelity needs the process that was measured; give truth=, or a target.")
        return np.ascontiguousarray(self.truth.reshape(len(self.truth), -1).T)

    def _target_columns(self, target: Any) -> Array:
        if target is None:
            return self._truth_columns
        kraus = checked_truth(target, self.design)
        return np.ascontiguousarray(kraus.reshape(len(kraus), -1).T)


def checked_truth(truth: Any, design: Design) -> Array:
    """`truth` as Kraus operators on the qubits of the design."""
    kraus = truths.as_kraus(truth)
    if kraus.shape[-1] != design.dimension:
        raise ValueError(
            f"the truth acts on dimension {kraus.shape[-1]}, but {design.qubits} qubits have {design.dimension}."
        )
    return kraus
