"""
Methods with an active set
==========================

Near a solution inside of a face, vanilla Frank-Wolfe zigzags. Boosting helps; methods that remember their atoms
converge linearly over polytopes; the corrective method optimises all their weights at once.
"""

# %%
# A quadratic over the k-sparse polytope.
import matplotlib.pyplot as plt
import numpy as np

import bsfw

rng = np.random.default_rng(0)
n = 200
B = rng.standard_normal((n, n)) / np.sqrt(n)
objective = bsfw.Quadratic(B.T @ B + 0.1 * np.eye(n), rng.standard_normal(n))
polytope = bsfw.KSparse(10, 0.5)

# %%
# The exact gap against iterations, which costs one oracle call each but for boosting.
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
runs = {
    "vanilla": dict(method="boosted", max_rounds=1, step="line-search"),
    "boosted": dict(method="boosted", max_rounds=20, step="line-search"),
    "away": dict(method="away"),
    "pairwise": dict(method="pairwise"),
    "blended pairwise": dict(method="blended-pairwise"),
}
for name, options in runs.items():
    result = bsfw.minimize(objective, polytope, max_iter=300, gap_tol=1e-9, **options)
    ax.semilogy(result.trace["gap"], label=f"{name} ({result.lmo_calls} calls)")
ax.set(xlabel="iteration", ylabel="Frank-Wolfe gap", ylim=(1e-10, None))
ax.legend()

# %%
# **What to change.** Leave ``method`` out: ``"auto"`` takes the best certified method that fits, and ``result.why``
# says which and why.
