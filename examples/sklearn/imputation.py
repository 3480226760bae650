"""Imputation: missing entries of a table whose columns depend on each other."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer

from bsfw.sklearn import NuclearNormImputer

full = load_breast_cancer().data[:200]
holes = np.random.default_rng(0).random(full.shape) < 0.2
table = np.where(holes, np.nan, full)
for imputer in (SimpleImputer(), NuclearNormImputer(random_state=0)):
    errors = ((imputer.fit_transform(table) - full) / full.std(axis=0))[holes]
    print(f"{type(imputer).__name__}: error {np.sqrt(np.mean(errors**2)):.3f} standard deviations")
