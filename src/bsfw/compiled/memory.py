"""Whether the arrays of a saved run fit together: kernels look at no bounds, so that others are refused beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np

from .layout import COUNT, ESTIMATE, ITERATION, MOVE, PHASE, VERTEX, VERTEX_SLOT
from .sets import Set

COMPACT = ("coordinates", "x", "q", "previous", "vertex", "touched")
"""A slot per coordinate of the support or visited: their length is the run's own. The last two not all sets have."""


def check_memory(memory: dict[str, Any], fresh: dict[str, Any], m: int, population: int, of: Set) -> None:
    """Raise a ValueError unless `memory` could be that of a run that began with `fresh` on this set and m samples and
    draws from `population` of them, or of the coordinates. O(n + m)."""
    if fault := _misfit(memory, fresh, m) or _outside(memory, population) or of.fault(memory):
        raise ValueError(
            f"the saved arrays are not those of a run that this version of bsfw can go on with: {fault}. The "
            "checkpoint is of another version, or damaged; start the run anew."
        )


def _misfit(memory: dict[str, Any], fresh: dict[str, Any], m: int) -> str:
    if set(memory) != set(fresh):
        return f"{', '.join(sorted(set(memory) ^ set(fresh)))} in only one of the two"
    for name, own in fresh.items():
        given = memory[name]
        sizes = {own.size}
        if name in COMPACT:
            sizes = {memory["x"].size if own.size else 0}
        elif name == "margins":
            sizes |= {m}  # a run may begin to keep them
        if given.dtype != own.dtype or given.ndim != 1 or given.size not in sizes:
            return f"{name} has shape {given.shape} and type {given.dtype}"
    return ""


def _outside(memory: dict[str, Any], population: int) -> str:
    whole, n = memory["whole"], memory["g"].size
    count = whole[COUNT]
    if not (0 <= count < memory["x"].size and ESTIMATE <= whole[PHASE] <= MOVE and whole[ITERATION] >= 0):
        return "a counter is out of its range"
    if not (0 <= whole[VERTEX] < n and 0 <= whole[VERTEX_SLOT] <= count):
        return "the vertex is out of its range"
    coordinates = memory["coordinates"]
    if np.any((coordinates < 0) | (coordinates >= n)) or len(np.unique(coordinates[1 : count + 1])) < count:
        return "the coordinates are not distinct ones of x"
    if any(np.any(memory[name][count + 1 :]) for name in ("x", "q", "vertex") if name in memory):
        return "there are numbers beyond the last coordinate"  # where kernels count on zeros
    return "the batch is out of its range" if np.any(memory["batch"] >= population) else ""
