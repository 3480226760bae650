"""
Max-cut by a low-rank semidefinite relaxation
=============================================

A cut is a sign for each node, and X = x x^T has -1 exactly on the edges that are cut. Dropping "rank one" leaves least
squares over positive semidefinite matrices of a given trace, and the iterate stays a sum of few u u^T.
"""

# %%
# A random graph. -1 is wanted on the edges, and +1 on the diagonal, ten times as urgently.
import matplotlib.pyplot as plt
import numpy as np

import bsfw

rng = np.random.default_rng(0)
nodes, count = 200, 800
pairs = np.sort(rng.integers(nodes, size=(3 * count, 2)), axis=1)
pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
edges = rng.permutation(pairs)[:count]

every = np.arange(nodes)
rows, cols = np.r_[edges[:, 0], every], np.r_[edges[:, 1], every]
values, weight = np.r_[-np.ones(count), np.ones(nodes)], np.r_[np.ones(count), np.full(nodes, 10.0)]
objective = bsfw.MatrixCompletion((rows, cols, values, (nodes, nodes)), "squared", sample_weight=weight)
spectraplex = bsfw.Spectraplex(nodes, tolerance=1e-3)
result = bsfw.minimize(objective, spectraplex, step="line-search", max_rounds=3, max_iter=150, rng=0)

# %%
# A random hyperplane through the rows of the factor cuts the graph.
left, middle, _ = result.x.factors()
factor = left * np.sqrt(middle)
signs = factor @ rng.standard_normal((factor.shape[1], 200)) > 0
sizes = (signs[edges[:, 0]] != signs[edges[:, 1]]).sum(axis=0)
by_lot = rng.random((nodes, 200)) > 0.5
chance = (by_lot[edges[:, 0]] != by_lot[edges[:, 1]]).sum(axis=0)
print(f"rank {middle.size}; {sizes.max()} of {count} edges are cut")

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.hist(chance, 20, alpha=0.6, label="signs drawn by lot")
ax.hist(sizes, 20, alpha=0.6, label="hyperplanes through the relaxation")
ax.set(xlabel="edges cut", ylabel="of 200")
ax.legend()

# %%
# **What to change.** The edges and their weights; ``tolerance`` is that of the eigenvectors.
