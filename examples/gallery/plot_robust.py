"""
Robust regression: a loss that is not convex
============================================

Tukey's biweight forgets gross errors altogether. It is quasar-convex near good starts, not convex: the gap then says
how far from stationary a point is.
"""

# %%
# A fifth of the observations are wrong.
import matplotlib.pyplot as plt
import numpy as np

import bsfw

rng = np.random.default_rng(1)
A = rng.standard_normal((300, 40))
truth = np.zeros(40)
truth[:4] = 3.0, -2.0, 1.5, 1.0
y = A @ truth + 0.2 * rng.standard_normal(300)
wrong = rng.random(300) < 0.2
y[wrong] = A[wrong] @ -truth + rng.normal(0, 4, wrong.sum())

# %%
# The same ball for three losses.
ball = bsfw.L1Ball(np.abs(truth).sum())
losses = {"squared": bsfw.LeastSquares(A, y), "Huber": bsfw.Huber(A, y), "Tukey": bsfw.Tukey(A, y)}
start = bsfw.minimize(losses["Huber"], ball).x
errors = {}
for name, objective in losses.items():
    result = bsfw.minimize(objective, ball, x0=start, max_iter=2000)
    errors[name] = np.abs(result.x - truth)
    print(f"{name}: largest error {errors[name].max():.3f}, gap {result.gap:.1e}")

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.boxplot(list(errors.values()), tick_labels=list(errors))
ax.set(yscale="log", ylim=(1e-4, 2), ylabel="error of a coefficient")

# %%
# **What to change.** Start nonconvex losses from a convex fit, as here. A loss of your own: subclass
# :class:`bsfw.LinearModel` (see :doc:`/design`).
