"""
A sparse classifier with a certificate
======================================

Logistic regression on a table with text labels: an l1 ball keeps few features, the intercept is free, and the gap says
how far from the optimum the fit is at most.
"""

# %%
# The bundled breast cancer data, as a table with names.
import pandas as pd

import bsfw

A, y = bsfw.datasets.load("breast-cancer")
frame = pd.DataFrame(A, columns=[f"cell {j}" for j in range(A.shape[1])])
label = pd.Series(y).map({-1: "benign", 1: "malignant"})

objective = bsfw.Logistic(frame, label, intercept=True)
result = bsfw.minimize(objective, bsfw.L1Ball(5.0))
model = bsfw.Model.of(objective, result)
print(result.why)
print(f"mean loss {result.fun:.6f}, at most {result.gap:.1e} above the least one")
print(model.predict(frame[:3]), model.predict_proba(frame[:3])[:, 1].round(3))

# %%
# All radii at once, each run started from the one before. Each line is a feature, and the multiplier of each radius is
# the penalty with the same solution.
path = bsfw.radius_path(objective, bsfw.L1Ball)
figure = path.plot()

# %%
# **What to change.** Another loss (:class:`bsfw.Huber` for numbers, :class:`bsfw.Multinomial` for many classes),
# another set (:class:`bsfw.GroupBall` for groups of features, :class:`bsfw.Simplex` for shares).
# :func:`bsfw.choose_radius` chooses the radius by cross-validation.
