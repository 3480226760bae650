"""
The paper's algorithm: noisy gradients
======================================

With many samples a full gradient is dear. An estimator takes a batch an iteration; boosting makes the most of it.
"""

# %%
# Sparse logistic regression on the bundled mushrooms, boosted and vanilla (K = 1) with the same batches.
import matplotlib.pyplot as plt

import bsfw

objective = bsfw.Logistic(*bsfw.datasets.load("mushrooms"))
ball = bsfw.L1Ball(50.0)
best = bsfw.minimize(objective, ball, gap_tol=1e-10)  # certified: lower than this no run can end by more than the gap
runs = {}
for name, rounds in (("vanilla", 1), ("boosted", 10_000)):
    runs[name] = bsfw.minimize(
        objective,
        ball,
        method="boosted",
        estimator=bsfw.SAGA(batch_size=404),
        max_rounds=rounds,
        min_gain=1e-4,
        max_iter=800,
        record_every=10,
        rng=0,
    )
    print(f"{name}: f = {runs[name].fun:.5f}, {runs[name].lmo_calls / runs[name].nit:.1f} oracle calls an iteration")

# %%
# Suboptimality against sample gradients, in passes over the data.
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, run in runs.items():
    ax.semilogy(run.trace["sample_gradients"] / objective.n_samples, run.trace["value"] - best.fun, label=name)
ax.set(xlabel="passes over the data", ylabel="f(x) - min f")
ax.legend()

# %%
# **What to change.** The estimator: :class:`bsfw.SAG` and SAGA keep a number a sample, :class:`bsfw.LSVRG` and
# :class:`bsfw.SARAH` none, :class:`bsfw.HeavyBall` never needs a full pass. ``end_phase="corrective"`` gives the run a
# certified end.
