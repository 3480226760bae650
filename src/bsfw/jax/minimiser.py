"""Boosted Frank-Wolfe as a minimiser of Optimistix, which this module imports and bsfw does not need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._extras import extra

extra("optimistix", "bsfw.jax.minimiser", "optimistix")

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
from jax.flatten_util import ravel_pytree

from .blocks import Blocks, boost_flat
from .estimates import eta as clipped_eta


class BoostedFrankWolfe(optx.AbstractMinimiser[Any, Any, Any]):
    """``optimistix.minimise(fn, BoostedFrankWolfe(constraint), y0)`` with the exact gradient; y0 must be feasible.

    It stops when the Frank-Wolfe gap is at most atol + rtol |f|: for a convex f that bounds f - f*.

    Attributes
    ----------
    constraint : Constraint or pytree of Constraint
        One set for each leaf of y.
    rtol, atol : float
    decay : Decay or callable
        eta_t, of a traced t.
    max_rounds, min_gain
        K and delta.
    norm : callable
        Of Optimistix; not used, for the gap is the measure.
    """

    constraint: Any = eqx.field(static=True)  # type: ignore[misc]
    rtol: float = 0.0
    atol: float = 1e-6
    decay: Callable[[Any], Any] = eqx.field(static=True, default=lambda t: 2.0 / (t + 2.0))
    max_rounds: int = eqx.field(static=True, default=5)
    min_gain: float = 1e-4
    norm: Callable[[Any], Any] = eqx.field(static=True, default=optx.max_norm)

    def init(self, fn: Any, y: Any, args: Any, options: Any, f_struct: Any, aux_struct: Any, tags: Any) -> Any:
        Blocks(self.constraint, y)
        flat, _ = ravel_pytree(y)
        infinite = jnp.full((), jnp.inf, flat.dtype)
        aux = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), aux_struct)
        return jnp.zeros((), int), infinite, jnp.zeros((), flat.dtype), aux

    def step(self, fn: Any, y: Any, args: Any, options: Any, state: Any, tags: Any) -> tuple[Any, Any, Any]:
        t = state[0]
        (value, aux), gradient = jax.value_and_grad(fn, has_aux=True)(y, args)
        x, unravel = ravel_pytree(y)
        m = ravel_pytree(gradient)[0]
        found = boost_flat(Blocks(self.constraint, y), m, x, self.max_rounds, self.min_gain)
        target, length, _ = found.paper_step(jnp, x, clipped_eta(self.decay, t).astype(x.dtype))
        stay = found.gap <= self.atol + self.rtol * jnp.abs(value)  # the gap is that of y: return this y
        moved = jnp.where(stay, x, (1.0 - length) * x + length * target)
        return unravel(moved), (t + 1, found.gap, value, aux), aux

    def terminate(self, fn: Any, y: Any, args: Any, options: Any, state: Any, tags: Any) -> tuple[Any, Any]:
        _, gap, value, _ = state
        return gap <= self.atol + self.rtol * jnp.abs(value), optx.RESULTS.successful

    def postprocess(
        self, fn: Any, y: Any, aux: Any, args: Any, options: Any, state: Any, tags: Any, result: Any
    ) -> tuple[Any, Any, dict[str, Any]]:
        return y, aux, {"gap": state[1]}
