"""The estimators of the paper as pure functions of flat vectors, for one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from ..decays import Decay, InverseSqrtDecay, LogOpenLoopDecay, PiecewiseDecay
from ..estimators import LSVRG, SAGA, SARAH, FullGradient, HeavyBall
from ..estimators.base import Estimator, check_table
from ..estimators.sag import refresh_period

KNOWN = (FullGradient, HeavyBall, SARAH, LSVRG, SAGA)
Memory = dict[str, Any]


class Gradients:
    """Gradients of f, of batches and of samples, as flat vectors of a pytree x.

    Parameters
    ----------
    fun : callable
        ``fun(x)``, or ``fun(x, data)``: the mean loss over the leading axis of `data`.
    data : pytree of arrays or None
    unravel : callable
        From a flat vector to x.
    """

    def __init__(self, fun: Callable[..., Any], data: Any, unravel: Callable[[Any], Any]) -> None:
        self.fun, self.data, self.unravel = fun, data, unravel
        self.samples = None if data is None else jax.tree.leaves(data)[0].shape[0]

    def value(self, x: Any) -> Any:
        return self.fun(self.unravel(x)) if self.data is None else self.fun(self.unravel(x), self.data)

    def _of(self, x: Any, data: Any) -> Any:
        return ravel_pytree(jax.grad(self.fun)(self.unravel(x), data))[0]

    def full(self, x: Any) -> Any:
        if self.data is None:
            return ravel_pytree(jax.grad(self.fun)(self.unravel(x)))[0]
        return self._of(x, self.data)

    def batch(self, x: Any, indices: Any) -> Any:
        return self._of(x, jax.tree.map(lambda a: a[indices], self.data))

    def each(self, x: Any, indices: Any) -> Any:
        """One gradient a row."""
        return jax.vmap(lambda i: self.batch(x, i[None]))(indices)


def _draw(key: Any, population: int, size: int) -> Any:
    if size == population:
        return jnp.arange(population)
    return jax.random.choice(key, population, (size,), replace=False)


def first_estimate(estimator: Estimator, of: Gradients, x: Any, key: Any) -> tuple[Any, Memory]:
    """m^0 and the tables at x^0."""
    if isinstance(estimator, HeavyBall):
        assert of.samples is not None
        return of.batch(x, _draw(key, of.samples, estimator.batch(of.samples))), {}
    if isinstance(estimator, SAGA):
        assert of.samples is not None
        check_table(of.samples, x.size * x.dtype.itemsize, "SAGA")
        table = of.each(x, jnp.arange(of.samples))
        return table.mean(0), {"table": table, "mean": table.mean(0)}
    gradient = of.full(x)
    return gradient, {"w": x, "gradient": gradient} if isinstance(estimator, LSVRG) else {}


def next_estimate(
    estimator: Estimator, of: Gradients, x: Any, x_previous: Any, t: Any, m: Any, memory: Memory, key: Any, convex: bool
) -> tuple[Any, Memory]:
    """m^t and the tables for t > 0; the formulas are those of `bsfw.estimators`."""
    if isinstance(estimator, FullGradient):
        return of.full(x), memory
    samples = of.samples
    assert samples is not None and isinstance(estimator, (HeavyBall, SARAH, LSVRG, SAGA))
    size = estimator.batch(samples)
    coin_key, batch_key = jax.random.split(key)
    indices = _draw(batch_key, samples, size)
    if isinstance(estimator, HeavyBall):
        nonconvex = estimator.momentum == "nonconvex" or (estimator.momentum == "auto" and not convex)
        r = (t + 1.0) ** -0.5 if nonconvex else jnp.minimum(1.0, 4.0 / (t + 8.0) ** (2 / 3))
        return (1.0 - r) * m + r * of.batch(x, indices), memory
    if isinstance(estimator, SAGA):
        fresh, table, mean = of.each(x, indices), memory["table"], memory["mean"]
        change = (fresh - table[indices]).sum(0)
        table = table.at[indices].set(fresh)
        renewed = t % refresh_period(samples, size) == 0
        mean_next = lax.cond(renewed, lambda: table.mean(0), lambda: mean + change / samples)
        return mean + change / size, {"table": table, "mean": mean_next}
    falls = jax.random.uniform(coin_key) < estimator.p(samples)
    if isinstance(estimator, SARAH):
        return lax.cond(
            falls, lambda: of.full(x), lambda: m + of.batch(x, indices) - of.batch(x_previous, indices)
        ), memory  # fmt: skip
    w, gradient = lax.cond(
        falls, lambda: (x_previous, of.full(x_previous)), lambda: (memory["w"], memory["gradient"])
    )  # fmt: skip
    return of.batch(x, indices) - of.batch(w, indices) + gradient, {"w": w, "gradient": gradient}


def eta(decay: Decay | Callable[[Any], Any], t: Any) -> Any:
    """eta_t, clipped to 1, of a traced t. (Three of the decays are written with NumPy.)"""
    if isinstance(decay, InverseSqrtDecay):
        return (t + 1.0) ** -0.5
    if isinstance(decay, LogOpenLoopDecay):
        power = 2.0 + jnp.log1p(t)
        return jnp.minimum(1.0, power / (t + power))
    if isinstance(decay, PiecewiseDecay):
        half = decay.horizon // 2
        early = (t < half) | (decay.horizon <= decay.d)
        late = 2.0 / (decay.rho * (2.0 * decay.d + jnp.maximum(t, half) - half))
        return jnp.minimum(1.0, jnp.where(early, 1.0 / (decay.rho * decay.d), late))
    return jnp.minimum(1.0, decay.unclipped(t) if isinstance(decay, Decay) else decay(t))
