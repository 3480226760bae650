import numpy as np
import pytest
from literal import align, norm
from scipy.optimize import minimize_scalar

import bsfw
from bsfw.steps import _derivative_zero

BALL = bsfw.L1Ball(3.0)


def problem(classification):
    A, y = classification
    objective = bsfw.Logistic(A, y)
    x = 0.5 * BALL.lmo(np.ones(12)).dense()
    gradient = objective._gradient(x)
    return objective, x, gradient, bsfw.boost(gradient, x, BALL.lmo, 50, 1e-4)


def test_paper_step_scales_by_the_lengths_and_reverts_at_one(classification):
    objective, x, _, direction = problem(classification)
    ratio = direction.vertex_distance / direction.norm
    assert ratio > 1
    move = bsfw.PaperStep()(objective, x, direction, 0.01)
    assert move.gamma == move.length == pytest.approx(0.01 * ratio)
    assert move.boosted
    reverted = bsfw.PaperStep()(objective, x, direction, 0.9)
    assert (reverted.gamma, reverted.boosted, reverted.length) == (1.0, False, 0.9)


def test_image_step_measures_in_the_image(classification):
    objective, x, _, direction = problem(classification)
    A = objective.A
    expected = 0.01 * norm(A @ (direction.vertex.dense() - x)) / norm(A @ direction.dense(x))
    assert bsfw.ImageStep()(objective, x, direction, 0.01).gamma == pytest.approx(expected)
    with pytest.raises(ValueError, match="ImageStep"):
        bsfw.ImageStep().check(bsfw.Quadratic(np.eye(2)))


def test_sag_takes_the_image_step_by_default_and_the_plain_one_on_request(classification):
    A, y = classification
    objective = bsfw.Logistic(A, y)
    assert isinstance(bsfw.Solver(objective, BALL, bsfw.SAG()).step_rule, bsfw.ImageStep)
    assert isinstance(bsfw.Solver(objective, BALL, bsfw.SAG(), step="paper").step_rule, bsfw.PaperStep)
    assert isinstance(bsfw.Solver(objective, BALL, bsfw.SAGA()).step_rule, bsfw.PaperStep)


def test_short_step_is_that_of_combettes_and_pokutta(classification):
    objective, x, gradient, direction = problem(classification)
    d = direction.dense(x)
    L = 2.0
    expected = min(align(-gradient, d) * norm(gradient) / (L * norm(d)), 1.0)
    assert bsfw.ShortStep(L)(objective, x, direction, 1.0).gamma == pytest.approx(expected)
    small = bsfw.ShortStep(1e-9)(objective, x, direction, 1.0)
    assert (small.gamma, small.boosted, small.length) == (1.0, False, 1.0)


def test_short_step_with_one_round_is_the_classical_one(classification):
    objective, x, gradient, _ = problem(classification)
    direction = bsfw.boost(gradient, x, BALL.lmo, 1, 1e-4)
    to_vertex = direction.vertex.dense() - x
    expected = -(gradient @ to_vertex) / (5.0 * norm(to_vertex) ** 2)
    assert bsfw.ShortStep(5.0)(objective, x, direction, 1.0).length == pytest.approx(expected)


def test_short_step_decreases_f_as_smoothness_promises(classification):
    A, y = classification
    result = bsfw.minimize(bsfw.Logistic(A, y), BALL, step="short", max_iter=100, record_every=1)
    assert (np.diff(result.trace["value"]) <= 1e-15).all()


def test_exact_line_search_finds_the_minimiser_on_the_segment(classification):
    objective, _, _, _ = problem(classification)
    x = bsfw.minimize(objective, BALL, max_iter=10).x
    direction = bsfw.boost(objective._gradient(x), x, BALL.lmo, 50, 1e-4)
    d = direction.dense(x)
    best = minimize_scalar(
        lambda g: objective._value(x + g * d), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
    )
    move = bsfw.LineSearch()(objective, x, direction, 1.0)
    assert 0 < move.gamma < 1
    assert move.gamma == pytest.approx(best.x, abs=1e-6)
    assert objective.counts.function_values + objective.counts.full_gradients > 0


def test_exact_line_search_asks_for_no_derivative_twice():
    class Parabola:
        """Of f(gamma) = (gamma - 0.3)^2 + (gamma - 0.3)^4, whose minimiser is 0.3."""

        def derivative(self, gamma):
            asked.append(gamma)
            return 2 * (gamma - 0.3) + 4 * (gamma - 0.3) ** 3

    asked = []
    assert _derivative_zero(Parabola()) == pytest.approx(0.3, abs=1e-12)
    assert asked[:2] == [1.0, 0.0]
    assert len(set(asked)) == len(asked) > 3


def test_line_search_reverts_when_the_minimiser_is_at_one():
    objective = bsfw.Quadratic(1e-3 * np.eye(2), np.array([-1.0, -0.5]))
    x = np.zeros(2)
    direction = bsfw.boost(objective._gradient(x), x, bsfw.L1Ball(1.0).lmo, 10, 1e-4)
    move = bsfw.LineSearch()(objective, x, direction, 1.0)
    assert (move.gamma, move.boosted, move.length) == (1.0, False, 1.0)


@pytest.mark.parametrize("kind", ["exact", "backtracking"])
@pytest.mark.parametrize("rounds", [1, 50])
def test_line_searches_never_increase_f_and_reach_the_gap(kind, rounds, classification):
    A, y = classification
    result = bsfw.minimize(
        bsfw.Logistic(A, y), BALL, step=bsfw.LineSearch(kind), max_rounds=rounds, max_iter=3000, record_every=1,
        gap_tol=1e-3,
    )  # fmt: skip
    assert (np.diff(result.trace["value"]) <= 1e-14).all()
    assert result.status == bsfw.Status.GAP_REACHED


def test_backtracking_satisfies_armijo_and_twice_the_step_does_not(classification):
    objective, x, gradient, direction = problem(classification)
    d = direction.dense(x)
    gamma = bsfw.LineSearch("backtracking")(objective, x, direction, 1.0).gamma

    def holds(g):
        return objective._value(x + g * d) <= objective._value(x) + 1e-4 * g * (gradient @ d)

    assert holds(gamma)
    assert gamma == 1.0 or not holds(2 * gamma)


def test_at_a_stationary_point_every_rule_stays(classification):
    objective = bsfw.Quadratic(np.eye(3))
    direction = bsfw.boost(np.zeros(3), np.zeros(3), bsfw.L1Ball(1.0).lmo, 10, 1e-4)
    for step in (bsfw.LineSearch(), bsfw.LineSearch("backtracking"), bsfw.ShortStep(1.0)):
        assert step(objective, np.zeros(3), direction, 1.0).length == 0.0


def test_deterministic_rules_refuse_noisy_gradients(classification):
    A, y = classification
    for step in ("short", "line-search"):
        with pytest.raises(ValueError, match="needs the exact gradient"):
            bsfw.minimize(bsfw.Logistic(A, y), BALL, estimator=bsfw.SAGA(), step=step)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bsfw.LineSearch("wolfe"), "'exact', 'backtracking' or 'adaptive'"),
        (lambda: bsfw.ShortStep(-1.0), "smoothness"),
        (lambda: bsfw.Solver(bsfw.Quadratic(np.eye(2)), BALL, step="long"), "one of paper, image, short, line-search"),
        (
            lambda: bsfw.Solver(bsfw.Function(np.sum, np.ones_like, shape=(2,)), BALL, step="short"),
            "give it explicitly",
        ),
    ],
)
def test_bad_rules_give_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()
