"""
Assignment: matching two graphs
===============================

The Birkhoff polytope, the hull of the permutation matrices, has an oracle that solves an assignment problem. Matching
two graphs is a quadratic function over it.
"""

# %%
# A graph, and the same graph with its nodes shuffled.
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

import bsfw

rng = np.random.default_rng(3)
n = 25
A = np.triu(rng.random((n, n)) < 0.3, 1).astype(float)
A += A.T
order = rng.permutation(n)
B = A[np.ix_(order, order)]

# %%
# Minimise ||A X - X B||^2 over doubly stochastic X, which is convex, and round to a permutation.
objective = bsfw.Function(
    lambda X: 0.5 * np.sum((A @ X - X @ B) ** 2),
    lambda X: A.T @ (A @ X - X @ B) - (A @ X - X @ B) @ B.T,
    shape=(n, n),
    quasar_rho=1.0,
)
result = bsfw.minimize(objective, bsfw.Birkhoff(n), method="pairwise", max_iter=400)
match = linear_sum_assignment(-result.x)[1]
print(
    f"f = {result.fun:.2e}, gap {result.gap:.1e}; {np.mean(A[:, :] == B[np.ix_(match, match)]):.0%} of the pairs agree"
)

figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
axes[0].imshow(result.x, cmap="Greys")
axes[0].set(title="doubly stochastic solution", xticks=[], yticks=[])
axes[1].imshow(np.eye(n)[match], cmap="Greys")
axes[1].set(title="nearest permutation", xticks=[], yticks=[])

# %%
# **What to change.** Costs between points of two clouds give optimal transport; for permutations of one list,
# :class:`bsfw.Permutahedron`.
