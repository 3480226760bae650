"""
Matrix completion
=================

A few entries of a matrix of low rank are known. The nuclear ball finds the others; nothing of the size of the matrix is
ever formed.
"""

# %%
# A made matrix of rank 3, of which 12 % are seen with noise.
import matplotlib.pyplot as plt
import numpy as np

import bsfw

rng = np.random.default_rng(0)
n, m, rank = 300, 200, 3
U, V = rng.standard_normal((n, rank)), rng.standard_normal((m, rank))
rows, cols = np.nonzero(rng.random((n, m)) < 0.12)
values = np.sum(U[rows] * V[cols], axis=1) + 0.1 * rng.standard_normal(rows.size)

# %%
# The corrective method: Newton steps on the factors, Frank-Wolfe steps for new directions and for the certificate.
objective = bsfw.MatrixCompletion((rows, cols, values, (n, m)), "squared")
radius = np.linalg.norm(U @ V.T, "nuc")
errors, radii = [], radius * np.array([0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.3])
for tau in radii:
    result = bsfw.minimize(objective, bsfw.NuclearBall(tau), method="corrective", rng=0)
    left, middle, right = result.x.factors()
    errors.append(np.linalg.norm(left * middle @ right.T - U @ V.T) / np.linalg.norm(U @ V.T))
    print(f"radius {tau:6.0f}: rank {middle.size:2d}, gap {result.gap:.1e}, error {errors[-1]:.3f}")

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(radii / radius, errors, "o-")
ax.set(xlabel="radius / nuclear norm of the truth", ylabel="relative error of all entries")

# %%
# **What to change.** For ratings: ``implicit=True``, ids of any kind by ``bsfw.datasets.Ratings.from_frame``, and no
# set at all (:doc:`/completion`); :func:`bsfw.completion_path` chooses the radius on held-out entries.
