"""Pauli means of the outputs of Kraus operators, and the way back to the operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array, converted, is_foreign, namespace
from .measurements import Design, pauli_rows

_BLOCK, _FOREIGN_BLOCK = 2**14, 2**22
"""Complex numbers in a temporary array: beyond, inputs are taken in blocks. NumPy's stay in the cache so (at 4 qubits
twice as fast as all at once); PyTorch and JAX pay for each operation and may have a GPU to fill."""


def index_like(indices: Array, like: Any) -> Any:
    """Indices for arrays of the kind and device of `like`; of 32 bits, if they can be, for JAX may have no others."""
    if not is_foreign(like):
        return indices
    return converted(indices, np.int32 if indices.max() < 2**31 else np.int64, like)


class PauliTransform:
    """From Kraus operators, stacked as (r d, d), to the Pauli means of their outputs, block by block of inputs.

    Parameters
    ----------
    design : Design
    rank : int
        r.
    put : callable
        From a NumPy array to one of the kind and precision of the problem.
    like : array
        Of that kind.
    """

    def __init__(self, design: Design, rank: int, put: Callable[[Array], Any], like: Any) -> None:
        self.rank, self.dimension = rank, design.dimension
        d, masks = design.dimension, np.arange(design.dimension)
        self.block = _FOREIGN_BLOCK if is_foreign(like) else _BLOCK
        width = max(16, self.block // (d * max(d, rank)))  # products with fewer columns are slow
        self.blocks = [slice(start, start + width) for start in range(0, design.shape[0], width)]
        states, rows = design.input_states(), pauli_rows(design.qubits)
        self.states, self._adjoint_states = put(states), put(states.conj().T)
        self.rows = put(rows)
        self._double_rows = put(2.0 * rows.transpose(0, 2, 1).copy())
        self.partner = index_like(masks[:, None] ^ masks, like)
        # Where the products [a, c] stand in a density matrix, and the entries [c, e] of an operator in its rows [a, c].
        self._entries = index_like(((masks[:, None] ^ masks) * d + masks).reshape(-1), like)
        self._places = index_like(((masks[:, None] ^ masks) * d + masks[:, None]).reshape(-1), like)
        self._one = put(np.ones(1, dtype=complex))

    def outputs(self, stacked: Any, at: slice) -> Any:
        """M_k psi of a block of inputs: (d, inputs) for rank 1, else (inputs, d, r)."""
        outputs = stacked @ (self.states if len(self.blocks) == 1 else self.states[:, at])
        if self.rank == 1:
            return outputs
        split = outputs.reshape((self.rank, self.dimension, outputs.shape[1]))
        return split.swapaxes(0, 2)  # of NumPy, PyTorch and JAX the same; np.moveaxis takes longer than a small product

    def means(self, v: Any, w: Any = None) -> Any:
        """s_(a,b) = sum_c conj(v_c) t[a, b, c] v_(c xor a), summed over the outputs v of all Kraus operators.

        With w the derivative along it. Real, but left complex: taking the real part would only cost, and PyTorch
        multiplies no real with complex matrices. Several Kraus operators go through the density matrices of outputs.
        """
        xp, d = namespace(v), self.dimension
        if self.rank == 1:
            if w is None:
                return self.rows @ (xp.conj(v) * v[self.partner])
            return self.rows @ (xp.conj(v) * w[self.partner] + xp.conj(w) * v[self.partner])
        rho = v @ xp.conj((v if w is None else w).swapaxes(1, 2))
        if w is not None:
            rho = rho + xp.conj(rho.swapaxes(1, 2))
        products = rho.reshape((-1, d * d))[:, self._entries].T
        return self.rows @ products.reshape((d, d, -1))

    def pulled(self, slope: Any, v: Any, at: slice) -> Any:
        """Gradient by the stacked Kraus operators: sum_i Y_i M_k psi_i psi_i^H with Y_i = 2 sum_P slope_P P."""
        d = self.dimension
        operators = self._double_rows @ (slope * self._one)  # row c of Y_i has slope t in column c xor a
        adjoint = self._adjoint_states if len(self.blocks) == 1 else self._adjoint_states[at]
        if self.rank == 1:
            return (operators * v[self.partner]).sum(axis=0) @ adjoint
        whole = operators.reshape((d * d, -1))[self._places].T.reshape((-1, d, d))
        return (whole @ v).swapaxes(0, 2).reshape((self.rank * d, -1)) @ adjoint
