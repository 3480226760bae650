"""method="auto" and the natural end: a call without settings gives a certified answer, and says how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw
from bsfw.results import Status


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    A = sp.random(200, 30, density=0.3, random_state=1, format="csr")
    return A, np.where(A @ rng.standard_normal(30) + 0.3 * rng.standard_normal(200) > 0, 1.0, -1.0)


def quartic(x: Any) -> float:
    return float(np.sum((x - 1.0) ** 4))


CASES: dict[str, tuple[Any, Any, str]] = {
    "linear model, l1": (bsfw.Logistic(*data()), bsfw.L1Ball(4.0), "corrective"),
    "linear model, polytope": (bsfw.Logistic(*data()), bsfw.KSparse(3, 2.0), "corrective"),
    "linear model, curved": (bsfw.Logistic(*data()), bsfw.L2Ball(4.0), "boosted"),
    "linear model, groups": (
        bsfw.Logistic(*data()), bsfw.GroupBall(np.arange(30).reshape(10, 3), 2.0), "corrective",
    ),
    "quadratic, polytope": (bsfw.Quadratic(np.diag(np.arange(1.0, 9)), np.ones(8)), bsfw.Simplex(), "corrective"),
    "nonconvex quadratic": (
        bsfw.Quadratic(np.diag(np.arange(-1.0, 7)), np.ones(8)), bsfw.L1Ball(1.0), "blended-pairwise",
    ),
    "convex function, polytope": (
        bsfw.Function(quartic, lambda x: 4 * (x - 1.0) ** 3, shape=(5,), quasar_rho=1.0), bsfw.KSparse(2, 0.5),
        "corrective",
    ),
    "nonconvex function, polytope": (
        bsfw.Function(quartic, lambda x: 4 * (x - 1.0) ** 3, shape=(5,)), bsfw.L1Ball(1.0), "boosted",
    ),
    "quadratic, curved": (bsfw.Quadratic(np.diag(np.arange(1.0, 9)), np.ones(8)), bsfw.L2Ball(0.1), "boosted"),
    "function": (
        bsfw.Function(quartic, lambda x: 4 * (x - 1.0) ** 3, shape=(5,), quasar_rho=1.0), bsfw.L2Ball(1.0), "boosted",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_without_settings_a_run_ends_certified_and_says_how(name: str) -> None:
    objective, constraint, method = CASES[name]
    result = bsfw.minimize(objective, constraint)
    assert result.status is Status.CONVERGED
    assert result.success
    assert result.gap_exact
    assert result.gap <= max(1e-6 * abs(result.fun), 1e-13 * abs(result.trace["value"][0]))
    gradient = objective.gradient(result.x)
    assert result.gap >= gradient @ result.x - constraint.lmo(gradient).inner(gradient)  # a bound, rounding included
    assert result.method == method
    assert f"method {method} (" in result.why


def test_with_a_noisy_gradient_it_is_the_papers_algorithm() -> None:
    objective, ball, options = bsfw.Logistic(*data()), bsfw.L1Ball(4.0), dict(max_iter=50, rng=3)
    auto = bsfw.minimize(objective, ball, estimator=bsfw.SAGA(20), **options)
    paper = bsfw.minimize(objective, ball, estimator=bsfw.SAGA(20), method="boosted", **options)
    np.testing.assert_array_equal(auto.x, paper.x)
    assert auto.step == bsfw.PaperStep()
    assert auto.decay == paper.decay


@pytest.mark.parametrize("asked", [{"decay": "quasar-convex"}, {"step": "short"}, {"max_rounds": 1}], ids=str)
def test_settings_of_the_boosted_method_are_heeded(asked: dict[str, Any]) -> None:
    result = bsfw.minimize(bsfw.Logistic(*data()), bsfw.L1Ball(4.0), max_iter=5, **asked)
    assert result.method == "boosted"


def test_the_natural_end_is_for_runs_without_a_tolerance() -> None:
    objective, ball = bsfw.Logistic(*data()), bsfw.L1Ball(4.0)
    assert bsfw.minimize(objective, ball, gap_tol=0.0, max_iter=40).nit == 40
    assert bsfw.minimize(objective, ball, gap_tol=1e-3).status is Status.GAP_REACHED
    stochastic = bsfw.minimize(objective, ball, estimator=bsfw.SAGA(200), max_iter=300, rng=0)
    assert stochastic.status is Status.ITERATIONS


def test_a_minimum_of_zero_is_the_end_too() -> None:
    target = np.array([0.2, 0.3, 0.5])
    result = bsfw.minimize(bsfw.Quadratic(1.0, -target, 0.5 * float(target @ target)), bsfw.Simplex())
    assert result.status is Status.CONVERGED
    assert result.fun <= 1e-12


def test_a_run_far_from_its_end_says_what_to_try() -> None:
    result = bsfw.minimize(bsfw.Logistic(*data()), bsfw.L1Ball(4.0), method="boosted", max_iter=5)
    assert result.status is Status.ITERATIONS
    assert "try method='auto', more iterations" in result.message


@pytest.mark.parametrize("wrong", [(5, bsfw.L1Ball(1.0)), (bsfw.Logistic(*data()), 5)], ids=["objective", "set"])
def test_parts_of_the_wrong_type_are_refused_in_a_sentence(wrong: tuple[Any, Any]) -> None:
    with pytest.raises(TypeError, match="got 5"):
        bsfw.minimize(*wrong)
    with pytest.raises(TypeError, match="got 5"):
        bsfw.Solver(*wrong)
