"""What objectives ask of their data, each refusal in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, positive, require_finite


def design_matrix(A: Any, intercept: bool) -> Any:
    """A as a CSR array in canonical form or a row-major array, float32 or float64, with a column of ones if asked.

    Indices are 32-bit wherever that is enough. Nothing is copied that already is in that form.
    """
    import scipy.sparse as sp

    sparse = sp.issparse(A)
    A = sp.csr_array(A) if sparse else np.asarray(A)
    if A.ndim != 2:
        raise ValueError(f"A must be a matrix with one row per sample, got an array of shape {A.shape}; reshape it.")
    if A.shape[0] == 0 or A.shape[1] == 0:
        raise ValueError(f"A is empty, its shape is {A.shape}; it needs at least one row and one column.")
    if np.issubdtype(A.dtype, np.complexfloating):
        raise TypeError("A is complex, but linear models take real data; stack its real and imaginary parts.")
    if A.dtype not in (np.float32, np.float64):
        try:
            A = A.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"A must hold numbers, got entries of type {A.dtype}; encode them first.") from None
    require_finite(A.data if sparse else A, "A")
    if intercept:
        ones = np.ones((A.shape[0], 1), dtype=A.dtype)
        A = sp.hstack([A, sp.csr_array(ones)], format="csr") if sparse else np.hstack([A, ones])
    if not sparse:
        return np.ascontiguousarray(A)
    if not A.has_canonical_format:
        A = A.copy()  # the arrays may be the caller's
        A.sum_duplicates()  # sorts the indices too
    if A.indices.dtype == np.int64 and max(A.nnz, *A.shape) <= np.iinfo(np.int32).max:
        # Half the memory to read in each product, and SciPy would make such a copy at each use of A.T.
        A = sp.csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=A.shape)
    return A


def targets(y: Any, n_samples: int) -> Array:
    """y as `n_samples` finite numbers in float64."""
    y = labels(y, n_samples)
    if y.dtype.kind not in "biuf":
        raise TypeError(f"y must hold real numbers, got entries of type {y.dtype}; encode them first.")
    y = y.astype(np.float64)
    require_finite(y, "y")
    return y


def labels(y: Any, n_samples: int) -> Array:
    """y as an array of `n_samples` entries of any type."""
    y = np.asarray(y)
    if y.shape != (n_samples,):
        raise ValueError(f"y must have one entry per row of A, shape ({n_samples},), but its shape is {y.shape}.")
    return y


def signs(y: Any, n_samples: int, name: str) -> Array:
    """y as `n_samples` labels -1 or +1 in float64."""
    y = labels(y, n_samples)
    if y.dtype.kind == "f":
        require_finite(y, "y")
    found = np.unique(y)
    if not np.isin(found, (-1, 1)).all():
        shown = ", ".join(repr(value) for value in found[:5].tolist()) + (", ..." if len(found) > 5 else "")
        if len(found) == 2:
            advice = f"map them first, for example y = np.where(y == {found[1].item()!r}, 1, -1)"
        else:
            advice = "choose one class against the rest, or use Multinomial"
        raise ValueError(f"{name} takes the labels -1 and +1, but y holds {shown}; {advice}.")
    return y.astype(np.float64)


def weights(sample_weight: Any, n_samples: int) -> Array:
    """`sample_weight` as n_samples nonnegative numbers with mean one."""
    w = np.array(sample_weight, dtype=np.float64)
    if w.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry per row of A, shape ({n_samples},), but its shape is {w.shape}."
        )
    require_finite(w, "sample_weight")
    if w.min() < 0:
        raise ValueError(f"sample_weight must be nonnegative, but its smallest entry is {w.min():g}; remove such rows.")
    if w.max() == 0:
        raise ValueError(
            "sample_weight is zero everywhere, so that no sample counts; give at least one positive weight."
        )
    w /= w.max()  # first, so that the sum cannot overflow
    return w / w.mean()


def quasar_parameter(rho: Any) -> float | None:
    """rho of quasar-convexity as a float in ]0, 1], or None."""
    if rho is None:
        return None
    number = positive(rho, "quasar_rho")
    if number > 1:
        raise ValueError(f"quasar_rho must lie in ]0, 1], got {rho!r}; 1.0 stands for convex functions.")
    return number
