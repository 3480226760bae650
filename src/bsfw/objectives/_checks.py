"""What objectives ask of their data, each refusal in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import Array, own, plain, positive, require_finite, shown
from .._sparse import canonical


def design_matrix(A: Any) -> Any:
    """A as a CSR array in canonical form or a row-major array, float32 or float64.

    In memory of its own, but for values that nobody can write to (`own`).
    """
    import scipy.sparse as sp

    if is_frame(A):
        A = _numbers_of(A)
    sparse = sp.issparse(A)
    given = canonical(A, "A") if sparse else plain(A, "A")
    if given.ndim != 2:
        raise ValueError(
            f"A must be a matrix with one row per sample, got an array of shape {given.shape}; reshape it."
        )
    if given.shape[0] == 0 or given.shape[1] == 0:
        raise ValueError(f"A is empty, its shape is {given.shape}; it needs at least one row and one column.")
    made = _real(given, "A", "stack its real and imaginary parts")
    require_finite(made.data if sparse else made, "A")
    return made if sparse else own(np.ascontiguousarray(made), given)


def is_frame(value: Any) -> bool:
    """Whether `value` is a table with named columns, as those of pandas and Polars are."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy") and hasattr(value, "dtypes")


def feature_names(A: Any) -> tuple[str, ...]:
    """Names of the columns of a table; none for arrays."""
    return tuple(map(str, A.columns)) if is_frame(A) else ()


def _numbers_of(frame: Any) -> Any:
    """A table as an array of numbers, or a TypeError that names the columns which hold something else."""
    array = frame.to_numpy()
    if array.dtype.kind in "biuf":
        return array
    wrong = []
    for name in frame.columns:
        try:
            np.asarray(frame[name], dtype=np.float64)
        except (TypeError, ValueError):
            wrong.append(str(name))
    if wrong:
        shown = ", ".join(map(repr, wrong[:5])) + (", ..." if len(wrong) > 5 else "")
        raise TypeError(f"A must hold numbers, but its columns {shown} hold something else; encode or drop them.")
    return array.astype(np.float64)


def _real(array: Any, name: str, advice: str) -> Any:
    """An array or sparse array in float32 if it is such, else in float64."""
    if np.issubdtype(array.dtype, np.complexfloating):
        raise TypeError(f"{name} is complex, but must be real; {advice}.")
    if array.dtype in (np.float32, np.float64):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must hold numbers, got entries of type {array.dtype}; encode them first.") from None


def numbers(value: Any, dtype: npt.DTypeLike | None, name: str) -> Array:
    """`value` as an array of real numbers, of that dtype if one is given; not copied where it is such."""
    found = value if type(value) is np.ndarray else plain(value, name)
    if found.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got entries of type {found.dtype}.")
    made: Array = found if dtype is None else found.astype(dtype, copy=False)
    return made


def indices(value: Any, size: int, name: str, *, empty: bool = False) -> Array:
    """`value` as an array of indices below `size`; by default at least one."""
    found = value if type(value) is np.ndarray else plain(value, name)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not (found.size or empty):
        least = "" if empty else "at least one of "
        raise TypeError(
            f"{name} must be {least}the whole numbers from 0 to {size - 1}, in an array of one dimension, got an array "
            f"of {found.dtype} of shape {found.shape}."
        )
    # One pass for both ends: negative numbers are the largest unsigned ones.
    if found.size and found.astype(np.int64, copy=False).view(np.uint64).max() >= size:
        raise ValueError(f"{name} must lie between 0 and {size - 1}, but runs from {found.min()} to {found.max()}.")
    return found


def dtype(given: Any, admitted: tuple[str, ...]) -> np.dtype[Any]:
    """`given` as one of the dtypes with these names."""
    try:
        found: np.dtype[Any] = np.dtype(given)
        what = str(found)
    except (TypeError, ValueError, OverflowError):
        found, what = np.dtype(object), shown(given)
    if found.name not in admitted or not found.isnative:
        raise ValueError(f"dtype must be {', '.join(admitted[:-1])} or {admitted[-1]}, got {what}.")
    return found


def targets(y: Any, n_samples: int) -> Array:
    """y as `n_samples` finite numbers in float64."""
    found = labels(y, n_samples)
    if found.dtype.kind not in "biuf":
        raise TypeError(f"y must hold real numbers, got entries of type {found.dtype}; encode them first.")
    return found.astype(np.float64)


def labels(y: Any, n_samples: int) -> Array:
    """y as an array of `n_samples` entries of any type; numbers are finite."""
    found = plain(y, "y")
    if found.shape != (n_samples,):
        raise ValueError(f"y must have one entry per row of A, shape ({n_samples},), but its shape is {found.shape}.")
    if found.dtype.kind in "fc":
        require_finite(found, "y")
    return found


def classes(y: Any, n_samples: int) -> tuple[Array, Array]:
    """The distinct labels in y, sorted, and for each sample which one it has."""
    try:
        found, indices = np.unique(labels(y, n_samples), return_inverse=True)
    except TypeError:  # of objects
        raise TypeError("y must hold labels of one kind that can be sorted, but theirs cannot be compared.") from None
    return found, indices


def signs(y: Any, n_samples: int, name: str, positive: Any = None) -> tuple[Array, Array]:
    """y as `n_samples` numbers -1 or +1, and the two classes that these stand for.

    Labels may be of any kind; +1 is the class `positive`, else the last of them in their order.
    """
    given = labels(y, n_samples)
    if positive is None and given.dtype.kind in "if" and (np.abs(given) == 1).all():  # no need to sort
        return given.astype(np.float64), np.array([-1, 1])
    found, which = classes(given, n_samples)
    values = found.tolist()
    if positive is None and all(value in (-1, 1) for value in values):
        made: Array = np.array([float(value) for value in values])[which]
        return made, np.array([-1, 1])
    shown = ", ".join(repr(value) for value in values[:5]) + (", ..." if len(values) > 5 else "")
    if positive is not None and positive not in values:
        raise ValueError(f"positive={positive!r} is none of the labels in y, which are {shown}.")
    if len(values) != 2:
        advice = "use Multinomial, or make two classes of them" if len(values) > 2 else "give samples of both kinds"
        raise ValueError(f"{name} takes labels of two kinds, but y holds {shown}; {advice}.")
    last = values.index(positive) if positive is not None else 1
    return np.where(which == last, 1.0, -1.0), found[[1 - last, last]]


def weights(sample_weight: Any, n_samples: int) -> Array:
    """`sample_weight` as n_samples nonnegative numbers with mean one."""
    given = plain(sample_weight, "sample_weight")
    if given.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry per row of A, shape ({n_samples},), but its shape is {given.shape}."
        )
    if given.dtype.kind not in "biuf":
        raise TypeError(f"sample_weight must hold real numbers, got entries of type {given.dtype}.")
    w = given.astype(np.float64)
    require_finite(w, "sample_weight")
    if w.min() < 0:
        raise ValueError(f"sample_weight must be nonnegative, but its smallest entry is {w.min():g}; remove such rows.")
    if w.max() == 0:
        raise ValueError(
            "sample_weight is zero everywhere, so that no sample counts; give at least one positive weight."
        )
    w /= w.max()  # first, so that the sum cannot overflow
    w /= w.mean()
    return w


def quasar_parameter(rho: Any) -> float | None:
    """rho of quasar-convexity as a float in ]0, 1], or None."""
    if rho is None:
        return None
    number = positive(rho, "quasar_rho")
    if number > 1:
        raise ValueError(f"quasar_rho must lie in ]0, 1], got {shown(rho)}; 1.0 stands for convex functions.")
    return number


def two_sides(y: Array, low: float, high: float) -> None:
    """Refuse targets that are all at one end: the best intercept would be infinite."""
    if np.all(y == low) or np.all(y == high):
        raise ValueError(
            f"all targets of positive weight are {y[0]:g}, so that the best intercept is infinite; leave intercept "
            "out, or give samples of both kinds."
        )
