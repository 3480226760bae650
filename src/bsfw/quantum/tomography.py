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
    number,
    own,
    plain,
    positive,
    positive_int,
    require_finite,
    shown,
)
from .._sampling import generator
from ..constraints.balls import L2Ball
from ..objectives.base import Line, Objective
from . import truths
from .counts import Record, read, readout_matrices
from .inversion import linear_inversion
from .kraus import KrausVariable, checked_truth
from .lines import PolynomialLine
from .losses import OutcomeSquares, PauliSquares, quartic
from .measurements import Design
from .settling import Settled
from .transforms import PauliTransform, index_like


class ProcessTomography(KrausVariable, Objective):
    """Least squares on the outcomes of a quantum process, plus a penalty on lost trace (paper, eq. QPT).

    f = (1/2) sum_s w_s (f_s - A_s(U U^H))^2 + lambda ||sum_k M_k^H M_k - I||_F^2, nonconvex, with w_s = 1 as in the
    paper, or from the shots (`from_counts`).

    **The variable** x, complex of shape (d^2, r) with d = 2^n, holds the r Kraus operators M_k, each a column, row by
    row. It is the paper's U in another orthonormal basis: U has the coefficients of M_k in the Pauli basis
    P_a / sqrt(d) (`coefficients`), and a unitary change of basis leaves inner products, singular values and so every
    Frank-Wolfe step as they are. The paper's set {||U||_op <= tau} therefore is ``bsfw.SpectralBall(tau)`` on x. For
    r = 1 that is the Euclidean ball ||M||_F <= tau, not the spectral ball of the d x d matrix M.

    **The set.** ``bsfw.minimize(problem)`` takes the Euclidean ball of radius 1.2 sqrt(d): Kraus operators of a channel
    have ||x||_F = sqrt(d), and with the minimiser inside the ball the boosted direction is the negative gradient. It
    then starts at the linear inversion of the data, and steps to the minimiser of f along the direction, which is a
    quartic. The paper's tau = 10 (3.5 sqrt(d) at 3 qubits) with decaying steps walks around the minimiser instead.

    **The sum.** Without shots a sample is one of the measurements s = (input, setting, outcome), 24^n if none is left
    out. The objectives of single samples are f_s = (m/2) (...)^2 + lambda (...)  for "sum", without the m for "mean",
    so that f is their average. With shots there are no samples.

    **The cost.** Inputs and effects are pure, ``A_s(x) = sum_k |phi^H M_k psi|^2``. A full gradient or value does not
    pass over the measurements: in each setting outcomes and Pauli means are Walsh-Hadamard transforms of each other,
    so that f depends on the data only by the mean of each Pauli product in each output (`Design.pauli_means`), 16^n
    numbers; with d^2 4^n products of two numbers and Walsh-Hadamard transforms as 2d matrix products (d, d) x (d,
    4^n) it is O(2^n 16^n), exact to rounding. Weights by outcome add O(2^n 24^n). Batches of b measurements cost O(b
    d^2 + 16^n / d).

    Made by `from_counts`, `random`, `from_truth` or `from_measurements`. Arrays are of the kind of the data, or of
    `like`: NumPy, PyTorch or JAX, double (or single) precision, on their device.

    Parameters
    ----------
    frequencies : array (inputs, settings, 2^n)
        f_s, real; any numbers, since noise is not clipped.
    design : Design
        Which inputs and settings these are.
    rank : int
        r, the number of Kraus operators sought.
    penalty : float, optional
        lambda >= 0. Default: large enough that the trace is preserved up to what the data can tell, 2 / d^3 times the
        number of measurements (54 at 3 qubits), with shots 1 / 4d times their number; for "mean" divided as the
        squares are, so that both have the same minimiser. The paper has 0.05.
    reduction : {"sum", "mean"}
        "sum" as printed. "mean" divides the least squares, not a given penalty, by the number of measurements.
    truth : array (s, d, d), optional
        Kraus operators of the process that was measured, for fidelities.
    shots : array (inputs, settings), optional
        NumPy; how often each pair was measured, 0 for never. Each outcome is then weighted by its inverse multinomial
        variance (`OutcomeSquares`).
    readout : list of arrays (2, 2), optional
        With shots: for each letter of a label the probabilities A[read, true].

    Examples
    --------
    >>> import bsfw
    >>> counts = bsfw.quantum.simulate_counts("cx", shots=1000, rng=0)
    >>> problem = bsfw.quantum.ProcessTomography.from_counts(counts, truth="cx")
    >>> result = bsfw.minimize(problem)
    >>> problem.fidelity(result.x) > 0.99
    True
    """

    shape: tuple[int, int]

    def __init__(
        self,
        frequencies: Any,
        design: Design,
        *,
        rank: int = 1,
        penalty: float | None = None,
        reduction: str = "sum",
        truth: Array | None = None,
        shots: Array | None = None,
        readout: list[Array] | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(design, Design):
            raise TypeError(
                f"design must be a bsfw.quantum.measurements.Design, got {shown(design)}; from_measurements makes it."
            )
        if not is_foreign(frequencies):
            frequencies = plain(frequencies, "frequencies")
        if tuple(frequencies.shape) != design.shape:
            raise ValueError(
                f"the frequencies of {design.qubits} qubits must have the shape (inputs, settings, outcomes) = "
                f"{design.shape}, but have {tuple(frequencies.shape)}."
            )
        given = host_dtype(frequencies)
        if given.kind not in "biuf":
            raise TypeError(f"frequencies must be real numbers, got entries of type {given}.")
        if not isinstance(reduction, str) or reduction not in ("sum", "mean"):
            raise ValueError(f"reduction must be 'sum' or 'mean', got {shown(reduction)}.")
        if penalty is not None and number(penalty, "penalty (lambda of the paper)") < 0:
            raise ValueError(f"penalty (lambda of the paper) must be a finite number of at least 0, got {penalty!r}.")
        require_finite(frequencies, "frequencies")
        real = np.dtype(np.float32 if given == np.float32 else np.float64)
        self.dtype = np.dtype(np.complex64 if given == np.float32 else np.complex128)
        self.design, self.truth = design, None if truth is None else truths.as_kraus(truth)
        self.shots, self.readout = shots, readout
        self.rank, self.reduction = positive_int(rank, "rank"), reduction
        d = design.dimension
        if self.rank > d * d:
            raise ValueError(f"a process on {design.qubits} qubits has rank {d * d} at most, got {rank!r}.")
        self.shape = (d * d, self.rank)
        size = int(np.prod(design.shape))
        self.n_samples = size if shots is None else None
        self.frequencies = converted(frequencies, real, frequencies) if given != real else frequencies
        if not is_foreign(frequencies):  # the objective's own, like the data of `LinearModel`
            self.frequencies = own(self.frequencies, frequencies)
        self.like = self.frequencies
        self._scale = 1.0 if reduction == "sum" else 1.0 / size
        if penalty is None:
            penalty = self._scale * (2.0 * size / d**3 if shots is None else float(shots.sum()) / (4 * d))
        self.penalty = float(penalty)
        self._place()

    def _place(self) -> None:
        """Tables of the run, as arrays of its kind."""
        design, d = self.design, self.design.dimension
        real = host_dtype(self.frequencies)

        def put(array: Array) -> Any:
            return converted(array, self.dtype if array.dtype.kind == "c" else real, self.frequencies)

        frequencies = host(self.frequencies)
        self.loss: PauliSquares | OutcomeSquares
        if self.shots is None:
            self.loss = PauliSquares(frequencies, design, self._scale, put)
        else:
            counts = frequencies * self.shots[:, :, None]
            self.loss = OutcomeSquares(counts, design, put, self.readout, self._scale)
        self._transform = PauliTransform(design, self.rank, put, self.frequencies)
        self._identity = put(np.eye(d, dtype=complex))

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
        source = generator(rng)
        return cls.from_truth(truths.haar_unitary(qubits, source), noise, source, **options)

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
        frequencies.flags.writeable = False  # then they need not be copied
        if like is not None:
            like = like if is_foreign(like) else plain(like, "like")
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
            frequencies = plain(frequencies, "frequencies")
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
        kraus = None if truth is None else checked_truth(truth, design)
        return cls(frequencies, design, truth=kraus, **options)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        labels: Any = None,
        bit_order: str = "same",
        readout: Any = None,
        rank: int | None = None,
        truth: Any = None,
        like: Any = None,
        **options: Any,
    ) -> ProcessTomography:
        """A process of which outcomes were counted.

        Any subset of (input, setting) pairs, each with its own number of shots; outcomes that are missing were not
        seen. Weights come from the shots: each frequency counts by its inverse multinomial variance.

        Parameters
        ----------
        counts : mapping or qiskit object
            ``{("0+", "XZ"): {"00": 512, "01": 3, ...}, ...}``: inputs are letters of "01+-rl" (r is ``|+i>``, l is
            ``|-i>``), settings of "XYZ"; the first letter is the last qubit of qiskit, and bit 0 the eigenvalue +1. Or
            a qiskit ``Result`` or ``PrimitiveResult`` with `labels`, or an ``ExperimentData`` of qiskit-experiments'
            ProcessTomography.
        labels : sequence of pairs, optional
            For qiskit's results: what each circuit prepared and measured, in order.
        bit_order : {"same", "reversed"}
            "same": letter k of a label and bit k of an outcome belong to the same qubit, as in qiskit if labels are
            written the way it writes Pauli strings. "reversed": letter k belongs to the k-th bit from the right.
        readout : list of arrays (2, 2), optional
            For each letter of a label the probabilities A[read, true] of the readout, put into the model.
        rank : int, optional
            The number of Kraus operators; default: all d^2 for up to 3 qubits, d beyond. See `choose_rank`.
        truth : optional
            As in `from_truth`, for fidelities.
        like : array, optional
            As in `from_truth`.
        **options
            penalty, reduction.
        """
        record = read(counts, process=True, labels=labels, bit_order=bit_order)
        return cls.from_record(record, readout=readout, rank=rank, truth=truth, like=like, **options)

    @classmethod
    def from_record(
        cls, record: Record, *, readout: Any = None, rank: int | None = None, truth: Any = None, like: Any = None,
        **options: Any,
    ) -> ProcessTomography:  # fmt: skip
        """As `from_counts`, of counts that are arrays already."""
        design, shots = record.design, record.shots
        if rank is None:
            rank = design.dimension ** (2 if design.qubits <= 3 else 1)
        frequencies: Any = record.frequencies
        if like is not None:
            single = host_dtype(like) in (np.float32, np.complex64)
            frequencies = converted(frequencies, np.float32 if single else np.float64, like)
        kraus = None if truth is None else checked_truth(truth, design)
        matrices = readout_matrices(readout, design.qubits)
        return cls(frequencies, design, rank=rank, truth=kraus, shots=shots, readout=matrices, **options)

    def start(self, rng: np.random.Generator | int | None = None) -> Any:
        """The paper's start: Pauli coefficients U uniform in [0, 1] + i [0, 1], scaled to tr U U^H = d."""
        source = generator(rng)
        U = source.random(self.shape) + 1j * source.random(self.shape)
        U *= np.sqrt(self.design.dimension) / np.linalg.norm(U)
        return self.variable(converted(U, self.dtype, self.frequencies))

    def default_constraint(self) -> L2Ball:
        """The Euclidean ball of radius 1.2 sqrt(d): that of all channels, and a fifth more."""
        return L2Ball(1.2 * np.sqrt(self.design.dimension))

    def default_settings(self) -> dict[str, Any]:
        """Start at the linear inversion of the data, search along the direction, end when f has settled."""
        return {"x0": self.linear_inversion(), "step": "line-search", "callback": self.settled()}

    def settled(self, share: float = 1e-3) -> Settled:
        """The callback that ends a run; see there."""
        pairs = self.design.shape[0] * self.design.shape[1] if self.shots is None else np.count_nonzero(self.shots)
        variance = 0.0 if self.shots is None else self._scale
        return Settled(self.parameters, int(pairs) * self.design.dimension, variance, share)

    def linear_inversion(self) -> Any:
        """x of the process that explains the Pauli means, made completely positive: a start, not an estimate."""
        return converted(linear_inversion(self), self.dtype, self.frequencies)

    # The objective.

    def _excess(self, stacked: Any) -> Any:
        """sum_k M_k^H M_k - I."""
        return namespace(stacked).conj(stacked).T @ stacked - self._identity

    def _value(self, x: Any) -> float:
        stacked, xp, by = self._stacked(x), namespace(x), self._transform
        total = sum(float(self.loss.value(by.means(by.outputs(stacked, at)), at)) for at in by.blocks)
        excess = self._excess(stacked)
        return total + self.loss.rest + self.penalty * float((xp.real(excess) ** 2 + xp.imag(excess) ** 2).sum())

    def _gradient(self, x: Any) -> Any:
        stacked, by = self._stacked(x), self._transform
        gradient = self._penalty_gradient(stacked)
        for at in by.blocks:
            v = by.outputs(stacked, at)
            gradient = gradient + by.pulled(self.loss.slope(by.means(v), at), v, at)
        return self._column(gradient)

    def _penalty_gradient(self, stacked: Any) -> Any:
        return (4.0 * self.penalty) * (stacked @ self._excess(stacked))

    def along(self, x: Any, direction: Any) -> Line:
        """f along a line: a quartic, exactly. Costs about two gradients, counted as one function value."""
        self.counts.function_values += 1
        xp, by, X, H = namespace(x), self._transform, self._stacked(x), self._stacked(direction)
        cross = xp.conj(X).T @ H
        excess = self._excess(X), cross + xp.conj(cross).T, xp.conj(H).T @ H
        total = np.zeros(5)
        total[0] = self.loss.rest
        for part in (xp.real, xp.imag):
            total += quartic(tuple(part(term) for term in excess), 2.0 * self.penalty)
        for at in by.blocks:
            v, w = by.outputs(X, at), by.outputs(H, at)
            total += self.loss.quartic((by.means(v), by.means(v, w), by.means(w)), at)
        return PolynomialLine(total)

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
        outputs, states = [(matrix @ self._transform.states).T for matrix in matrices], self._transform.states.T
        frequencies = self.frequencies.reshape((-1,))
        width = self._transform.block // d
        for start in range(0, len(inputs), width):
            piece = slice(start, start + width)
            at, where = index_like(inputs[piece], self.frequencies), index_like(effects[piece], self.frequencies)
            phi = self._effects[where]
            amplitudes = [(xp.conj(phi) * output[at]).sum(axis=1) for output in outputs]
            residual = -frequencies[index_like(host(batch)[piece], self.frequencies)]
            for amplitude in amplitudes:
                residual = residual + xp.real(amplitude) ** 2 + xp.imag(amplitude) ** 2
            assert self.n_samples is not None
            slope = (2.0 * self.n_samples * self._scale) * residual
            yield phi, states[at], [slope * amplitude for amplitude in amplitudes]

    def _batch_gradient(self, x: Any, batch: Any) -> Any:
        matrices, xp = self._matrices(x), namespace(x)
        common = self._penalty_gradient(self._stacked(x)).reshape((self.rank, *matrices[0].shape))
        gradients = [common[k] for k in range(self.rank)]
        for phi, psi, slopes in self._picked(matrices, batch):
            gradients = [
                gradient + (phi.T @ (slope[:, None] * xp.conj(psi))) / len(batch)
                for gradient, slope in zip(gradients, slopes, strict=True)
            ]
        return self._column(xp.stack(gradients, axis=0))

    def sample_gradients(self, x: Any, batch: Any) -> Any:
        """Gradients of f_s, s in `batch`, stacked along a new first axis: rank one each, plus that of the penalty."""
        x, batch = self._point(x), self._batch(batch)
        self.counts.sample_gradients += len(batch)
        matrices, xp = self._matrices(x), namespace(x)
        common = self._column(self._penalty_gradient(self._stacked(x)))
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
        if radius is None or self.shots is not None:
            return super().smoothness()
        R2 = positive(radius, "radius") ** 2
        spread = len(self.design.settings) * float(np.linalg.norm(self.design.input_states(), 2)) ** 2
        negative = max(0.0, -float(self.frequencies.min()))
        return self._scale * spread * (6 * R2 + 2 * negative) + self.penalty * (8 * R2 + 4 * max(1.0, R2))

    def fingerprint(self) -> str:
        """Hash of measurements and settings, by which a checkpoint recognises the problem."""
        parts = type(self).__name__, self.design, self.shape, self.penalty, self.reduction, self.frequencies
        return digest(*parts) if self.shots is None else digest(*parts, self.shots, *(self.readout or ()))

    def observed(self) -> Array:
        """The frequencies, (inputs, settings, outcomes), NumPy."""
        return host(self.frequencies).astype(float)

    def with_counts(self, counts: Array, rank: int | None = None) -> ProcessTomography:
        """The same problem with other counts (inputs, settings, outcomes), and with another rank if one is given."""
        record = Record(self.design, counts)
        return type(self).from_record(
            record, readout=self.readout, rank=self.rank if rank is None else rank, truth=self.truth, like=self.like,
            reduction=self.reduction,
        )  # fmt: skip
