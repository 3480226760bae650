"""
Comparing methods
=================

Which method is best depends on what you pay for: an oracle call, a gradient, or time. One call draws them all.
"""

# %%
# A lasso-like problem, and five methods by their settings of :func:`bsfw.minimize`. A stochastic method is run once a
# seed.
import numpy as np

import bsfw

rng = np.random.default_rng(0)
A = rng.standard_normal((400, 100))
truth = np.where(rng.random(100) < 0.1, rng.standard_normal(100), 0.0)
objective = bsfw.LeastSquares(A, A @ truth + 0.1 * rng.standard_normal(400))

comparison = bsfw.compare(
    (objective, bsfw.L1Ball(0.8 * np.abs(truth).sum())),
    {
        "vanilla": {"method": "boosted", "step": "line-search", "max_rounds": 1},
        "boosted": {"method": "boosted", "step": "line-search"},
        "boosted SAGA": {"estimator": bsfw.SAGA(batch_size=20)},
        "pairwise": {"method": "pairwise"},
        "corrective": {"method": "corrective"},
    },
    {"max_iter": 200},
    seeds=3,
)
print(comparison)

# %%
# Value and exact gap by what they cost. Thin lines are single seeds.
comparison.plot()

# %%
# What each method had paid when it first reached a gap of 1e-2 (nan where it did not).
for row in comparison.table(gap=1e-2):
    print(f"{row['method']:<14}{row['lmo_calls']:>8.0f} LMO calls{row['gradients']:>10.0f} sample gradients")

# %%
# **What to change.** The problem, the methods and the budgets (``max_seconds``, ``max_gradients``, ``max_lmo_calls``);
# ``seeds``; ``comparison.to_pandas()`` for a figure of your own.
