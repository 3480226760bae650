"""Algorithm BSFW as one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from .._arrays import positive_int
from .._refusals import Refusing
from ..decays import Decay, choose_decay
from ..estimators import Estimator, FullGradient
from .blocks import Blocks, boost_flat
from .estimates import KNOWN, Gradients, eta, first_estimate, next_estimate


class State(NamedTuple):
    """A run between two iterations: a pytree of arrays.

    Attributes
    ----------
    x, x_previous : array or pytree
        x^t and x^{t-1}.
    m : array
        The estimate m^t, flat, with which `update` goes on.
    memory : dict
        Tables of the estimator.
    t : array
        The iteration.
    key : array
        For the draws to come.
    gap : array
        <m, x - s> of the last `update`, before its step: the Frank-Wolfe gap there if the gradient is exact.
    lmo_calls : array
    """

    x: Any
    x_previous: Any
    m: Any
    memory: dict[str, Any]
    t: Any
    key: Any
    gap: Any
    lmo_calls: Any


class Run(NamedTuple):
    """What `FrankWolfe.run` returns: a pytree of arrays.

    Attributes
    ----------
    x : array or pytree
    fun : array
        f(x).
    gap : array
        The exact Frank-Wolfe gap at x.
    iterations, lmo_calls : array
    gaps : array
        Gaps of the estimates at x^0, x^1, ..., one for each of `max_iter` iterations; nan for those not made. The exact
        gaps if the gradient is exact.
    state : State
        To go on from.
    """

    x: Any
    fun: Any
    gap: Any
    iterations: Any
    lmo_calls: Any
    gaps: Any
    state: State


class FrankWolfe(Refusing):
    """Boosted stochastic Frank-Wolfe on a JAX function: `init`, `update` and `run` are pure, for ``jit`` and ``vmap``.

    Parameters
    ----------
    fun : callable
        ``fun(x)``; or, for a finite sum, ``fun(x, data)``, the mean loss over the leading axis of the arrays in `data`,
        which gets batches of them too. Its gradient is that of ``jax.grad``.
    constraint : Constraint or pytree of Constraint
        A set whose oracle has a formula; for a pytree x one such set for each leaf, in a pytree of the same structure.
        Boost then works on their product.
    data : pytree of arrays, optional
        All samples, along the first axis of each array.
    estimator : Estimator, optional
        `FullGradient` (default), `HeavyBall`, `SARAH`, `LSVRG` or `SAGA` (which keeps one gradient a sample).
    max_rounds : int, optional
        K; default: what the sets suggest, but at most 50.
    min_gain : float
        delta in ]0, 1].
    decay : str, Decay or callable
        eta_t as in `bsfw.minimize`; a callable gets a traced t.
    quasar_rho : float, optional
        1.0 if f is convex: it chooses the decay and Heavy Ball's momentum.
    horizon : int, optional
        T, for the decays that need it.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        constraint: Any,
        *,
        data: Any = None,
        estimator: Estimator | None = None,
        max_rounds: int | None = None,
        min_gain: float = 1e-4,
        decay: str | Decay | Callable[[Any], Any] = "auto",
        quasar_rho: float | None = None,
        horizon: int | None = None,
    ) -> None:
        if not callable(fun):
            raise TypeError(f"fun must be a function of x, got {fun!r}.")
        self.fun, self.constraint, self.data = fun, constraint, data
        self.estimator = FullGradient() if estimator is None else estimator
        if type(self.estimator) not in KNOWN:
            raise ValueError(
                f"the compiled loop knows {', '.join(kind.__name__ for kind in KNOWN)}, got {self.estimator!r}; use "
                "bsfw.minimize."
            )
        if not self.estimator.exact and data is None:
            raise ValueError(f"{type(self.estimator).__name__} draws batches; give data=, and fun(x, data).")
        sets = jax.tree.leaves(constraint, is_leaf=lambda leaf: hasattr(leaf, "suggested_rounds"))
        suggested = min((getattr(c, "suggested_rounds", 5) for c in sets), default=5)
        self.max_rounds = min(suggested, 50) if max_rounds is None else positive_int(max_rounds, "max_rounds")
        if not 0 < min_gain <= 1:
            raise ValueError(f"min_gain (delta of the paper) must lie in ]0, 1], got {min_gain!r}.")
        self.min_gain, self.decay, self.quasar_rho, self.horizon = min_gain, decay, quasar_rho, horizon
        self._loop: Callable[..., Run] = jax.jit(self._compiled_loop, static_argnums=0)

    # The algorithm.

    def init(self, x0: Any, key: Any = None, scale: Any = 1.0) -> State:
        """The state at a feasible `x0`, with m^0; `key` is for the draws (default: key 0)."""
        x0 = jax.tree.map(jnp.asarray, x0)
        Blocks(self.constraint, x0).require_inside(x0, scale)
        return self._init(x0, jax.random.key(0) if key is None else key, self.data)

    def _init(self, x0: Any, key: Any, data: Any) -> State:
        flat, unravel = ravel_pytree(x0)
        key, used = jax.random.split(key)
        m, memory = first_estimate(self.estimator, Gradients(self.fun, data, unravel), flat, used)
        zero = jnp.zeros((), int)
        return State(x0, x0, m, memory, zero, key, jnp.full((), jnp.nan, flat.dtype), zero)

    def update(self, state: State, scale: Any = 1.0) -> State:
        """One iteration: Boost and the paper's step with m^t, then m^{t+1} at x^{t+1}.

        `scale` multiplies all sets: with ``vmap`` over it, one program solves for many radii.
        """
        return self._update(state, scale, self.data, self._decay(jnp.size(state.m), 1))

    def _update(self, state: State, scale: Any, data: Any, decay: Any) -> State:
        blocks = Blocks(self.constraint, state.x)
        x, unravel = ravel_pytree(state.x)
        found = boost_flat(blocks, state.m, x, self.max_rounds, self.min_gain, scale)
        target, length, _ = found.paper_step(jnp, x, eta(decay, state.t).astype(x.dtype))
        moved = (1.0 - length) * x + length * target
        key, used = jax.random.split(state.key)
        of = Gradients(self.fun, data, unravel)
        m, memory = next_estimate(
            self.estimator, of, moved, x, state.t + 1, state.m, state.memory, used, self.quasar_rho is not None
        )
        calls = state.lmo_calls + found.rounds.calls.astype(int)
        return State(unravel(moved), state.x, m, memory, state.t + 1, key, found.gap, calls)

    def run(
        self, x0: Any, max_iter: int = 1000, key: Any = None, gap_tol: float | None = None, scale: Any = 1.0
    ) -> Run:
        """Iterate from `x0`, in one compiled loop, until the gap of an exact gradient is at most `gap_tol`.

        Parameters
        ----------
        x0 : array or pytree
            Feasible.
        max_iter : int
            T, fixed when the loop is compiled.
        key : jax.random.key, optional
            For the draws.
        gap_tol : float, optional
            Looked at every iteration with the exact gradient; with an estimator, whose own gap says little, every
            max_iter / 20 iterations, at the price of a full gradient each.
        scale : float or array
            Multiplies all sets.
        """
        max_iter = positive_int(max_iter, "max_iter")
        x0 = jax.tree.map(jnp.asarray, x0)
        Blocks(self.constraint, x0).require_inside(x0, scale)
        key = jax.random.key(0) if key is None else key
        settings, tolerance = (max_iter, gap_tol is not None), -1.0 if gap_tol is None else gap_tol
        return self._loop(settings, x0, key, tolerance, scale, self.data)

    def _compiled_loop(self, settings: tuple[int, bool], x0: Any, key: Any, gap_tol: Any, scale: Any, data: Any) -> Run:
        max_iter, checks = settings
        blocks, (flat, unravel) = Blocks(self.constraint, x0), ravel_pytree(x0)
        decay, of, exact = self._decay(flat.size, max_iter), Gradients(self.fun, data, unravel), self.estimator.exact
        every = 1 if exact else max(1, max_iter // 20)

        def exact_gap(x: Any, gradient: Any) -> Any:
            return gradient @ (x - blocks.lmo(gradient, scale))

        def go_on(at: tuple[State, Any]) -> Any:
            state, _ = at
            if not checks:
                return state.t < max_iter

            def reached() -> Any:
                x = ravel_pytree(state.x)[0]
                return exact_gap(x, state.m if exact else of.full(x)) <= gap_tol

            return (state.t < max_iter) & ~lax.cond(state.t % every == 0, reached, lambda: jnp.array(False))

        def body(at: tuple[State, Any]) -> tuple[State, Any]:
            state, gaps = at
            following = self._update(state, scale, data, decay)
            return following, gaps.at[state.t].set(following.gap)

        gaps = jnp.full(max_iter, jnp.nan, flat.dtype)
        state, gaps = lax.while_loop(go_on, body, (self._init(x0, key, data), gaps))
        x = ravel_pytree(state.x)[0]
        gradient = state.m if exact else of.full(x)
        return Run(state.x, of.value(x), exact_gap(x, gradient), state.t, state.lmo_calls, gaps, state)

    def _decay(self, dimension: int, max_iter: int) -> Any:
        if not isinstance(self.decay, str):
            return self.decay
        samples = None if self.data is None else jax.tree.leaves(self.data)[0].shape[0]
        horizon = self.horizon or max_iter
        constants = self.estimator.constants(n_samples=samples, dimension=dimension, horizon=horizon)
        return choose_decay(
            self.decay, estimator=self.estimator, constants=constants, quasar_rho=self.quasar_rho, horizon=horizon,
            vanilla=self.max_rounds == 1,
        )  # fmt: skip
