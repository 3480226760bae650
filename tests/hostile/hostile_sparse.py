"""Sparse matrices that are none: what the sandbox is asked to make and to use."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import bsfw

M, N = 60, 12
FAR = 2**30


def sound(format: str) -> Any:
    """A sparse matrix as it should be, (60, 12)."""
    A = sp.random_array((M, N), density=0.4, rng=np.random.default_rng(1), format="csr")
    return sp.bsr_array(A, blocksize=(2, 3)) if format == "bsr" else A.asformat(format)


def damaged(format: str, damage: str) -> Any:
    """The same with one fault. What the constructors of SciPy refuse is put into the arrays afterwards."""
    A = sound(format)
    if format == "coo":
        coordinates = [axis.copy() for axis in A.coords]
        _damage(coordinates[1], None, damage, N)
        A.coords = tuple(coordinates)
    else:
        A.indices, A.indptr = A.indices.copy(), A.indptr.copy()
        _damage(A.indices, A.indptr, damage, {"csc": M, "bsr": N // 3}.get(format, N))
    return A


def _damage(indices: Any, indptr: Any, damage: str, size: int) -> None:
    if damage == "one-based":
        indices += 1
    elif damage == "index n":
        indices[5] = size
    elif damage == "index far":
        indices[5] = FAR
    elif damage == "index negative":
        indices[5] = -FAR
    elif damage == "indptr falls":
        indptr[2] = 0
    elif damage == "indptr jumps":
        indptr[2] = FAR
    elif damage == "indptr negative":
        indptr[1] = -FAR
    elif damage == "indptr beyond":
        indptr[-1] = FAR
    elif damage == "indptr begins late":
        indptr[0] = 1


DAMAGES = {
    "coo": ("one-based", "index n", "index far", "index negative"),
    **dict.fromkeys(
        ("csr", "csc", "bsr"),
        ("one-based", "index n", "index far", "index negative", "indptr falls", "indptr jumps", "indptr negative",
         "indptr beyond", "indptr begins late"),
    ),
}  # fmt: skip


def labels() -> Any:
    return np.where(np.arange(M) % 3 == 0, 1.0, -1.0)


def minimize(format: str, damage: str) -> float:
    """A run of the compiled engine on damaged data."""
    objective = bsfw.Logistic(damaged(format, damage), labels())
    return float(bsfw.minimize(objective, bsfw.L1Ball(5.0), max_iter=20).fun)


def choose_radius(format: str, damage: str) -> float:
    return bsfw.choose_radius(bsfw.Logistic, damaged(format, damage), labels(), bsfw.L1Ball, [1.0, 2.0], cv=2).radius


def quadratic(format: str, damage: str) -> float:
    """A Quadratic whose matrix is damaged; a product with it is what would crash."""
    Q = sp.random_array((M, M), density=0.1, rng=np.random.default_rng(1), format="csr")
    Q = (Q + Q.T).asformat(format)
    if format == "coo":
        coordinates = [axis.copy() for axis in Q.coords]
        _damage(coordinates[1], None, damage, M)
        Q.coords = tuple(coordinates)
    else:
        _damage(Q.indices, Q.indptr, damage, M)
    return bsfw.Quadratic(Q, convex=False).value(np.ones(M))


def changed_afterwards(what: str) -> bool:
    """Whether a run is the same to the bit when the caller's arrays change between construction and run."""
    run = partial(bsfw.minimize, constraint=bsfw.L1Ball(5.0), max_iter=20)
    A, y, weight = sound("csr"), labels(), np.ones(M)
    expected = run(bsfw.Logistic(A, y, sample_weight=weight)).x
    objective = bsfw.Logistic(A, y, sample_weight=weight)
    if what == "indices":
        A.indices[:] = FAR
    elif what == "indptr":
        A.indptr[1:] = FAR
    elif what == "data":
        A.data[:] = np.nan
    elif what == "y":
        y[:] = np.nan
    else:
        weight[:] = -1.0
    return bool(np.array_equal(run(objective).x, expected))


def changed_dense() -> bool:
    A = sound("csr").toarray()
    objective = bsfw.LeastSquares(A, labels())
    before = objective.value(np.ones(N))
    A[:] = np.nan
    return objective.value(np.ones(N)) == before


def changed_quadratic(sparse: bool) -> bool:
    Q = sp.eye_array(M, format="csr") if sparse else np.eye(M)
    objective = bsfw.Quadratic(Q)
    before = objective.value(np.ones(M))
    if sparse:
        Q.indices[:] = FAR
        Q.data[:] = np.nan
    else:
        Q[:] = np.nan
    return objective.value(np.ones(M)) == before
