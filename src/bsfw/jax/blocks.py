"""Variables that are pytrees, a set for each leaf; oracles and Boost on them as pure functions."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from .._arrays import host, is_complex
from .._refusals import Refusing, refusing
from ..constraints import Constraint
from ..constraints._array_boost import Boosted, boost_stack, jax_loop
from ..constraints._array_oracles import array_lmo


class Blocks(Refusing):
    """A pytree of sets beside a pytree of arrays: the product of the sets, on the arrays as one flat vector.

    Parameters
    ----------
    constraint : Constraint or pytree of Constraint
        One set for one array, else a pytree of the structure of `x`.
    x : array or pytree
        Of the shapes and dtypes of the variable.
    """

    def __init__(self, constraint: Any, x: Any) -> None:
        self.sets, structure = jax.tree.flatten(constraint, is_leaf=lambda leaf: isinstance(leaf, Constraint))
        leaves, other = jax.tree.flatten(x)
        if str(structure) != str(other):
            raise ValueError(
                f"the variable is a pytree {other}, but the sets are {structure}; give one set for each leaf, in a "
                "pytree of the same structure."
            )
        self.shapes = [tuple(jnp.shape(leaf)) for leaf in leaves]
        self.ends = np.cumsum([math.prod(shape) for shape in self.shapes]).tolist()
        self.formulas = []
        for block, shape, leaf in zip(self.sets, self.shapes, leaves, strict=True):
            if not isinstance(block, Constraint):
                raise TypeError(f"every leaf of constraint must be a set such as bsfw.L1Ball(1.0), got {block!r}.")
            if is_complex(jnp.result_type(leaf)):
                raise ValueError("bsfw.jax is for real variables; minimize takes complex ones.")
            block.check_shape(shape)
            formula = array_lmo(block, jnp)
            if formula is None:
                raise ValueError(
                    f"the oracle of {block!r} works on NumPy arrays only; under jit choose a set whose oracle has a "
                    "formula: L1Ball, L2Ball, LinfBall, LpBall, Simplex, Box, KSparse, GroupBall, NuclearBall, "
                    "SpectralBall, Rows, Product."
                )
            self.formulas.append(formula)

    def lmo(self, g: Any, scale: Any = 1.0) -> Any:
        """The vertex of the product, scaled, for a flat direction."""
        parts = [
            formula(g[begin:end].reshape((1, *shape))).reshape(-1)
            for formula, shape, begin, end in zip(self.formulas, self.shapes, [0, *self.ends], self.ends, strict=False)
        ]
        return scale * (parts[0] if len(parts) == 1 else jnp.concatenate(parts))

    def require_inside(self, x: Any, scale: Any) -> None:
        """A ValueError if x lies outside; nothing is asked of a traced one."""
        leaves = jax.tree.leaves(x)
        if any(isinstance(value, jax.core.Tracer) for value in (*leaves, scale)):
            return
        for block, leaf in zip(self.sets, leaves, strict=True):
            violation = block.violation(host(leaf).astype(float) / float(scale)) if block.has_membership else 0.0
            if not violation <= (1e-9 if jnp.result_type(leaf) == jnp.float64 else 1e-5):
                raise ValueError(
                    f"x0 lies outside of {block!r} (relative violation {violation:.2g}); give a feasible point, such "
                    "as bsfw.jax.lmo(constraint, x0)."
                )


@refusing
def lmo(constraint: Any, direction: jax.Array | Any) -> Any:
    """A vertex of the set (or of the set of each leaf) that minimises <direction, v>, as arrays. Pure.

    Parameters
    ----------
    constraint : Constraint or pytree of Constraint
    direction : array or pytree
        Of the same structure.
    """
    flat, unravel = ravel_pytree(direction)
    return unravel(Blocks(constraint, direction).lmo(flat))


@refusing
def boost(
    constraint: Any, m: jax.Array | Any, x: jax.Array | Any, max_rounds: int = 5, min_gain: float = 1e-4
) -> tuple[Any, dict[str, Any]]:
    """Algorithm Boost, pure: the direction d~ of the estimate m at x, and what is known of it.

    Parameters
    ----------
    constraint : Constraint or pytree of Constraint
        With several leaves their product is boosted, all with the same weights of rounds.
    m, x : array or pytree
        Estimate and iterate.
    max_rounds : int
        K, fixed when the function is traced.
    min_gain : float
        delta.

    Returns
    -------
    direction : array or pytree
        d~; zero if m is, or x is the vertex itself.
    found : dict
        ``vertex`` (s = lmo(m)), ``gap`` (<m, x - s>), ``alignment``, ``rounds``, ``distance`` (||s - x||).
    """
    flat, unravel = ravel_pytree(x)
    found = boost_flat(Blocks(constraint, x), ravel_pytree(m)[0], flat, max_rounds, min_gain)
    known = {
        "vertex": unravel(found.vertex),
        "gap": found.gap,
        "alignment": found.rounds.alignment,
        "rounds": found.rounds.calls.astype(int),
        "distance": found.distance,
    }
    return unravel(found.combination(jnp, flat) - flat), known


def boost_flat(blocks: Blocks, m: Any, x: Any, max_rounds: int, min_gain: float, scale: Any = 1.0) -> Boosted:
    """Boost on flat vectors."""
    return boost_stack(jnp, m, x, lambda g: blocks.lmo(g, scale), max_rounds, min_gain, jax_loop)
