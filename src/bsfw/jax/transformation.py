"""The optimizer of `bsfw.torch.FrankWolfe` in the form of optax: a pair of pure functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .._refusals import refusing
from .blocks import Blocks, boost_flat


class Transformation(NamedTuple):
    """``init(params)`` and ``update(grads, state, params)``, which optax takes for one of its own."""

    init: Callable[..., Any]
    update: Callable[..., Any]


class HeavyBallState(NamedTuple):
    """The step count and the momentum of each leaf."""

    count: Any
    momentum: Any


@refusing
def frank_wolfe(
    learning_rate: float | Callable[[Any], Any],
    constraint: Any,
    *,
    momentum: float = 0.9,
    max_rounds: int = 1,
    min_gain: float = 1e-3,
) -> Transformation:
    """Frank-Wolfe with Heavy Ball momentum as a gradient transformation, each leaf of the parameters in its own set.

    The updates are gamma (vbar - x), so that ``optax.apply_updates`` makes the step and x stays in its set, if it
    starts there. That holds for this transformation as the *last* of a chain: one after it that scales or adds to the
    updates (weight decay, another learning rate) takes the weights out of their sets. Transformations of the gradient,
    such as clipping, come before.

    Parameters
    ----------
    learning_rate : float or callable
        eta, or a schedule of the step count. At most 1: a number above is refused, what a schedule gives is clipped.
    constraint : Constraint or pytree of Constraint
        One set for each leaf, in a pytree of the structure of the parameters.
    momentum : float
        In [0, 1[.
    max_rounds, min_gain
        K and delta; boosted leaf by leaf. For which sets rounds pay: docs/torch.md.
    """
    if not callable(learning_rate) and not 0.0 <= learning_rate <= 1.0:
        raise ValueError(f"learning_rate is eta of a Frank-Wolfe step and must lie in [0, 1], got {learning_rate!r}.")
    if not 0.0 <= momentum < 1.0:
        raise ValueError(f"momentum must lie in [0, 1[, got {momentum!r}.")

    def init(params: Any) -> HeavyBallState:
        Blocks(constraint, params)
        return HeavyBallState(jnp.zeros((), int), jax.tree.map(jnp.zeros_like, params))

    def update(grads: Any, state: HeavyBallState, params: Any = None) -> tuple[Any, HeavyBallState]:
        if params is None:
            raise ValueError("frank_wolfe steps from x towards a vertex; call update(grads, state, params).")
        keep = jnp.where(state.count == 0, 0.0, momentum)  # m = g at first
        m = jax.tree.map(lambda old, g: (keep * old + (1.0 - keep) * g).astype(old.dtype), state.momentum, grads)
        rate = learning_rate(state.count) if callable(learning_rate) else learning_rate
        leaves, structure = jax.tree.flatten(params)
        sets = Blocks(constraint, params).sets
        steps = [_step(c, g, x, rate) for c, g, x in zip(sets, jax.tree.leaves(m), leaves, strict=True)]
        return jax.tree.unflatten(structure, steps), HeavyBallState(state.count + 1, m)

    def _step(block: Any, m: Any, x: Any, rate: Any) -> Any:
        flat, eta = x.reshape(-1), jnp.clip(jnp.asarray(rate, x.dtype), 0.0, 1.0)
        found = boost_flat(Blocks(block, x), m.reshape(-1), flat, max_rounds, min_gain)
        target, length, _ = found.paper_step(jnp, flat, eta)
        return (length * (target - flat)).reshape(x.shape)

    return Transformation(init, update)
