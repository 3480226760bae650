"""
Choosing the radius in scikit-learn
===================================

Cross-validation with one warm path per fold, and the one-standard-error rule: the sparsest model that is not clearly
worse.
"""

# %%
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bsfw.sklearn import FrankWolfeClassifierCV

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
for rule in ("best", "one-standard-error"):
    search = make_pipeline(StandardScaler().set_output(transform="pandas"), FrankWolfeClassifierCV(radii=20, rule=rule))
    model = search.fit(X, y)[-1]
    features = (model.coef_ != 0).sum()
    print(f"{rule}: radius {model.radius_:.3g}, loss {-model.best_score_:.4f}, {features} of {X.shape[1]} features")

# %%
# The loss of the folds along the path.
axes = model.plot_path()

# %%
# **What to change.** ``scoring`` takes any scorer of scikit-learn, ``constraint`` any set that a radius makes.
