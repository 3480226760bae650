"""
Your own oracle
===============

A set that bsfw does not know needs one function: which point of the set is best in a direction.
"""

# %%
# 0/1 vectors with at most three runs of ones, as a plan with at most three shifts. The oracle is a small dynamic
# program; no projection onto the hull of such vectors is known.
import matplotlib.pyplot as plt
import numpy as np

import bsfw


def best_blocks(direction: np.ndarray, most: int = 3) -> np.ndarray:
    """The 0/1 vector with at most `most` runs of ones that minimises <direction, v>."""
    n = direction.size
    value = np.full((most + 1, 2), np.inf)
    value[0, 0] = 0.0
    choices = []
    for cost in direction:
        stay, begin = value[:, 1], np.concatenate([[np.inf], value[:-1, 0]])
        on = np.minimum(stay, begin) + cost
        off = np.minimum(value[:, 0], value[:, 1])
        choices.append((begin < stay, value[:, 1] < value[:, 0]))
        value = np.stack([off, on], axis=1)
    runs, state = divmod(int(np.argmin(value)), 2)
    v = np.zeros(n)
    for i in range(n - 1, -1, -1):
        began, ended = choices[i]
        if state:
            v[i] = 1.0
            state, runs = (0, runs - 1) if began[runs] else (1, runs)
        else:
            state = int(ended[runs])
    return v


# %%
# The nearest point to a noisy signal, with an exact gap.
rng = np.random.default_rng(0)
signal = np.repeat([0.0, 0.9, 0.1, 0.7, 0.0, 0.8, 0.2], 12) + 0.15 * rng.standard_normal(84)
blocks = bsfw.Oracle(best_blocks, shape=(84,))
objective = bsfw.Function(
    lambda x: 0.5 * np.sum((x - signal) ** 2), lambda x: x - signal, shape=(84,), quasar_rho=1.0, smoothness=1.0
)
result = bsfw.minimize(objective, blocks, max_iter=2000)
print(result.message, f"gap {result.gap:.1e}")

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(signal, ".", label="signal")
ax.step(range(84), result.x, where="mid", label="nearest mixture of three blocks")
ax.legend()

# %%
# **What to change.** The function. Whether the gap is a bound depends on your oracle being exact.
