"""
Asking a costly oracle less often
=================================

A shortest path, an assignment or a linear program often gives a vertex that is known already. A lazy run asks the known
ones first, and the oracle only where none of them promises half of what its last answer did.
"""

# %%
# The point nearest to a noisy mixture of paths through a grid, by three methods, each eager and lazy.
import numpy as np

import bsfw

size = 12
edges = [(i * size + j, i * size + j + 1) for i in range(size) for j in range(size - 1)]
edges += [(i * size + j, (i + 1) * size + j) for i in range(size - 1) for j in range(size)]
paths = bsfw.PathPolytope(edges, [(0, size * size - 1, 1.0)])

rng = np.random.default_rng(0)
some = [paths.lmo(rng.standard_normal(len(edges))).dense() for _ in range(12)]
mixture = rng.dirichlet(np.ones(12)) @ some + 1e-3 * rng.standard_normal(len(edges))
distance = bsfw.Quadratic(1.0, -mixture, 0.5 * mixture @ mixture)

methods = {
    "pairwise": {"method": "pairwise"},
    "blended pairwise": {"method": "blended-pairwise"},
    "boosted, K = 5": {"method": "boosted", "step": "line-search", "max_rounds": 5},
}
lazy = {f"lazy {name}": {**settings, "lazy": True} for name, settings in methods.items()}
comparison = bsfw.compare((distance, paths), methods | lazy, {"max_iter": 400, "gap_tol": 1e-3})
print(comparison)

# %%
# Gaps are drawn where they are exact: in a lazy run where the oracle was asked.
comparison.plot(costs=["lmo_calls", "iteration"])
# %%
# What the cache answered instead.
for name in lazy:
    (run,) = comparison.results[name]
    print(f"{name:<24}{run.lmo_calls:>6} calls of the oracle, {run.cached_calls:>6} answers of the cache")

# %%
# **What to change.** Your own costly set: :class:`bsfw.Birkhoff`, :class:`bsfw.Polytope`, :class:`bsfw.Oracle`. A lazy
# run takes more iterations, and so more gradients: it pays where the oracle is what costs.
