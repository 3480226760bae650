"""
Many radii at once with JAX
===========================

A run is one compiled loop, so ``vmap`` makes a path of radii a single call.
"""

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import bsfw

rng = np.random.default_rng(0)
A = jnp.asarray(rng.standard_normal((80, 30)))
y = A[:, 0] - 0.5 * A[:, 1] + 0.1 * jnp.asarray(rng.standard_normal(80))


def loss(x, data):
    """The mean loss over the samples in `data`."""
    rows, targets = data
    return ((rows @ x - targets) ** 2).mean() / 2


# %%
# The radius is an argument of ``run``: fifteen runs of 300 boosted iterations, with the exact gap of each.
fw = bsfw.jax.FrankWolfe(loss, bsfw.L1Ball(1.0), data=(A, y), quasar_rho=1.0)
radii = jnp.linspace(0.1, 2.5, 15)
path = jax.jit(jax.vmap(lambda radius: fw.run(jnp.zeros(30), 300, scale=radius)))(radii)
print(f"largest gap {float(path.gap.max()):.1e}")

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(radii, path.x[:, 2:], color="0.7", lw=0.8)
ax.plot(radii, path.x[:, :2], lw=2)
ax.set(xlabel="radius", ylabel="coefficient")

# %%
# **What to change.** ``estimator=bsfw.SARAH(10)`` for batches, a pytree of parameters with a set for each leaf,
# ``vmap`` over keys for seeds (:doc:`/jax`).
