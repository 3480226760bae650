"""To and from `qiskit.quantum_info`. qiskit is the extra ``quantum``; nothing else here needs it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array
from .._extras import extra


def is_qiskit(thing: Any) -> bool:
    # By any base: the standard gates are singletons of classes that have no module of their own.
    return any(str(base.__module__).partition(".")[0] == "qiskit" for base in type(thing).__mro__)


def _qiskit(module: str) -> Any:
    return extra(f"qiskit.{module}", "a conversion to or from qiskit", "quantum")


def gate(name: str) -> Any:
    """The gate of qiskit's standard library of that name, e.g. "cx"; gates with parameters must be made in qiskit."""
    known = _qiskit("circuit.library").get_standard_gate_name_mapping()
    plain = {key: made for key, made in known.items() if not made.params and hasattr(made, "to_matrix")}
    if name not in plain:
        raise ValueError(f"there is no gate {name!r} without parameters; known are {', '.join(sorted(plain))}.")
    return plain[name]


def kraus_of(thing: Any) -> Array:
    """The matrix (d, d) of an operator, gate or circuit; the Kraus operators (r, d, d) of a channel."""
    info, failure = _qiskit("quantum_info"), _qiskit("exceptions").QiskitError
    try:
        if not isinstance(thing, (info.SuperOp, info.Choi, info.Kraus, info.Chi, info.PTM, info.Stinespring)):
            return np.asarray(info.Operator(thing).data)
        found = info.Kraus(thing).data
    except failure as error:
        raise ValueError(f"the {type(thing).__name__} from qiskit is no process with a matrix: {error}") from None
    if isinstance(found, tuple):  # two different families, left and right
        raise ValueError("the truth must be completely positive, but the given channel is not.")
    return np.array(found)


def choi(kraus: Array) -> Any:
    """`qiskit.quantum_info.Choi` of Kraus operators (r, d, d), of trace sum_k ||M_k||_F^2."""
    columns = kraus.transpose(0, 2, 1).reshape(len(kraus), -1)  # qiskit stacks columns
    return _qiskit("quantum_info").Choi(columns.T @ columns.conj())


def chi(coefficients: Array) -> Any:
    """`qiskit.quantum_info.Chi` of U (d^2, r), the coefficients in the basis P_a / sqrt(d): chi = U U^H."""
    return _qiskit("quantum_info").Chi(coefficients @ coefficients.conj().T)


def density_matrix(rho: Array) -> Any:
    """`qiskit.quantum_info.DensityMatrix`."""
    return _qiskit("quantum_info").DensityMatrix(rho)


def operator(kraus: Array) -> Any:
    """`qiskit.quantum_info.Operator` of the only Kraus operator."""
    if len(kraus) > 1:
        raise ValueError(
            f"a process of {len(kraus)} Kraus operators is no single operator; use choi(x) or chi(x), or rank=1."
        )
    return _qiskit("quantum_info").Operator(kraus[0])


def process_fidelity(kraus: Array, truth: Array) -> float:
    """`qiskit.quantum_info.process_fidelity` of two processes, as they are: x need not preserve the trace."""
    info = _qiskit("quantum_info")
    target = operator(truth) if len(truth) == 1 else choi(truth)
    return float(info.process_fidelity(choi(kraus), target, require_cp=False, require_tp=False))
