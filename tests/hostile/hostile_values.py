"""Values that nobody means to give, by name. Each is made anew, for what is called may change it."""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

HUGE, GIGANTIC = 10**30, 10**400


class UsersOwnError(Exception):
    """What code of the user raises is passed on to the user."""


def _raises(*arguments: Any, **options: Any) -> Any:
    raise UsersOwnError("raised by a function of the user")


class Liar:
    """Says that it is an array, and is none."""

    shape = (3, 3)
    ndim = 2
    dtype = np.dtype(float)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise UsersOwnError("no array after all")


def _sparse(indices: list[int], indptr: list[int], shape: tuple[int, int]) -> Any:
    """A CSR matrix whose arrays are put in behind SciPy's back."""
    A = sp.csr_array((3, 3))
    A.data, A.indices, A.indptr = np.ones(len(indices)), np.array(indices), np.array(indptr)
    A._shape = shape
    return A


NUMBERS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "2.5": lambda: 2.5,
    "True": lambda: True,
    "10**30": lambda: HUGE,
    "-10**30": lambda: -HUGE,
    "10**400": lambda: GIGANTIC,
    "1e308": lambda: 1e308,
    "5e-324": lambda: 5e-324,
    "1j": lambda: 1j,
    "Fraction": lambda: fractions.Fraction(1, 3),
    "Decimal": lambda: decimal.Decimal("NaN"),
    "np.int64(-5)": lambda: np.int64(-5),
    "np.uint64(2**64-1)": lambda: np.uint64(2**64 - 1),
    "np.float32(nan)": lambda: np.float32("nan"),
    "np.bool_": lambda: np.bool_(True),
    "masked": lambda: np.ma.masked,
}

THINGS: dict[str, Callable[[], Any]] = {
    "''": lambda: "",
    "'text'": lambda: "text",
    "'1'": lambda: "1",
    "'\\0'": lambda: "\0",
    "long text": lambda: "x" * 5000,
    "bytes": lambda: b"\xff\xfe",
    "object()": object,
    "type": lambda: type,
    "function": lambda: lambda *arguments, **options: None,
    "raises": lambda: _raises,
    "{}": dict,
    "[]": list,
    "()": tuple,
    "[[]]": lambda: [[]],
    "ragged": lambda: [[1.0], [2.0, 3.0]],
    "list of lists": lambda: [[1, 2], [3, 4]],
    "list of None": lambda: [None, None],
    "list of 10**400": lambda: [GIGANTIC, GIGANTIC, 1],
    "list of itself": lambda: (lambda made: made.append(made) or made)([]),
    "set": lambda: {1, 2},
    "range": lambda: range(3),
    "slice": lambda: slice(None),
    "Ellipsis": lambda: Ellipsis,
    "Path": lambda: Path("no") / "where.npz",
    "date": lambda: datetime.date(2020, 1, 1),
    "module": lambda: np,
    "liar": Liar,
    "dtype": lambda: np.dtype("M8[s]"),
    "(10**9, 10**9)": lambda: (10**9, 10**9),
    "(-1, 3)": lambda: (-1, 3),
    "(10**30,)": lambda: (HUGE,),
    "(2.5, None)": lambda: (2.5, None),
}

ARRAYS: dict[str, Callable[[], Any]] = {
    "zeros(0)": lambda: np.zeros(0),
    "zeros((0, 3))": lambda: np.zeros((0, 3)),
    "zeros((3, 0))": lambda: np.zeros((3, 0)),
    "zeros(())": lambda: np.zeros(()),
    "zeros(5)": lambda: np.zeros(5),
    "ones((2, 2, 2))": lambda: np.ones((2, 2, 2)),
    "ones((3, 3))": lambda: np.ones((3, 3)),
    "nan array": lambda: np.full(4, np.nan),
    "inf matrix": lambda: np.full((3, 3), np.inf),
    "1e308 array": lambda: np.full(4, 1e308),
    "complex array": lambda: np.ones(4, dtype=complex),
    "bool array": lambda: np.ones(4, dtype=bool),
    "object array": lambda: np.array([object(), None, "x", 1.0], dtype=object),
    "object numbers": lambda: np.array([1.0, 2, GIGANTIC, 4], dtype=object),
    "text array": lambda: np.array(["a", "b", "c", "d"]),
    "dates": lambda: np.array(["2020-01-01"] * 4, dtype="M8[D]"),
    "records": lambda: np.zeros(4, dtype=[("a", float), ("b", int)]),
    "float16": lambda: np.ones(4, dtype=np.float16),
    "long double": lambda: np.ones(4, dtype=np.longdouble),
    "big endian": lambda: np.ones(4, dtype=">f8"),
    "read-only": lambda: np.broadcast_to(1.0, (4,)),
    "every other": lambda: np.ones(8)[::2],
    "negative indices": lambda: np.array([-1, -(10**6)]),
    "far indices": lambda: np.array([0, 2**31]),
    "uint64 indices": lambda: np.array([2**64 - 1], dtype=np.uint64),
    "masked array": lambda: np.ma.masked_array(np.ones(4), mask=[1, 0, 0, 0]),
    "matrix": lambda: np.matrix(np.eye(3)),
    "sparse": lambda: sp.eye_array(4, format="csr"),
    "sparse line": lambda: sp.coo_array(np.ones(4)),
    "sparse far": lambda: _sparse([0, 2**30, 1], [0, 1, 2, 3], (3, 3)),
    "sparse negative": lambda: _sparse([0, -(2**30), 1], [0, 1, 2, 3], (3, 3)),
    "sparse falling": lambda: _sparse([0, 1, 2], [0, 3, 1, 3], (3, 3)),
    "sparse beyond": lambda: _sparse([0, 1, 2], [0, 1, 2, 2**28], (3, 3)),
    "sparse huge": lambda: sp.coo_array(([1.0], ([0], [0])), shape=(10**10, 10**10)),
    "sparse objects": lambda: _objects(),
}


def _objects() -> Any:
    A = sp.csr_array(np.eye(3))
    A.data = np.array([object()] * 3, dtype=object)
    return A


HOSTILE = NUMBERS | THINGS | ARRAYS
"""All of them."""

PATHS: dict[str, Callable[[], Any]] = {
    "''": lambda: "",
    "'/'": lambda: "/",
    "'.'": lambda: ".",
    "'\\0'": lambda: "a\0b.npz",
    "no folder": lambda: "no/such/folder/a.npz",
    "long name": lambda: "x" * 300 + ".npz",
    "None": lambda: None,
    "3": lambda: 3.0,
    "text file": lambda: str(Path(__file__)),
    "device": lambda: "/dev/full",
    "no suffix": lambda: "file",
}
"""In place of a path: numbers would be file descriptors, and what is written lands in the folder of the worker."""
