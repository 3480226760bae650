"""The paper's claim on its own experiments: boosted ends below vanilla for every estimator, and hardly ever reverts."""

import numpy as np
import pytest

import bsfw

SEEDS = range(10)


def final_values(objective, radius, estimator, iterations, rounds):
    runs = [
        bsfw.minimize(
            objective,
            bsfw.L1Ball(radius),
            estimator=estimator,
            max_rounds=rounds,
            min_gain=1e-4,
            max_iter=iterations,
            record_every=iterations,
            rng=seed,
        )
        for seed in SEEDS
    ]
    return np.mean([run.fun for run in runs]), min(run.boosting_percentage for run in runs)


def assert_boosting_wins(objective, radius, estimator, iterations):
    boosted, percentage = final_values(objective, radius, estimator, iterations, 10_000)
    vanilla, _ = final_values(objective, radius, estimator, iterations, 1)
    assert boosted < vanilla
    assert percentage >= 99


@pytest.mark.parametrize("kind", [bsfw.SAG, bsfw.SAGA, bsfw.LSVRG, bsfw.SARAH, bsfw.HeavyBall], ids=lambda k: k.name)
def test_boosted_ends_below_vanilla_on_mushrooms(kind):
    assert_boosting_wins(bsfw.Logistic(*bsfw.datasets.load("mushrooms")), 50.0, kind(batch_size=404), 2000)


@pytest.mark.parametrize("estimator", [bsfw.SEGA(), bsfw.JAGUAR(), bsfw.ZOJA()], ids=lambda e: e.name)
def test_boosted_ends_below_vanilla_on_breast_cancer(estimator):
    assert_boosting_wins(bsfw.Logistic(*bsfw.datasets.load("breast-cancer")), 5.0, estimator, 500)
