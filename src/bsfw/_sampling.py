"""Random draws: batches and coordinates, uniform without replacement."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels
from ._arrays import Array, positive_int, shown

_MANY = 4096
"""Draws from which on compiled code makes them: the same ones, without a loop in Python."""


def draw(rng: np.random.Generator, population: int, size: int) -> Array:
    """`size` distinct indices below `population`, uniformly. O(size), whatever the population.

    If size = population: all of them in order, without a draw.
    """
    if not hasattr(rng, "random"):
        raise TypeError(f"rng must be a numpy.random.Generator, got {shown(rng)}.")
    if size == population:
        return np.arange(population)
    if size >= _MANY and kernels.available():
        from .kernels._jit import random_of
        from .kernels.estimators._common import draw_from_python

        batch = np.empty(size, dtype=np.int64)
        draw_from_python(random_of(rng), population, np.zeros(population // 64 + 1, dtype=np.uint64), batch)
        return batch
    # Floyd's algorithm on uniform numbers, so that compiled code can make the same draws from the same generator.
    chosen: dict[int, None] = {}
    for last, u in enumerate(rng.random(size).tolist(), population - size):
        candidate = int(u * (last + 1))
        chosen[last if candidate in chosen else candidate] = None
    return np.fromiter(chosen, dtype=np.int64, count=size)


def generator(rng: Any) -> np.random.Generator:
    """`rng`, where None, a seed or a generator may be given: a generator is used as it is."""
    seed = isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0
    known = isinstance(rng, (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence))
    if rng is not None and not seed and not known:  # NumPy takes nearly anything for a seed, or does not survive it
        raise TypeError(
            f"rng must be a numpy.random.Generator, a whole number of at least 0 or None, got {shown(rng)}."
        )
    return np.random.default_rng(rng)


def resolve_size(size: int | float, population: int, what: str, of: str) -> int:
    """A whole number from 1 to `population`, from a count (int) or a fraction of the population (float in ]0, 1])."""
    if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, float, np.integer, np.floating)):
        raise ValueError(f"{what} must be a whole number or a fraction in ]0, 1], got {shown(size)}.")
    population = positive_int(population, f"the number of {of}")
    if isinstance(size, (float, np.floating)):
        if not 0 < size <= 1:
            raise ValueError(f"{what} as a fraction must lie in ]0, 1], got {size!r}; for a count give a whole number.")
        return max(1, round(float(size) * population))
    if not 1 <= size <= population:
        raise ValueError(f"{what} must lie between 1 and the number of {of}, {population}, got {size}.")
    return int(size)


def rng_state(rng: np.random.Generator) -> dict[str, Any]:
    """The generator's state as plain JSON values."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, np.ndarray):
            return {"array": value.tolist(), "dtype": value.dtype.str}
        return int(value) if isinstance(value, np.integer) else value

    state: dict[str, Any] = plain(rng.bit_generator.state)
    return state


def rng_from_state(state: dict[str, Any]) -> np.random.Generator:
    """The generator that `rng_state` described."""

    def restored(value: Any) -> Any:
        if isinstance(value, dict):
            if set(value) == {"array", "dtype"}:
                return np.array(value["array"], dtype=value["dtype"])
            return {key: restored(item) for key, item in value.items()}
        return value

    known = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}
    if state.get("bit_generator") not in known:
        raise ValueError(f"the random generator {state.get('bit_generator')!r} is not one of {sorted(known)}.")
    bit_generator = getattr(np.random, state["bit_generator"])()
    bit_generator.state = restored(state)
    return np.random.Generator(bit_generator)
