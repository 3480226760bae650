"""Generalised linear models with an increasing link: known values, curvature, quasar-convexity under its condition."""

import math

import numpy as np
import pytest
import scipy.special

import bsfw
from bsfw.objectives import LeakySquared, ProbitSquared, SigmoidSquared

LINKS = {
    SigmoidSquared: scipy.special.expit,
    ProbitSquared: scipy.special.ndtr,
    LeakySquared: lambda z: 0.1 * z + 0.9 * np.logaddexp(0.0, z),
}


def realisable(loss, seed, margin=3.0, weighted=False, shift=0.0):
    """Targets made by a point of the l1 ball of radius `margin`, over data with entries of at most one."""
    rng = np.random.default_rng(seed)
    A = rng.uniform(-1, 1, (30, 4))
    truth = margin * rng.dirichlet(np.ones(4)) * rng.choice([-1, 1], 4)
    weight = rng.random(30) if weighted else None
    return loss(A, LINKS[loss](A @ truth + shift), intercept=shift != 0.0, sample_weight=weight), truth, rng


@pytest.mark.parametrize("loss", LINKS)
def test_f_is_half_the_mean_square_of_what_the_link_misses(loss):
    objective, truth, rng = realisable(loss, 0)
    x = rng.standard_normal(4)
    residual = LINKS[loss](objective.A @ x) - LINKS[loss](objective.A @ truth)
    assert objective.value(x) == pytest.approx(0.5 * np.mean(residual**2), rel=1e-12)
    assert objective.value(truth) < 1e-30


@pytest.mark.parametrize("loss", LINKS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("margin", [1.0, 4.0])
def test_quasar_convexity_holds_with_the_stated_rho_where_targets_are_realisable(loss, margin, weighted):
    for seed in range(10):
        objective, truth, rng = realisable(loss, seed, margin, weighted)
        rho = objective.rho_if_realisable(margin)
        for _ in range(10):
            x = margin * rng.dirichlet(np.ones(4)) * rng.choice([-1, 1], 4)
            assert objective.gradient(x) @ (x - truth) >= rho * objective.value(x) * (1 - 1e-12)


@pytest.mark.parametrize("loss", LINKS)
def test_a_free_intercept_keeps_it(loss):
    objective, truth, rng = realisable(loss, 3, margin=2.0, shift=0.5)
    rho = objective.rho_if_realisable(6.0)
    for _ in range(10):
        x = 2.0 * rng.dirichlet(np.ones(4)) * rng.choice([-1, 1], 4)
        assert objective.gradient(x) @ (x - truth) >= rho * objective.value(x) - 1e-12


def test_rho_is_twice_the_ratio_of_the_slopes():
    A, y = np.eye(2), [0.2, 0.7]
    p, s = math.exp(-2.0), scipy.special.expit(2.0)
    assert ProbitSquared(A, y).rho_if_realisable(2.0) == pytest.approx(2 * p)
    assert SigmoidSquared(A, y).rho_if_realisable(2.0) == pytest.approx(8 * s * (1 - s))
    assert LeakySquared(A, y, leak=0.1).rho_if_realisable(50.0) == pytest.approx(0.2)
    assert LeakySquared(A, y, leak=0.6).rho_if_realisable(50.0) == 1.0
    with pytest.raises(ValueError, match="flat to rounding"):
        ProbitSquared(A, y).rho_if_realisable(100.0)


def test_without_its_condition_the_statement_is_false():
    # One sample with a target that no margin of that size gives: far out on the flat part, almost no slope is left.
    objective = ProbitSquared(np.ones((2, 1)), [0.0, 1.0])
    ratio = objective.gradient([4.0])[0] * 4.0 / (objective.value([4.0]) - objective.value([0.0]))
    assert ratio < objective.rho_if_realisable(1.0)


@pytest.mark.parametrize("leak", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("y", [-3.0, 0.0, 3.0])
def test_the_curvature_of_the_leaky_link_is_bounded(leak, y):
    z = np.linspace(-15, 15, 30001)
    objective = LeakySquared(np.ones((len(z), 1)), np.full(len(z), y), leak)
    slopes = objective.derivatives(z)
    bound = objective.image_smoothness() * len(z)
    assert 0.4 * bound <= np.abs(np.diff(slopes) / np.diff(z)).max() <= bound * (1 + 1e-9)


def test_a_leak_of_one_is_least_squares():
    rng = np.random.default_rng(0)
    A, y, x = rng.standard_normal((9, 3)), rng.standard_normal(9), rng.standard_normal(3)
    assert LeakySquared(A, y, leak=1.0).value(x) == pytest.approx(bsfw.LeastSquares(A, y).value(x), rel=1e-13)
    with pytest.raises(ValueError, match="leak"):
        LeakySquared(A, y, leak=0.0)


@pytest.mark.parametrize("loss", LINKS)
def test_a_model_predicts_by_its_link_and_keeps_it_in_its_file(loss, tmp_path):
    objective, _, rng = realisable(loss, 1, margin=2.0)
    result = bsfw.minimize(objective, bsfw.L1Ball(2.0), max_iter=300)
    model, new = bsfw.Model.of(objective, result), rng.uniform(-1, 1, (5, 4))
    np.testing.assert_allclose(model.predict(new), LINKS[loss](new @ result.x), rtol=1e-12)
    model.save(tmp_path / "model.npz")
    again = bsfw.load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_allclose(model.predict(objective.A), objective.y, atol=1e-2)
