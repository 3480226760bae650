"""
Long runs: checkpoints, interruptions, callbacks
================================================

A run that is saved, killed and resumed ends in the same bits as one that was never interrupted.
"""

# %%
# A stochastic run, saved every 200 iterations. A callback ends it early, as Ctrl-C or a crash would.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import bsfw

objective = bsfw.Logistic(*bsfw.datasets.load("mushrooms"))
ball = bsfw.L1Ball(50.0)
options = dict(estimator=bsfw.SAGA(batch_size=404), max_iter=1000, record_every=10, rng=0)
folder = tempfile.TemporaryDirectory()
saved = Path(folder.name) / "run.npz"


def stop_halfway(intermediate_result):
    """What SciPy's callbacks look like."""
    if intermediate_result.nit >= 500:
        raise StopIteration


first = bsfw.minimize(objective, ball, checkpoint=saved, every=200, callback=stop_halfway, **options)
print(first.message)

# %%
# On from the file, by another process or tomorrow.
resumed = bsfw.resume(saved, objective, ball, max_iter=1000)
whole = bsfw.minimize(objective, ball, **options)
print("same bits:", np.array_equal(resumed.x, whole.x))

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.semilogy(whole.trace["iteration"], whole.trace["value"], lw=4, alpha=0.4, label="in one go")
ax.semilogy(resumed.trace["iteration"], resumed.trace["value"], lw=1, label="stopped and resumed")
ax.set(xlabel="iteration", ylabel="f")
ax.legend()

# %%
# **What to change.** ``every`` and the file. The file holds a hash of the data and of the set: another problem is
# refused.
