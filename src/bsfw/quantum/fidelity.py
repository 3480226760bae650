"""Process fidelity in closed form."""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array


def process_fidelity(x: Array, truth: Array, normalised: bool = True) -> float:
    """Process fidelity of two processes given by factors of their Choi matrices (paper, eq. app qpt eq: pro fid).

    The state fidelity of A A^H and B B^H is the squared nuclear norm of A^H B. For a process of one Kraus operator M
    and a unitary V that is |tr V^H M|^2 / d^2.

    Parameters
    ----------
    x, truth : array (d^2, r), (d^2, s)
        The Kraus operators as columns, entry by entry in the same order.
    normalised : bool
        Scale x to the trace d of a channel first, so that the fidelity lies in [0, 1]; for one Kraus operator
        |tr V^H M|^2 / (d ||M||_F^2). Without, it is linear in the trace, can exceed 1, and is what
        `qiskit.quantum_info.process_fidelity` gives for x as it is.

    Returns
    -------
    float
        0.0 for x = 0.
    """
    d = math.sqrt(x.shape[0])
    overlap = float(np.linalg.norm(x.conj().T @ truth, "nuc")) ** 2 / d**2
    if not normalised:
        return overlap
    trace = float(np.linalg.norm(x)) ** 2
    return overlap * d / trace if trace > 0 else 0.0
