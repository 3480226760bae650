"""
Sparse text classification in scikit-learn
==========================================

Few words that tell two kinds of messages apart, with a certificate of the fit.
"""

# %%
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from bsfw.sklearn import FrankWolfeClassifier

SPORT = [
    "the team won the match",
    "a late goal decided the game",
    "the coach praised the team",
    "fans watched the game",
]
SPACE = [
    "the rocket reached orbit",
    "a probe left for the moon",
    "engineers watched the rocket",
    "the moon is far away",
]
texts, labels = SPORT + SPACE, ["sport"] * 4 + ["space"] * 4

model = make_pipeline(TfidfVectorizer(), FrankWolfeClassifier(radius=10.0)).fit(texts, labels)
words, classifier = model[0].get_feature_names_out(), model[-1]
print(f"the mean loss is at most {classifier.dual_gap_:.1e} above the least possible")
print(model.predict(["the goal of the team", "a rocket to the moon"]))

# %%
# The words that the model uses.
import matplotlib.pyplot as plt

chosen = classifier.coef_[0].nonzero()[0]
figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.barh(words[chosen], classifier.coef_[0, chosen])
ax.set(xlabel=f"coefficient ({classifier.classes_[0]} below zero, {classifier.classes_[1]} above)")

# %%
# **What to change.** The texts; the radius by cross-validation (:ref:`sphx_glr_gallery_plot_model_selection.py`).
