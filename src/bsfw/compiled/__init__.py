"""Compiled code (Numba) for problems with structure. Nothing here is imported before it is used."""

from __future__ import annotations

import os
from importlib.util import find_spec


def available() -> bool:
    """Whether Numba is there and not switched off, found out without importing it."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0") and find_spec("numba") is not None
