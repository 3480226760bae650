"""
Recommendations
===============

Ratings by some users of some items: who would like what? Implicit features use what a user has rated, whatever the
ratings, and biases are fitted along.
"""

# %%
# Made ratings: users choose items of their taste more often, so that what they have rated says something of it.
import matplotlib.pyplot as plt
import numpy as np

import bsfw

rng = np.random.default_rng(0)
n, m, rank = 400, 250, 4
taste, kind = rng.standard_normal((n, rank)), rng.standard_normal((m, rank))
liking = taste @ kind.T / np.sqrt(rank)
truth = 3.4 + 0.3 * rng.standard_normal((n, 1)) + 0.4 * rng.standard_normal(m) + 0.6 * liking
rows, cols = np.nonzero(rng.random((n, m)) < 0.06 * np.exp(0.7 * liking))
values = np.clip(np.round(truth[rows, cols] + 0.6 * rng.standard_normal(rows.size)), 1, 5)
held_out = rng.random(rows.size) < 0.2
train, test = ((rows[part], cols[part], values[part], (n, m)) for part in (~held_out, held_out))

# %%
# :func:`bsfw.completion_path` chooses the radius on a validation set of its own; the test set has no part in it.
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
models = {}
for name, implicit in {"biases": False, "biases, implicit features": True}.items():
    objective = bsfw.MatrixCompletion(train, "squared", biases=True, weights=0.4, implicit=implicit, test=test)
    path = bsfw.completion_path(objective, objective.default_constraint().radius * np.geomspace(0.2, 1.6, 7))
    path.plot(ax, label=name)
    models[name] = path.best.model
    print(f"{name}: radius {path.best_radius:.0f}, test RMSE {path.test_rmse:.3f}")
ax.legend()

# %%
# What to recommend to user 7, of the items that they have not rated.
for item, rating in models["biases, implicit features"].top(7, 5):
    print(f"item {item}: {rating:.2f} predicted, {truth[7, item]:.2f} in truth")

# %%
# **What to change.** Ids of any kind come with ``bsfw.datasets.Ratings.from_frame``; an unknown user is answered by the
# mean and the biases of the items (:doc:`/completion`).
