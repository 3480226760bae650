"""bsfw.sklearn against scikit-learn's own, skglm and celer: 20 radii in five folds, and the overhead of the shell.

``python -m benchmarks.sklearn [data ...]``. CPU seconds, one run each after one of ours to compile. Every competitor
has a grid of 20, radii for ours, penalties for the others, from the strongest to a thousandth of it.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV

import bsfw
from bsfw.sklearn import FrankWolfeClassifier, FrankWolfeClassifierCV, FrankWolfeRegressorCV

GRID, FOLDS, PART = 20, 5, 1e-2
"""Penalties from the largest that leaves a coefficient to this part of it, as the radii are chosen."""


def cpu_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Of one call."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def strongest(X: Any, y: Any) -> float:
    """The least alpha for which all coefficients are zero; y in {0, 1}."""
    return float(np.abs(X.T @ (y - y.mean())).max()) / len(y)


def cross_validations(X: Any, y: Any) -> dict[str, Callable[[], Any]]:
    """The competitors in the choice of a logistic regression."""
    alphas = strongest(X, y) * np.geomspace(1.0, PART, GRID)
    cs = 1.0 / (len(y) * alphas)
    folds: dict[str, Any] = {"cv": FOLDS, "scoring": "neg_log_loss"}
    liblinear = LogisticRegression(l1_ratio=1.0, solver="liblinear", tol=1e-4, max_iter=1000)
    found: dict[str, Callable[[], Any]] = {
        "bsfw": lambda: FrankWolfeClassifierCV(radii=GRID, cv=FOLDS, tol=1e-6).fit(X, y),
        "GridSearchCV(liblinear)": lambda: GridSearchCV(liblinear, {"C": cs}, **folds).fit(X, y),
        "LogisticRegressionCV(liblinear)": lambda: LogisticRegressionCV(
            Cs=cs, l1_ratios=[1.0], solver="liblinear", use_legacy_attributes=False, **folds
        ).fit(X, y),
    }
    try:
        from skglm import SparseLogisticRegression

        skglm = SparseLogisticRegression(tol=1e-6)
        found["GridSearchCV(skglm)"] = lambda: GridSearchCV(skglm, {"alpha": alphas}, **folds).fit(X, y)
    except ImportError:
        pass
    try:
        from celer import LogisticRegression as Celer

        celer = Celer(tol=1e-6)
        found["GridSearchCV(celer)"] = lambda: GridSearchCV(celer, {"C": cs}, **folds).fit(X, y)
    except ImportError:
        pass
    return found


def regressions(X: Any, y: Any) -> dict[str, Callable[[], Any]]:
    """The competitors in the choice of a lasso, the labels taken as numbers."""
    alphas = strongest(X, y) * np.geomspace(1.0, PART, GRID)
    return {
        "bsfw": lambda: FrankWolfeRegressorCV(radii=GRID, cv=FOLDS, tol=1e-6).fit(X, y),
        "LassoCV": lambda: LassoCV(alphas=alphas, cv=FOLDS).fit(X, y),
    }


def report(name: str, what: str, competitors: dict[str, Callable[[], Any]]) -> None:
    """A row of the table for each competitor; ours once before, so that nothing is compiled on the clock."""
    competitors["bsfw"]()
    ours = 0.0
    for who, call in competitors.items():
        try:
            seconds, _ = cpu_seconds(call)
        except Exception as error:  # a peer that fails is a row too
            print(f"| {name} | {what} | {who} | failed: {type(error).__name__} | |", flush=True)
            continue
        ours = seconds if who == "bsfw" else ours
        print(f"| {name} | {what} | {who} | {seconds:.2f} | {seconds / ours:.2f} |", flush=True)


def overhead(repeats: int = 101) -> float:
    """Median seconds of a small fit beyond those of `bsfw.minimize` for the same problem, taken by turns."""
    X, y = bsfw.datasets.load("breast-cancer")
    dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    model = FrankWolfeClassifier(5.0)
    differences = []
    for _ in range(repeats):
        direct, result = cpu_seconds(
            lambda: bsfw.minimize(
                bsfw.Logistic(dense, y, intercept=True), bsfw.L1Ball(5.0), gap_tol=1e-10 * np.log(2.0), rng=0
            )
        )
        shell, _ = cpu_seconds(lambda: model.fit(dense, y))
        differences.append(shell - direct)
    assert result.success
    return float(np.median(differences))


def main() -> None:
    warnings.simplefilter("ignore")  # peers that do not converge are seen by their time
    print(f"overhead of a small fit over minimize: {1e3 * overhead():.2f} ms\n")
    print("| data | task | who | CPU s | against bsfw |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or ("mushrooms", "a9a", "rcv1-small"):
        X, y = bsfw.datasets.load(name)
        y = (np.asarray(y) > 0).astype(int)
        report(name, "logistic, 20 x 5", cross_validations(X, y))
        report(name, "squared, 20 x 5", regressions(X, y.astype(float)))


if __name__ == "__main__":
    main()
