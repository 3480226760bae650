"""
Why boosting: the zigzag
========================

Frank-Wolfe can only move towards vertices, so near a face it zigzags. Boosting calls the cheap oracle a few times a
step and builds a direction that follows the gradient.
"""

# %%
# A quadratic over a polygon, whose minimiser lies on an edge.
import matplotlib.pyplot as plt
import numpy as np

import bsfw

corners = np.array([[-1.5, 0.0], [1.5, 0.0], [2.2, 1.2], [0.6, 2.3], [-1.3, 1.9], [-2.2, 0.9]])
target, curvature = np.array([0.15, 0.0]), np.array([0.6, 1.0])
objective = bsfw.Quadratic(np.diag(curvature), -curvature * target)

# %%
# The same run with one oracle call a step (vanilla) and with up to ten (boosted).
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, rounds, name in zip(axes, (1, 10), ("vanilla, K = 1", "boosted, K = 10"), strict=True):
    path = [corners[2]]

    def remember(intermediate_result, path=path):
        """A callback, as SciPy calls them."""
        path.append(np.array(intermediate_result.x))

    result = bsfw.minimize(
        objective,
        bsfw.ConvexHull(corners),
        x0=corners[2],
        method="boosted",
        step="short",
        max_rounds=rounds,
        max_iter=30,
        callback=remember,
    )
    points = np.array(path)
    ax.fill(*corners.T, alpha=0.12)
    ax.plot(*points.T, "o-", markersize=3)
    ax.plot(*target, "k*", markersize=10)
    ax.set(title=f"{name}: gap {result.gap:.0e} after {result.nit} steps", aspect="equal", xticks=[], yticks=[])

# %%
# **What to change.** Your own polytope in :class:`bsfw.ConvexHull`; a set by its formula, such as :class:`bsfw.L1Ball`.
