"""
Imputation in scikit-learn
==========================

Missing entries of a table whose columns depend on each other, by a matrix of small nuclear norm.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer

from bsfw.sklearn import NuclearNormImputer

full = load_breast_cancer().data[:200]
holes = np.random.default_rng(0).random(full.shape) < 0.2
table = np.where(holes, np.nan, full)
errors = {}
for imputer in (SimpleImputer(), NuclearNormImputer(random_state=0)):
    name = type(imputer).__name__
    errors[name] = ((imputer.fit_transform(table) - full) / full.std(axis=0))[holes]
    print(f"{name}: error {np.sqrt(np.mean(errors[name] ** 2)):.3f} standard deviations")

# %%
# Errors of the entries that were taken out.
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for name, values in errors.items():
    ax.hist(values, np.linspace(-2, 2, 60), alpha=0.6, label=name)
ax.set(xlabel="error / standard deviation of the column", ylabel="entries")
ax.legend()

# %%
# **What to change.** The radius, which is found by held-out entries if none is given.
