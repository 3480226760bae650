"""Upper bounds on the largest eigenvalue, for smoothness constants."""

from __future__ import annotations

from typing import Any

import numpy as np

SMALL = 256
"""Up to this dimension a dense eigenvalue solver is as fast as Lanczos, and exact."""

_TOLERANCE, _SAFETY = 1e-4, 1e-3


def largest_magnitude(operator: Any, ceiling: float) -> float:
    """Upper bound on the largest |eigenvalue| of a Hermitian matrix or LinearOperator, at most 0.1 % too large.

    Lanczos approaches the largest |eigenvalue| from below, to a relative residual of 1e-4; a margin of 1e-3 makes it
    an upper bound. `ceiling` is a proved bound (a Frobenius norm, say): the result is never above it, and equals it in
    the rare case that Lanczos gives up. Costs some tens of products with the operator; deterministic.
    """
    from scipy.sparse.linalg import ArpackError, eigsh

    if ceiling == 0.0:
        return 0.0
    # A random start: one that is orthogonal to the leading eigenvector, as a vector of ones may be, would miss it.
    start = np.random.default_rng(0).standard_normal(operator.shape[0]).astype(operator.dtype)
    try:
        found = eigsh(operator, k=1, which="LM", v0=start, tol=_TOLERANCE, return_eigenvectors=False)
    except ArpackError:
        return ceiling
    return min(float(abs(found[0])) * (1 + _SAFETY), ceiling)
