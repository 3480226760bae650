"""What the constraint sets share: numbers that neither overflow nor vanish, phases, and sets that fix their shape."""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array, add_at, converted, host_dtype, is_complex, is_foreign, kind, namespace, norm, zeros
from ..vertices import Dense
from .base import Constraint


class FixedShape(Constraint):
    """A set whose parameters fix the shape of the variable, kept in `_shape`: it is derived, so repr leaves it out."""

    _shape: tuple[int, ...] | None

    @property
    def shape(self) -> tuple[int, ...] | None:  # type: ignore[override]  # a class attribute in the base
        return self._shape


class Placed:
    """A NumPy array that parametrises a set, and its copy of the kind, dtype and device that was asked for last."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self._place: tuple[str, np.dtype] | None = None
        self._copy = array

    def like(self, other: Array) -> Array:
        """The array, as one of the kind of `other`: for NumPy itself, else converted on the first call."""
        if not is_foreign(other):
            return self.array
        dtype = host_dtype(other)
        if is_complex(self.array.dtype):
            dtype = np.result_type(dtype, np.complex64)
        if self._place != (kind(other), dtype):
            self._place, self._copy = (kind(other), dtype), converted(self.array, dtype, other)
        return self._copy


def as_inexact(direction: Array) -> Array:
    """`direction` as a floating point array, real or complex; float32 stays float32."""
    if is_foreign(direction):
        return direction
    direction = np.asarray(direction)
    return direction.astype(np.result_type(direction.dtype, np.float32), copy=False)


def as_real(array: Array, owner: Constraint) -> Array:
    """`array` as a real floating point array; complex ones are refused, for they cannot live in `owner`."""
    array = as_inexact(array)
    if is_complex(array.dtype):
        raise ValueError(
            f"{type(owner).__name__} holds real variables, but got an array of dtype {array.dtype}; take its real part "
            f"or choose a set that knows complex variables, such as L1Ball or L2Ball."
        )
    return array


def as_double(array: Array) -> Array:
    """`array` as float64 or complex128: sums and factorisations are not done in single precision.

    Arrays of other kinds stay as they are: not every device has double precision.
    """
    if is_foreign(array):
        return array
    array = np.asarray(array)
    return array.astype(np.result_type(array.dtype, np.float64), copy=False)


def in_dtype_of(array: Array, g: Array) -> Array:
    """`array`, computed by way of `as_double` from `g`, in the dtype of `g`."""
    return array if is_foreign(array) else array.astype(g.dtype, copy=False)


def require_matrix(shape: tuple[int, ...], owner: Constraint) -> None:
    if len(shape) != 2:
        raise ValueError(f"{owner!r} holds matrices, but the variable has shape {tuple(shape)}; use two dimensions.")


def largest_component(g: Array) -> float:
    """max |g_i| for real arrays; for complex ones the largest |real| or |imaginary| part, which cannot overflow."""
    if is_complex(g.dtype):
        return max(largest_component(g.real), largest_component(g.imag))
    return max(float(g.max()), -float(g.min()))


def scaled(g: Array) -> tuple[Array, int]:
    """``(h, e)`` with g = h 2^e, such that the squares of h neither overflow nor all vanish; g itself where it does.

    One pass over g. Powers of two are exact, so an LMO of h is an LMO of g.
    """
    top = largest_component(g)
    limits = np.finfo(host_dtype(g))
    if top == 0.0 or not math.isfinite(top) or float(limits.tiny) ** 0.25 < top < float(limits.max) ** 0.25:
        return g, 0
    exponent = math.frexp(top)[1]
    half = exponent // 2  # in two halves, for 2^-exponent itself can be out of range
    return g * 2.0**-half * 2.0 ** (half - exponent), exponent


def phases(g: Array) -> Array:
    """g_i / |g_i|, and 1 where g_i = 0; of modulus one to rounding for subnormal and huge entries too."""
    xp = namespace(g)
    found: Array
    if not is_complex(g.dtype):
        found = xp.where(g >= 0, xp.ones_like(g), -xp.ones_like(g))
        return found
    if xp is not np:
        largest = xp.maximum(xp.abs(g.real), xp.abs(g.imag))
        h = g / xp.where(largest == 0, xp.ones_like(largest), largest)
        found = xp.where(largest == 0, xp.ones_like(h), h / xp.where(largest == 0, xp.ones_like(largest), xp.abs(h)))
        return found
    # Entries are scaled one by one: the modulus of a subnormal number has hardly any correct digits.
    exponents = -np.frexp(np.maximum(np.abs(g.real), np.abs(g.imag)))[1]
    h = np.empty_like(g)
    h.real, h.imag = np.ldexp(g.real, exponents), np.ldexp(g.imag, exponents)
    modulus = np.abs(h)
    zero = modulus == 0
    return np.where(zero, np.ones_like(h), h / np.where(zero, 1, modulus))


def euclidean(g: Array) -> float:
    """Euclidean norm of an array that went through `scaled`, summed in double precision."""
    return norm(as_double(g))


def first_axis(shape: tuple[int, ...], value: float, dtype: np.dtype, like: Array | None = None) -> Array:
    """``value * e_0``, the answer of smooth balls to a zero direction; NumPy, or of the kind of `like`."""
    return add_at(zeros(shape, dtype, like), (0,) * len(shape), value)


def on_device(constraint: Constraint, g: Array) -> Dense:
    """The vertex of a set whose oracle has a formula, on the device of g."""
    from ._array_oracles import module_of, one_lmo  # which knows the sets

    formula = one_lmo(constraint, module_of(g))
    assert formula is not None
    return Dense(formula(g))


def by_formula(constraint: Constraint, g: Array) -> Dense:
    """The vertex of a set whose oracle is the same formula everywhere; on NumPy in double precision."""
    if is_foreign(g):
        return on_device(constraint, g)
    return Dense(in_dtype_of(on_device(constraint, scaled(as_double(g))[0]).array, g))


def has_formula(constraint: Constraint) -> bool:
    """Whether its oracle is one formula on arrays of every kind (`bsfw.constraints._array_oracles`)."""
    from ._array_oracles import array_lmo

    return array_lmo(constraint, np) is not None


def worst(*excesses: float) -> float:
    """The largest excess, 0.0 if none is positive, and inf if one is NaN (`max` would let NaN through as 0.0)."""
    return math.inf if any(math.isnan(e) for e in excesses) else float(max(0.0, *excesses))
