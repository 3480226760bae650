"""Whether the arrays of a saved run fit together: kernels look at no bounds, so that others are refused beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...constraints._compiled_boost import CompiledSet, GroupSet
from ...kernels.record import ESTIMATE, MOVE
from .arrays import COMPACT

COUNTERS = (
    "iteration", "lmo_calls", "rounds", "accepted", "boosted_steps", "sample_gradients", "coordinate_gradients",
    "function_values", "full_gradients", "margins_at",
)  # fmt: skip


def check_memory(memory: dict[str, Any], fresh: dict[str, Any], m: int, population: int, of: CompiledSet) -> None:
    """Raise a ValueError unless `memory` could be that of a run that began with `fresh` on this set and m samples and
    draws from `population` of them, or of the coordinates. O(n + m)."""
    if fault := _misfit(memory, fresh, m) or _outside(memory, population) or _other_groups(memory, of):
        raise ValueError(
            f"the saved arrays are not those of a run that this version of bsfw can go on with: {fault}. The "
            "checkpoint is of another version, or damaged; start the run anew."
        )


def _misfit(memory: dict[str, Any], fresh: dict[str, Any], m: int) -> str:
    if set(memory) != set(fresh):
        return f"{', '.join(sorted(set(memory) ^ set(fresh)))} in only one of the two"
    for name, own in fresh.items():
        given = np.asarray(memory[name])
        sizes = {own.size}
        if name in COMPACT:
            sizes = {np.size(memory["x"]) if own.size else 0}
        elif name == "margins":
            sizes |= {m}  # a run may begin to keep them
        if given.dtype != own.dtype or given.ndim != 1 or given.size not in sizes:
            return f"{name} has shape {given.shape} and type {given.dtype}"
    return ""


def _outside(memory: dict[str, Any], population: int) -> str:
    r, n, size = memory["record"][0], memory["g"].size, memory["x"].size
    if not (0 <= r["count"] < size and ESTIMATE <= r["phase"] <= MOVE and all(r[name] >= 0 for name in COUNTERS)):
        return "a counter is out of its range"
    if not (np.isfinite(r["scale"]) and r["scale"] > 0.0 and 0.0 <= r["margin_scale"] < np.inf):
        return "a scale is out of its range"
    count, coordinates = int(r["count"]), memory["coordinates"]
    if np.any((coordinates < 0) | (coordinates >= n)) or len(np.unique(coordinates[1 : count + 1])) < count:
        return "the coordinates are not distinct ones of x"
    for name in ("x", "q", "vertex", "previous"):
        if not np.isfinite(memory[name]).all():
            return f"{name} is not finite"
        if np.any(memory[name][count + 1 :]) or np.any(memory[name][:1]):
            return "there are numbers in slots that are not used"  # where kernels count on zeros
    return "the batch is out of its range" if np.any(memory["batch"] >= population) else ""


def _other_groups(memory: dict[str, Any], of: CompiledSet) -> str:
    if not isinstance(of, GroupSet):
        return ""
    count, touched = int(memory["record"][0]["count"]), memory["touched"]
    if np.any((touched < 0) | (touched >= of.starts.size - 1)):
        return "a group is out of its range"
    ends = np.cumsum(np.diff(of.starts)[touched])
    members = of.constraint.members(touched[: np.searchsorted(ends, count) + 1 if count else 0])
    if not np.array_equal(members, memory["coordinates"][1 : count + 1]):
        return "the coordinates are not those of the groups"
    return ""
