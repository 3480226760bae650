"""
A portfolio on the simplex
==========================

Shares, nonnegative with the sum one, that follow an index: regression whose coefficients lie on the simplex.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from bsfw.sklearn import FrankWolfeRegressor

rng = np.random.default_rng(0)
returns = 0.01 * rng.standard_normal((250, 40)) + 0.005 * rng.standard_normal((250, 1))  # days, stocks
index = returns[:, :5] @ np.array([0.4, 0.25, 0.15, 0.1, 0.1]) + 0.0005 * rng.standard_normal(250)
model = FrankWolfeRegressor(1.0, constraint="simplex", fit_intercept=False).fit(returns, index)
held = model.coef_.nonzero()[0]
print(f"{len(held)} of 40 stocks, sum of the shares {model.coef_.sum():.12f}")
print(f"R^2 {model.score(returns, index):.4f}; gap {model.dual_gap_:.1e}")

# %%
# The shares, and how the portfolio follows.
figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
axes[0].bar([f"stock {j}" for j in held], model.coef_[held])
axes[0].tick_params(axis="x", rotation=90)
axes[1].plot(np.cumsum(index), label="index")
axes[1].plot(np.cumsum(model.predict(returns)), "--", label="portfolio")
axes[1].legend()

# %%
# **What to change.** ``constraint`` takes a function from a radius to a set: bounds on each share are a
# :class:`bsfw.Polytope`.
