"""
Regression with structure: groups of features
=============================================

Features that belong together are taken or left together: the group ball.
"""

# %%
# Twelve groups of five features, three of which matter.
import matplotlib.pyplot as plt
import numpy as np

import bsfw

rng = np.random.default_rng(0)
groups = [list(range(5 * g, 5 * g + 5)) for g in range(12)]
truth = np.zeros(60)
for g in (1, 4, 9):
    truth[groups[g]] = rng.standard_normal(5)
A = rng.standard_normal((200, 60))
y = A @ truth + 0.5 * rng.standard_normal(200)

# %%
# An l1 ball and a group ball, each of the radius that the truth has.
objective = bsfw.LeastSquares(A, y)
sets = {
    "l1 ball": bsfw.L1Ball(np.abs(truth).sum()),
    "group ball": bsfw.GroupBall(groups, sum(np.linalg.norm(truth[group]) for group in groups)),
}
figure, axes = plt.subplots(2, 1, figsize=(7, 4), sharex=True, layout="constrained")
for ax, (name, ball) in zip(axes, sets.items(), strict=True):
    result = bsfw.minimize(objective, ball)
    error = np.linalg.norm(result.x - truth) / np.linalg.norm(truth)
    ax.stem(result.x, markerfmt=".", basefmt=" ")
    ax.plot(truth, "k_", markersize=5)
    ax.set(title=f"{name}: error {error:.2f}, gap {result.gap:.1e}", ylabel="coefficient")
axes[1].set_xlabel("feature (dashes: the truth)")

# %%
# **What to change.** Your own ``groups``: lists of columns, or a label for each column. For matrices with low-rank
# structure take :class:`bsfw.NuclearBall`, for at most k large entries :class:`bsfw.KSparse`.
