"""The objective of quantum process tomography."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    converted,
    digest,
    host,
    host_dtype,
    is_foreign,
    namespace,
    positive,
    positive_int,
    require_finite,
)
from ..objectives.base import Objective
from . import conversions, truths
from .fidelity import process_fidelity
from .measurements import Design, pauli_order, pauli_rows

_BLOCK, _FOREIGN_BLOCK = 2**14, 2**22
"""Complex numbers in a temporary array: beyond, inputs are taken in blocks. NumPy's stay in the cache so (at 4 qubits
twice as fast as all at once); PyTorch and JAX pay for each operation and may have a GPU to fill."""


class ProcessTomography(Objective):
    """Least squares on the outcomes of a quantum process, plus a penalty on lost trace (paper, eq. QPT).

    f = (1/2) sum_s (f_s - A_s(U U^H))^2 + lambda ||sum_k M_k^H M_k - I||_F^2, nonconvex.

    **The variable** x, complex of shape (d^2, r) with d = 2^n, holds the r Kraus operators M_k, each a column, row by
    row. It is the paper's U in another orthonormal basis: U has the coefficients of M_k in the Pauli basis
    P_a / sqrt(d) (`coefficients`), and a unitary change of basis leaves inner products, singular values and so every
    Frank-Wolfe step as they are. The paper's set {||U||_op <= tau} therefore is ``bsfw.SpectralBall(tau)`` on x. For
    r = 1 that is the Euclidean ball ||M||_F <= tau, not the spectral ball of the d x d matrix M.

    **The sum.** A sample is one of the measurements s = (input, setting, outcome), 24^n if none is left out. The
    objectives of single samples are f_s = (m/2) (...)^2 + lambda (...)  for "sum", without the m for "mean", so that f
    is their average.

    **The cost.** Inputs and effects are pure, A_s(x) = sum_k |phi^H M_k psi|^2. A full gradient or value does not pass
    over the measurements: in each setting outcomes and Pauli means are Walsh-Hadamard transforms of each other, so that
    f depends on the data only by the mean of each Pauli product in each output (`Design.pauli_means`), 16^n numbers;
    with d^2 4^n products of two numbers and Walsh-Hadamard transforms as 2d matrix products (d, d) x (d, 4^n) it is
    O(2^n 16^n), exact to rounding. Batches of b measurements cost O(b d^2 + 16^n / d).

    Made by `random`, `from_truth` or `from_measurements`. Arrays are of the kind of the data, or of `like`: NumPy,
    PyTorch or JAX, double (or single) precision, on their device.

    Parameters
    ----------
    frequencies : array (inputs, settings, 2^n)
        f_s, real; any numbers, since noise is not clipped.
    design : Design
        Which inputs and settings these are.
    rank : int
        r, the number of Kraus operators sought.
    penalty : float
        lambda >= 0.
    reduction : {"sum", "mean"}
        "sum" as printed. "mean" divides the least squares, not the penalty, by the number of measurements: not the
        same problem, for lambda then weighs more.
    truth : array (s, d, d), optional
        Kraus operators of the process that was measured, for fidelities.

    Examples
    --------
    >>> import bsfw
    >>> problem = bsfw.quantum.ProcessTomography.random(qubits=2, noise=0.01, rng=0)
    >>> result = bsfw.minimize(problem, bsfw.SpectralBall(3.0), x0=problem.start(rng=0), max_rounds=3, max_iter=300)
    >>> problem.fidelity_normalised(result.x) > 0.95
    True
    """

    shape: tuple[int, int]
    n_samples: int

    def __init__(
        self,
        frequencies: Any,
        design: Design,
        *,
        rank: int = 1,
        penalty: float = 0.05,
        reduction: str = "sum",
        truth: Array | None = None,
    ) -> None:
        super().__init__()
        if not is_foreign(frequencies):
            frequencies = np.asarray(frequencies)
        if tuple(frequencies.shape) != design.shape:
            raise ValueError(
                f"the frequencies of {design.qubits} qubits must have the shape (inputs, settings, outcomes) = "
                f"{design.shape}, but have {tuple(frequencies.shape)}."
            )
        given = host_dtype(frequencies)
        if given.kind not in "biuf":
            raise TypeError(f"frequencies must be real numbers, got entries of type {given}.")
        if reduction not in ("sum", "mean"):
            raise ValueError(f"reduction must be 'sum' or 'mean', got {reduction!r}.")
        if not (np.isfinite(penalty) and penalty >= 0):
            raise ValueError(f"penalty (lambda of the paper) must be a finite number of at least 0, got {penalty!r}.")
        require_finite(frequencies, "frequencies")
        real = np.dtype(np.float32 if given == np.float32 else np.float64)
        self.dtype = np.dtype(np.complex64 if given == np.float32 else np.complex128)
        self.design, self.truth = design, truth
        self.rank, self.penalty, self.reduction = positive_int(rank, "rank"), float(penalty), reduction
        if self.rank > design.dimension**2:
            raise ValueError(
                f"a process on {design.qubits} qubits has rank {design.dimension**2} at most, got {rank!r}."
            )
        d = design.dimension
        self.shape = (d * d, self.rank)
        self.n_samples = int(np.prod(design.shape))
        self.frequencies = converted(frequencies, real, frequencies) if given != real else frequencies
        self.like = self.frequencies
        self._scale = 1.0 if reduction == "sum" else 1.0 / self.n_samples

        def put(array: Array) -> Any:
            return converted(array, self.dtype if array.dtype.kind == "c" else real, self.frequencies)

        weights, means, rest = design.pauli_means(host(frequencies))
        states, rows, masks = design.input_states(), pauli_rows(design.qubits), np.arange(d)
        self._rest = 0.5 * self._scale * rest
        weights *= self._scale / d
        self._weights = put(weights[:, :, None])
        self._means = put(means)
        self._states, self._adjoint_states = put(states), put(states.conj().T)
        self._rows = put(rows)
        self._weighted_rows = put((2.0 * weights[:, :, None] * rows).transpose(0, 2, 1).copy())
        self._partner = _index(masks[:, None] ^ masks, self.frequencies)
        self._no_excess = put(-np.eye(d, dtype=complex))
        self._block = _FOREIGN_BLOCK if is_foreign(frequencies) else _BLOCK
        width = max(16, self._block // d**2)  # products with fewer columns are slow
        self._blocks = [slice(start, start + width) for start in range(0, design.shape[0], width)]

    # Where problems come from.

    @classmethod
    def random(
        cls,
        qubits: int = 3,
        noise: float = 0.0,
        rng: np.random.Generator | int | None = None,
        **options: Any,
    ) -> ProcessTomography:
        """The paper's problem: a Haar-random unitary, measured with noise. Options are those of `from_truth`."""
        generator = np.random.default_rng(rng)
        return cls.from_truth(truths.haar_unitary(qubits, generator), noise, generator, **options)

    @classmethod
    def from_truth(
        cls,
        truth: Any,
        noise: float = 0.0,
        rng: np.random.Generator | int | None = None,
        *,
        shots: int | None = None,
        inputs: Any = None,
        settings: Any = None,
        like: Any = None,
        **options: Any,
    ) -> ProcessTomography:
        """A known process, measured with noise.

        Parameters
        ----------
        truth : array, qiskit object or str
            A unitary (d, d), Kraus operators (s, d, d), a qiskit operator, gate, circuit or channel, or the name of a
            gate in qiskit's library, e.g. "cx".
        noise : float
            xi, the standard deviation of Gaussian noise on each frequency.
        rng : numpy.random.Generator, int or None
            Source of the noise.
        shots : int, optional
            In place of Gaussian noise: repetitions of each setting on each input, multinomial.
        inputs, settings : list of labels or positions, optional
            What is measured, e.g. inputs=["00", "+r"], settings=["ZZ", "XY"]; default: all.
        like : array, optional
            Of the kind and on the device that the data shall have; its precision decides theirs. Default: NumPy.
        **options
            rank, penalty, reduction.
        """
        kraus = truths.as_kraus(truth)
        design = Design.of(kraus.shape[-1].bit_length() - 1, inputs, settings)
        frequencies = truths.measure(kraus, design, noise, shots, rng)
        if like is not None:
            single = host_dtype(like) in (np.float32, np.complex64)
            frequencies = converted(frequencies, np.float32 if single else np.float64, like)
        return cls(frequencies, design, truth=kraus, **options)

    @classmethod
    def from_measurements(
        cls,
        frequencies: Any,
        qubits: int | None = None,
        *,
        inputs: Any = None,
        settings: Any = None,
        truth: Any = None,
        **options: Any,
    ) -> ProcessTomography:
        """A process of which only measurements are known.

        Parameters
        ----------
        frequencies : array
            f_s in the order input, setting, outcome, the last one fastest: flat, or of the shape
            (inputs, settings, 2^n). Inputs count through "01+r" and settings through "XYZ", the last letter fastest;
            outcome bits are 0 for the eigenvalue +1.
        qubits : int, optional
            n; may be left out if nothing is left out of the 24^n measurements.
        inputs, settings : list of labels or positions, optional
            What was measured, in the order of the data; default: all.
        truth : optional
            As in `from_truth`, for fidelities.
        **options
            rank, penalty, reduction.
        """
        if not is_foreign(frequencies):
            frequencies = np.asarray(frequencies)
        size = int(np.prod(frequencies.shape))
        if qubits is None:
            qubits = next((n for n in range(1, 12) if 24**n == size), None)
            if qubits is None:
                raise ValueError(
                    f"got {size} measurements, but all inputs and settings of n qubits give 24^n (24, 576, ...); "
                    "name qubits=, inputs= and settings= of what was measured."
                )
        design = Design.of(qubits, inputs, settings)
        expected = int(np.prod(design.shape))
        if size != expected:
            power = f" = 24^{design.qubits}" if design.complete else ""
            raise ValueError(
                f"got {size} measurements, but {len(design.inputs)} inputs, {len(design.settings)} settings and "
                f"{design.dimension} outcomes of {design.qubits} qubits give {expected}{power}."
            )
        if frequencies.ndim == 1:
            frequencies = frequencies.reshape(design.shape)
        kraus = None if truth is None else truths.as_kraus(truth)
        if kraus is not None and kraus.shape[-1] != design.dimension:
            raise ValueError(
                f"the truth acts on dimension {kraus.shape[-1]}, but {design.qubits} qubits have {design.dimension}."
            )
        return cls(frequencies, design, truth=kraus, **options)

    def start(self, rng: np.random.Generator | int | None = None) -> Any:
        """The paper's start: Pauli coefficients U uniform in [0, 1] + i [0, 1], scaled to tr U U^H = d."""
        generator = np.random.default_rng(rng)
        U = generator.random(self.shape) + 1j * generator.random(self.shape)
        U *= np.sqrt(self.design.dimension) / np.linalg.norm(U)
        return self.variable(converted(U, self.dtype, self.frequencies))

    # The objective.

    def _matrices(self, x: Any) -> list[Any]:
        """The Kraus operators M_k."""
        d = self.design.dimension
        if self.rank == 1:
            return [x.reshape((d, d))]
        return [x[:, k].reshape((d, d)) for k in range(self.rank)]

    def _column(self, matrices: list[Any]) -> Any:
        """x from Kraus operators."""
        if self.rank == 1:
            return matrices[0].reshape(self.shape)
        return namespace(matrices[0]).stack([matrix.reshape((-1,)) for matrix in matrices], axis=1)

    def _residuals(self, matrices: list[Any]) -> Iterator[tuple[slice, list[Any], Any]]:
        """By block of inputs: it, the outputs M_k psi at the partners c xor a of all rows c, and s_P - mean_P.

        s_(a,b) = sum_c conj(v_c) t[a, b, c] v_(c xor a), summed over the outputs v of all Kraus operators. It is real,
        but left complex: taking the real part would only cost, and PyTorch multiplies no real with complex matrices.
        """
        xp = namespace(matrices[0])
        for block in self._blocks:
            whole = len(self._blocks) == 1
            outputs = [matrix @ (self._states if whole else self._states[:, block]) for matrix in matrices]
            partners = [output[self._partner] for output in outputs]
            products = xp.conj(outputs[0]) * partners[0]
            for output, partner in zip(outputs[1:], partners[1:], strict=True):
                products = products + xp.conj(output) * partner
            means = self._means if whole else self._means[:, :, block]
            yield block, partners, self._rows @ products - means

    def _excess(self, matrices: list[Any]) -> Any:
        """sum_k M_k^H M_k - I."""
        xp = namespace(matrices[0])
        return sum((xp.conj(matrix).T @ matrix for matrix in matrices), start=self._no_excess)

    def _value(self, x: Any) -> float:
        matrices = self._matrices(x)
        xp = namespace(x)
        total = 0.0
        for _, _, residual in self._residuals(matrices):
            total = total + (self._weights * xp.real(residual) ** 2).sum()
        excess = self._excess(matrices)
        lost = (xp.real(excess) ** 2 + xp.imag(excess) ** 2).sum()
        return 0.5 * float(total) + self._rest + self.penalty * float(lost)

    def _gradient(self, x: Any) -> Any:
        # sum_i Y_i M_k psi_i psi_i^H with Y_i = 2 sum_P w_P (s_P - mean_P) P, the residual as an operator.
        matrices = self._matrices(x)
        gradients = self._penalty_gradients(matrices)
        for block, partners, residual in self._residuals(matrices):
            operators = self._weighted_rows @ residual
            adjoint = self._adjoint_states if len(self._blocks) == 1 else self._adjoint_states[block]
            gradients = [
                gradient + (operators * partner).sum(axis=0) @ adjoint
                for gradient, partner in zip(gradients, partners, strict=True)
            ]
        return self._column(gradients)

    def _penalty_gradients(self, matrices: list[Any]) -> list[Any]:
        excess = self._excess(matrices)
        return [(4.0 * self.penalty) * (matrix @ excess) for matrix in matrices]

    # Batches of measurements.

    @cached_property
    def _effects(self) -> Any:
        return converted(self.design.effects(), self.dtype, self.frequencies)

    def _picked(self, matrices: list[Any], batch: Any) -> Iterator[tuple[Any, Any, list[Any]]]:
        """By piece of the batch: effects phi_s and inputs psi_s as rows, and 2 (|a_s|^2 - f_s) a_s by Kraus operator.

        Scaled such that the gradients of samples are the products of the three.
        """
        xp, d = namespace(matrices[0]), self.design.dimension
        inputs, effects = np.divmod(host(batch), self._effects.shape[0])
        outputs, states = [(matrix @ self._states).T for matrix in matrices], self._states.T
        frequencies = self.frequencies.reshape((-1,))
        width = self._block // d
        for start in range(0, len(inputs), width):
            piece = slice(start, start + width)
            at, where = _index(inputs[piece], self.frequencies), _index(effects[piece], self.frequencies)
            phi = self._effects[where]
            amplitudes = [(xp.conj(phi) * output[at]).sum(axis=1) for output in outputs]
            residual = -frequencies[_index(host(batch)[piece], self.frequencies)]
            for amplitude in amplitudes:
                residual = residual + xp.real(amplitude) ** 2 + xp.imag(amplitude) ** 2
            slope = (2.0 * self.n_samples * self._scale) * residual
            yield phi, states[at], [slope * amplitude for amplitude in amplitudes]

    def _batch_gradient(self, x: Any, batch: Any) -> Any:
        matrices, xp = self._matrices(x), namespace(x)
        gradients = self._penalty_gradients(matrices)
        for phi, psi, slopes in self._picked(matrices, batch):
            gradients = [
                gradient + (phi.T @ (slope[:, None] * xp.conj(psi))) / len(batch)
                for gradient, slope in zip(gradients, slopes, strict=True)
            ]
        return self._column(gradients)

    def sample_gradients(self, x: Any, batch: Any) -> Any:
        """Gradients of f_s, s in `batch`, stacked along a new first axis: rank one each, plus that of the penalty."""
        self.counts.sample_gradients += len(batch)
        matrices, xp = self._matrices(x), namespace(x)
        common = self._column(self._penalty_gradients(matrices))
        pieces = []
        for phi, psi, slopes in self._picked(matrices, batch):
            outer = (phi[:, :, None] * xp.conj(psi)[:, None, :]).reshape((-1, self.shape[0]))
            pieces.append(outer[:, :, None] * xp.stack(slopes, axis=1)[:, None, :] + common)
        return pieces[0] if len(pieces) == 1 else xp.concatenate(pieces, axis=0)

    def smoothness(self, radius: float | None = None) -> float:
        """L of the least squares and penalty on {||x||_F <= radius}; on the whole space a quartic has none.

        On a ``SpectralBall(tau)`` the radius is tau sqrt(r). A bound: D^2 f[h, h] is at most
        c (6 R^2 + 2 max(-f_s, 0)) + lambda (8 R^2 + 4 max(1, R^2)) times ||h||^2, with c the number of settings times
        the largest eigenvalue of Psi Psi^H.
        """
        if radius is None:
            return super().smoothness()
        R2 = positive(radius, "radius") ** 2
        spread = len(self.design.settings) * float(np.linalg.norm(self.design.input_states(), 2)) ** 2
        negative = max(0.0, -float(self.frequencies.min()))
        return self._scale * spread * (6 * R2 + 2 * negative) + self.penalty * (8 * R2 + 4 * max(1.0, R2))

    def fingerprint(self) -> str:
        """Hash of measurements and settings, by which a checkpoint recognises the problem."""
        return digest(type(self).__name__, self.design, self.shape, self.penalty, self.reduction, self.frequencies)

    # What x means.

    def kraus(self, x: Any) -> Any:
        """The Kraus operators M_k, (r, d, d)."""
        return namespace(x).stack(self._matrices(x), axis=0)

    def coefficients(self, x: Any) -> Any:
        """U of the paper, (d^2, r): U_a = tr(P_a^H M) / sqrt(d), Pauli products in the order II, IX, IY, IZ, XI, ..."""
        xp, d = namespace(x), self.design.dimension
        rows = _index(np.arange(d), x)
        # Row a of the diagonals holds M[c, c xor a] for all rows c.
        diagonals = [matrix[rows[None, :], self._partner] for matrix in self._matrices(x)]
        found = [(xp.conj(self._rows) @ diagonal[:, :, None]).reshape((-1,)) for diagonal in diagonals]
        order = _index(pauli_order(self.design.qubits), x)
        return xp.stack([column[order] for column in found], axis=1) / np.sqrt(d)

    def variable(self, U: Any) -> Any:
        """x from the Pauli coefficients U (d^2, r): the inverse of `coefficients`."""
        d = self.design.dimension
        back = _index(np.argsort(pauli_order(self.design.qubits)), U)
        rows = _index(np.arange(d)[:, None], U)
        matrices = []
        for k in range(self.rank):
            diagonals = (U[back, k].reshape((d, 1, d)) @ self._rows)[:, 0]
            # M[c, e] stands in row a = c xor e of the diagonals, at c.
            matrices.append(diagonals[self._partner, rows] / np.sqrt(d))
        return self._column(matrices)

    def probabilities(self, x: Any) -> Array:
        """A_s(x) for all measurements, (inputs, settings, outcomes), as a NumPy array."""
        return self.design.probabilities(host(self.kraus(x)))

    def fidelity(self, x: Any) -> float:
        """Process fidelity to the truth, un-normalised: linear in tr chi, so that it can exceed 1."""
        return process_fidelity(host(x), self._truth_columns, normalised=False)

    def fidelity_normalised(self, x: Any) -> float:
        """Process fidelity to the truth once chi is scaled to the trace d of a channel; in [0, 1]."""
        return process_fidelity(host(x), self._truth_columns)

    def fidelity_qiskit(self, x: Any) -> float:
        """What `qiskit.quantum_info.process_fidelity` says of x and the truth; equal to `fidelity`."""
        kraus = host(self.kraus(x))
        self._truth_columns  # noqa: B018  # says so if there is no truth
        assert self.truth is not None
        return conversions.process_fidelity(kraus, self.truth)

    @cached_property
    def _truth_columns(self) -> Array:
        if self.truth is None:
            raise ValueError("the fidelity needs the process that was measured; give truth= to from_measurements.")
        return np.ascontiguousarray(self.truth.reshape(len(self.truth), -1).T)

    def choi(self, x: Any) -> Any:
        """The process as `qiskit.quantum_info.Choi`, as it is: not scaled to preserve the trace."""
        return conversions.choi(host(self.kraus(x)))

    def chi(self, x: Any) -> Any:
        """The process as `qiskit.quantum_info.Chi`, chi = U U^H; its basis and scale are the paper's."""
        return conversions.chi(host(self.coefficients(x)))

    def operator(self, x: Any) -> Any:
        """M as `qiskit.quantum_info.Operator`, for rank 1; in general not unitary."""
        return conversions.operator(host(self.kraus(x)))


def _index(indices: Array, like: Any) -> Any:
    """Indices for arrays of the kind and device of `like`; of 32 bits, if they can be, for JAX may have no others."""
    if not is_foreign(like):
        return indices
    return converted(indices, np.int32 if indices.max() < 2**31 else np.int64, like)
