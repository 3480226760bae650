"""Fidelities in closed form."""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array, plain
from .._refusals import refusing


@refusing
def process_fidelity(x: Array, truth: Array, normalised: bool = True) -> float:
    """Process fidelity of two processes given by factors of their Choi matrices (paper, eq. app qpt eq: pro fid).

    The state fidelity of A A^H and B B^H is the squared nuclear norm of A^H B. For a process of one Kraus operator M
    and a unitary V that is ``|tr V^H M|^2 / d^2``.

    Parameters
    ----------
    x, truth : array (d^2, r), (d^2, s)
        The Kraus operators as columns, entry by entry in the same order.
    normalised : bool
        Scale x to the trace d of a channel first, so that the fidelity lies in [0, 1]; for one Kraus operator
        ``|tr V^H M|^2 / (d ||M||_F^2)``. Without, it is linear in the trace, can exceed 1, and is what
        `qiskit.quantum_info.process_fidelity` gives for x as it is.

    Returns
    -------
    float
        0.0 for x = 0.
    """
    x, truth = plain(x, "x"), plain(truth, "truth")
    if not (x.ndim == truth.ndim == 2 and x.shape[0] == truth.shape[0] and x.dtype.kind in "biufc"
            and truth.dtype.kind in "biufc"):  # fmt: skip
        raise ValueError(
            "x and truth must be numbers of the shapes (d^2, r) and (d^2, s), got "
            f"{x.dtype} of shape {x.shape} and {truth.dtype} of shape {truth.shape}."
        )
    d = math.sqrt(x.shape[0])
    overlap = float(np.linalg.norm(x.conj().T @ truth, "nuc")) ** 2 / d**2
    if not normalised:
        return overlap
    trace = float(np.linalg.norm(x)) ** 2
    return overlap * d / trace if trace > 0 else 0.0


@refusing
def state_fidelity(a: Array, b: Array) -> float:
    """(tr |sqrt(rho) sqrt(sigma)|)^2 of the states rho = a a^H and sigma = b b^H of trace 1, in [0, 1]."""
    return min(1.0, float(np.linalg.norm(a.conj().T @ b, "nuc")) ** 2)
