"""The objective of quantum state tomography."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, converted, digest, host, host_dtype, inner, is_foreign, namespace, positive_int
from ..constraints.balls import L2Ball
from ..constraints.base import Constraint
from ..constraints.spectral import Spectraplex
from ..objectives.base import Line, Objective
from . import conversions, truths
from .counts import Record, read, readout_matrices
from .fidelity import state_fidelity
from .inversion import on_simplex, pauli_estimates
from .lines import LikelihoodLine, PolynomialLine
from .losses import Likelihood, OutcomeSquares, quartic
from .measurements import pauli_phases, walsh
from .settling import Settled
from .transforms import index_like

STATE_LOSSES = ("likelihood", "least-squares")
_QUBITS = 5
"""As in `losses`: transforms of more qubits go in two products."""
_ALL = slice(None)


class StateTomography(Objective):
    """A density matrix from counted outcomes of Pauli settings.

    **The variable.** Without a rank x is the density matrix (d, d) itself, d = 2^n, on ``bsfw.Spectraplex()``: f is
    convex, and the Frank-Wolfe gap of the run bounds how far f is from its least value. With ``rank=r`` x is a factor
    (d, r) of it, rho = x x^H, on ``bsfw.L2Ball``: not convex, but r times smaller, and NumPy, PyTorch or JAX; `gap`
    gives the same certificate for any of both.

    **The losses.** "likelihood" is minus the logarithm of the multinomial one, "least-squares" half of chi^2 with the
    variances of the frequencies (`Likelihood`, `OutcomeSquares`), for a factor plus N (tr x x^H - 1)^2, N all shots.

    **The cost.** The means of all 4^n Pauli products are a Walsh-Hadamard transform of the entries of rho, O(n 4^n),
    and each setting's outcomes one of 2^n of these: a gradient never forms a Pauli matrix.

    Made by `from_counts`.

    Parameters
    ----------
    record : Record
        Of the one input 0...0.
    loss : {"likelihood", "least-squares"}
    rank : int, optional
    readout : list of arrays (2, 2), optional
        For each letter of a label the probabilities A[read, true].
    truth : array (d, k), optional
        Factor of the density matrix that was measured, for fidelities.
    like : array, optional
        Of the kind and on the device that arrays shall have; NumPy by default, and always without a rank.

    Examples
    --------
    >>> import bsfw
    >>> bell = [0.5**0.5, 0, 0, 0.5**0.5]
    >>> counts = bsfw.quantum.simulate_state_counts(bell, shots=1000, rng=0)
    >>> problem = bsfw.quantum.StateTomography.from_counts(counts, truth=bell)
    >>> result = bsfw.minimize(problem)
    >>> problem.fidelity(result.x) > 0.99
    True
    """

    shape: tuple[int, int]

    def __init__(
        self,
        record: Record,
        *,
        loss: str = "likelihood",
        rank: int | None = None,
        readout: list[Array] | None = None,
        truth: Array | None = None,
        like: Any = None,
    ) -> None:
        super().__init__()
        if loss not in STATE_LOSSES:
            raise ValueError(f"loss must be one of {', '.join(STATE_LOSSES)}, got {loss!r}.")
        self.record, self.design, self.readout, self.truth = record, record.design, readout, truth
        d = self.design.dimension
        self.rank = None if rank is None else positive_int(rank, "rank")
        if self.rank is not None and self.rank > d:
            raise ValueError(f"a state of {self.design.qubits} qubits has rank {d} at most, got {rank!r}.")
        if like is not None and is_foreign(like) and rank is None:
            raise ValueError("the spectraplex works on NumPy arrays only; give rank= for arrays of another kind.")
        self.shape = (d, d if self.rank is None else self.rank)
        self.quasar_rho = 1.0 if self.rank is None else None
        single = like is not None and host_dtype(like) in (np.float32, np.complex64)
        self.dtype = np.dtype(np.complex64 if single else np.complex128)
        self.loss_name = loss
        # The likelihood keeps the trace of a factor at 1 of itself, least squares do not.
        self._penalty = float(record.counts.sum()) if self.rank is not None and loss == "least-squares" else 0.0
        self._place(np.empty(0) if like is None else like, np.float32 if single else np.float64)

    def _place(self, like: Any, real: Any) -> None:
        """Tables of the run, as arrays of its kind."""

        def put(array: Array) -> Any:
            return converted(array, self.dtype if array.dtype.kind == "c" else real, like)

        self.like = put(np.empty(0))
        n, masks = self.design.qubits, np.arange(self.design.dimension)
        kind = Likelihood if self.loss_name == "likelihood" else OutcomeSquares
        self.loss: Likelihood | OutcomeSquares = kind(self.record.counts, self.design, put, self.readout)
        self._phases = put(pauli_phases(n).astype(complex))
        parts = (n,) if n <= _QUBITS else (n // 2, n - n // 2)
        self._walsh = [put(walsh(part).astype(complex)) for part in parts]
        d = self.design.dimension
        # Where [a, c] stands in a density matrix, and an entry [c, e] of an operator in its rows [a, c].
        self._entries = index_like((masks[:, None] ^ masks) * d + masks, like)
        self._places = index_like((masks[:, None] ^ masks) * d + masks[:, None], like)
        self._one = put(np.ones(1, dtype=complex))

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        labels: Any = None,
        bit_order: str = "same",
        readout: Any = None,
        truth: Any = None,
        **options: Any,
    ) -> StateTomography:
        """A state of which outcomes were counted, in any settings, each with its own number of shots.

        Parameters
        ----------
        counts : mapping or qiskit object
            ``{"XZ": {"00": 512, "01": 3, ...}, ...}``, the first letter for the last qubit of qiskit, bit 0 for the
            eigenvalue +1. Or a qiskit ``Result`` or ``PrimitiveResult`` with `labels`, or an ``ExperimentData`` of
            qiskit-experiments' StateTomography.
        labels, bit_order, readout
            As for `ProcessTomography.from_counts`.
        truth : array or qiskit object, optional
            A state vector or density matrix, for fidelities.
        **options
            loss, rank, like.
        """
        record = read(counts, process=False, labels=labels, bit_order=bit_order)
        factor = None if truth is None else truths.state_factor(truth, record.design.qubits)
        matrices = readout_matrices(readout, record.design.qubits)
        return cls(record, readout=matrices, truth=factor, **options)

    def default_constraint(self) -> Constraint:
        """The spectraplex; for a factor the Euclidean ball of radius 1.2, for tr x x^H = 1 shall lie inside."""
        return Spectraplex() if self.rank is None else L2Ball(1.2)

    def default_settings(self) -> dict[str, Any]:
        """Start at the linear inversion of the data, search along the direction, end when f has settled."""
        return {"x0": self.linear_inversion(), "step": "line-search", "callback": self.settled()}

    def settled(self, share: float = 1e-3) -> Settled:
        """The callback that ends a run; see there."""
        return Settled(self.parameters, self.record.counts.size, 1.0, share)

    @property
    def parameters(self) -> int:
        """How many real numbers a state of this rank has: 2 d r - r^2 - 1."""
        d, r = self.design.dimension, self.shape[1]
        return 2 * d * r - r * r - 1

    def linear_inversion(self) -> Any:
        """x of the nearest state to that with the measured Pauli means, a hundredth of the identity mixed in."""
        record, d = self.record, self.design.dimension
        means = pauli_estimates(record.frequencies, record.shots.astype(float), self.design, self.readout)[:, :, 0]
        raw = host(self._operator(converted(means, self.dtype, self.like))) / d
        values, vectors = np.linalg.eigh(0.5 * (raw + raw.conj().T))
        values = 0.99 * on_simplex(values, 1.0) + 0.01 / d
        if self.rank is None:
            return ((vectors * values) @ vectors.conj().T).astype(self.dtype)
        values, vectors = values[::-1][: self.rank], vectors[:, ::-1][:, : self.rank]
        return converted(vectors * np.sqrt(values / values.sum()), self.dtype, self.like)

    # The objective.

    def _hadamard(self, array: Any) -> Any:
        """sum_c array[., c] (-1)^(b.c)."""
        if len(self._walsh) == 1:
            return array @ self._walsh[0]
        high, low = self._walsh
        d = self.design.dimension
        return (high @ (array.reshape((d, len(high), len(low))) @ low)).reshape((d, d))

    def _means(self, rho: Any) -> Any:
        """tr(P rho) of all Pauli products P = (a, b), (d, d, 1), complex with a zero imaginary part."""
        products = rho.reshape((-1,))[self._entries]  # rho[c xor a, c] at [a, c]
        return (self._phases * self._hadamard(products))[:, :, None]

    def _operator(self, slope: Any) -> Any:
        """sum_P slope_P P: its row c has slope_P t in column c xor a."""
        rows = self._hadamard(self._phases * slope)
        return rows.reshape((-1,))[self._places]

    def _density(self, x: Any) -> Any:
        return x if self.rank is None else x @ namespace(x).conj(x).T

    def _value(self, x: Any) -> float:
        fit = float(self.loss.value(self._means(self._density(x)), _ALL)) + self.loss.rest
        return fit + self._penalty * (inner(x, x) - 1.0) ** 2 if self._penalty else fit

    def _by_density(self, rho: Any) -> Any:
        """The gradient by rho, Hermitian."""
        slope = self.loss.slope(self._means(rho), _ALL)[:, :, 0]
        return self._operator(slope * self._one)

    def _gradient(self, x: Any) -> Any:
        gradient = self._by_density(self._density(x))
        if self.rank is None:
            return gradient
        return 2.0 * (gradient @ x) + (4.0 * self._penalty * (inner(x, x) - 1.0)) * x

    def along(self, x: Any, direction: Any) -> Line:
        """f along a line, from the probabilities along it: counted as one function value."""
        self.counts.function_values += 1
        xp = namespace(x)
        if self.rank is None:
            parts = [x, direction]
        else:
            cross = x @ xp.conj(direction).T
            parts = [self._density(x), cross + xp.conj(cross).T, self._density(direction)]
        s = [self._means(part) for part in parts]
        if self.rank is None:
            s.append(0.0 * s[0])
        if isinstance(self.loss, Likelihood):
            p0, p1, p2 = (self.loss.probabilities(part) for part in s)
            return LikelihoodLine(self.loss, (p0, p1, p2))
        total = self.loss.quartic((s[0], s[1], s[2]), _ALL)
        if self._penalty:
            excess = (inner(x, x) - 1.0, 2.0 * inner(x, direction), inner(direction, direction))
            r0, r1, r2 = np.array(excess)[:, None]
            total = total + quartic((r0, r1, r2), 2.0 * self._penalty)
        return PolynomialLine(total)

    def fingerprint(self) -> str:
        """Hash of counts and settings, by which a checkpoint recognises the problem."""
        parts = type(self).__name__, self.design, self.shape, self.loss_name, self.record.counts
        return digest(*parts, *(self.readout or ()))

    # What x means.

    def matrix(self, x: Any) -> Array:
        """The density matrix (d, d), of trace 1, NumPy."""
        rho = host(self._density(x)).astype(complex)
        return np.asarray(rho / np.trace(rho).real)

    def state(self, x: Any) -> Any:
        """The state as `qiskit.quantum_info.DensityMatrix`."""
        return conversions.density_matrix(self.matrix(x))

    @property
    def shots(self) -> Array:
        """(1, settings)."""
        return self.record.shots

    @property
    def largest_rank(self) -> int:
        return self.design.dimension

    def observed(self) -> Array:
        """The frequencies, (1, settings, outcomes)."""
        return self.record.frequencies

    def with_counts(self, counts: Array, rank: int | None = None) -> StateTomography:
        """The same problem with other counts (1, settings, outcomes), and with another rank if one is given."""
        record = Record(self.design, counts)
        options: dict[str, Any] = {"loss": self.loss_name, "readout": self.readout, "truth": self.truth}
        return type(self)(record, rank=self.rank if rank is None else rank, like=self.like, **options)

    def fitted(self, x: Any) -> Array:
        """Probabilities of all outcomes by the state of x, (1, settings, outcomes), NumPy, readout included."""
        rho = converted(self.matrix(x), self.dtype, self.like)
        return np.moveaxis(host(self.loss.probabilities(self._means(rho))), -1, 0)

    def fidelity(self, x: Any, target: Any = None) -> float:
        """State fidelity to `target`, a vector or density matrix, or to the truth; in [0, 1]."""
        if target is None and self.truth is None:
            raise ValueError("the fidelity needs the state that was measured; give truth=, or a target.")
        factor = self.truth if target is None else truths.state_factor(target, self.design.qubits)
        assert factor is not None
        return state_fidelity(truths.state_factor(self.matrix(x), self.design.qubits, rtol=1e-7), factor)

    def gap(self, x: Any) -> float:
        """<grad, rho> - lambda_min(grad) at the state rho of x: f(rho) exceeds its least value by no more than that."""
        rho = converted(self.matrix(x), self.dtype, self.like)
        gradient = host(self._by_density(rho)).astype(complex)
        smallest = float(np.linalg.eigvalsh(0.5 * (gradient + gradient.conj().T))[0])
        return max(0.0, float(np.vdot(gradient, host(rho)).real) - smallest)
