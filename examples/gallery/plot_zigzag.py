"""
Why boosting: the zigzag
========================

Frank-Wolfe can only move towards vertices, so near a face it zigzags. Boosting calls the cheap oracle a few times a
step and builds a direction that follows the gradient.
"""

# %%
# A least-squares problem in the plane over a triangle, whose solution lies inside of an edge.
import matplotlib.pyplot as plt
import numpy as np

import bsfw

corners = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.2]])
triangle = bsfw.ConvexHull(corners)
target = np.array([0.15, -0.4])
objective = bsfw.Function(
    lambda x: 0.5 * np.sum((x - target) ** 2), lambda x: x - target, shape=(2,), quasar_rho=1.0, smoothness=1.0
)

# %%
# The same run with one oracle call a step (vanilla) and with up to ten (boosted).
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, rounds, name in zip(axes, (1, 10), ("vanilla, K = 1", "boosted, K = 10"), strict=True):
    path = []
    result = bsfw.minimize(
        objective,
        triangle,
        x0=corners[2],
        method="boosted",
        max_rounds=rounds,
        max_iter=12,
        callback=lambda intermediate_result, path=path: path.append(np.array(intermediate_result.x)),
    )
    points = np.array([corners[2], *path])
    ax.fill(*corners.T, alpha=0.12)
    ax.plot(*points.T, "o-", markersize=3)
    ax.plot(target[0], 0.0, "k*", markersize=9)
    ax.set(title=f"{name}: gap {result.gap:.1e}", aspect="equal", xticks=[], yticks=[])

# %%
# **What to change.** Your own polytope in :class:`bsfw.ConvexHull`; a set by its formula, such as :class:`bsfw.L1Ball`.
