"""Sparse text classification: few words that tell two kinds of messages apart, with a certificate."""

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
chosen = {words[j]: round(float(classifier.coef_[0, j]), 2) for j in classifier.coef_[0].nonzero()[0]}
print(f"{len(chosen)} of {len(words)} words: {chosen}")
print(f"the mean loss is at most {classifier.dual_gap_:.1e} above the least possible")
print(model.predict(["the goal of the team", "a rocket to the moon"]))
