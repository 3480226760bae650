"""A portfolio on the simplex: shares, nonnegative with the sum one, that follow an index."""

import numpy as np

from bsfw.sklearn import FrankWolfeRegressor

rng = np.random.default_rng(0)
returns = 0.01 * rng.standard_normal((250, 40)) + 0.005 * rng.standard_normal((250, 1))  # days, stocks
index = returns[:, :5] @ np.array([0.4, 0.25, 0.15, 0.1, 0.1]) + 0.0005 * rng.standard_normal(250)
model = FrankWolfeRegressor(1.0, constraint="simplex", fit_intercept=False).fit(returns, index)
held = model.coef_.nonzero()[0]
print(f"{len(held)} of 40 stocks, shares {np.round(model.coef_[held], 3)}, sum {model.coef_.sum():.12f}")
print(f"R^2 {model.score(returns, index):.4f}; gap {model.dual_gap_:.1e}")
