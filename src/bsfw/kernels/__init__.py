"""Compiled code (Numba): a leaf package, arrays and records in, arrays and records out. It imports nothing of bsfw.

An iteration of Algorithm BSFW has three phases, each a function of its own: the estimate (one file for each estimator,
`estimators/`), Boost (`rounds`), and the move (`steps`). `run` calls them by address, many iterations without Python in
between. So each is compiled, optimised and cached once, and a run compiles only what it uses (see `_jit`).

Types pick the code: a loss is a named tuple of `losses`, a set one of `onehot`, `ksparse` or `groups`, dense data have
None for indices; `numba.extending.overload` has the bodies. A function whose body is a docstring only is such a name.

| file | what |
|---|---|
| `record` | `RECORD`, the counters and numbers of a run by name (``r.count``), and the named groups of its arrays |
| `run` | many iterations; addresses of the phases |
| `estimators/` | m^t, on `batches` (rows of a batch), `lists` (rows by the support), `margins` (A x), `passes` (full) |
| `rounds`, `accept` | Algorithm Boost: the loop, and the rule by which it accepts, which is plain Python as well |
| `onehot`, `ksparse`, `groups` | the LMO inside of Boost, on compact arrays |
| `steps` | the move, on `gram` (A^T A of the support) or `margins` where lengths are those of A d |
| `rows`, `losses`, `_jit` | products with rows and columns; scalar losses; Numba, prefetches, random numbers |

What holds when: between two phases, slots beyond ``r.count`` and slot 0 of compact arrays hold zeros, m = ``r.scale``
g, and margin_scale z = A x for the x of iteration ``r.margins_at``. After Boost, q = sum_k c_k v_k with total = sum_k
c_k, `vertex` is s, and both have slots for all of their coordinates. After the move q is the point that x moved
towards. A phase that returns another status than DONE has changed nothing that it does not find again when called anew.

Nothing here is imported before it is used, but `available`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.util import find_spec


def available() -> bool:
    """Whether Numba is there and not switched off, found out without importing it."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0") and _installed()


@cache
def _installed() -> bool:
    return find_spec("numba") is not None


def seconds_compiling() -> float:
    """What compilations have taken in this process so far; 0 if Numba is not in use."""
    jit = sys.modules.get(f"{__name__}._jit")
    return 0.0 if jit is None else float(jit.STOPWATCH.seconds)


def announced(announce: Callable[[], None]) -> AbstractContextManager[None]:
    """Within this, `announce` is called once, before the first compilation, if there is one; nothing without Numba."""
    jit = sys.modules.get(f"{__name__}._jit")
    found: AbstractContextManager[None] = nullcontext() if jit is None else jit.announced(announce)
    return found
