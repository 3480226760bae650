"""`jit`: Numba with a cache on disk where one can be had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def jit(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile at the first call, and keep the machine code for the next process.

    Numba caches beside the source, or in the user's cache folder if that is read-only; if it finds neither, the
    function is compiled anew in each process.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # "cannot cache function: no locator available"
            return numba.njit(nogil=True, **options)(function)

    return decorate
