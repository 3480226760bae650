"""
When to boost
=============

A round of boosting costs an oracle call and saves gradients. What pays depends on the ratio of the two costs.
"""

# %%
# Time of an oracle call and of a gradient, for sets of growing cost.
import time

import matplotlib.pyplot as plt
import numpy as np

import bsfw


def seconds(call, repeats=5):
    """The least time of some calls."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


rng = np.random.default_rng(0)
A, y = rng.standard_normal((3000, 900)), rng.choice([-1.0, 1.0], 3000)
objective = bsfw.Logistic(A, y)
x = np.zeros(900)
gradient = seconds(lambda: objective.gradient(x))
g = objective.gradient(x)
oracles = {
    "l1 ball": lambda: bsfw.L1Ball(1.0).lmo(g),
    "simplex": lambda: bsfw.Simplex().lmo(g),
    "k-sparse": lambda: bsfw.KSparse(10, 1.0).lmo(g),
    "Birkhoff 30 x 30": lambda: bsfw.Birkhoff(30).lmo(g.reshape(30, 30)),
    "nuclear ball 30 x 30": lambda: bsfw.NuclearBall(1.0).lmo(g.reshape(30, 30)),
}
ratios = {name: seconds(call) / gradient for name, call in oracles.items()}

figure, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
ax.barh(list(ratios), list(ratios.values()))
ax.axvline(1.0, color="k", lw=0.8)
ax.set(xscale="log", xlabel="time of an oracle call / time of a full gradient (this machine)")

# %%
# **What to change.** Far left of the line: boost without a cap (the default for such sets). Near or right of it:
# ``max_rounds=5`` or fewer. ``bsfw reproduce when-to-boost`` measures the paper's table.
