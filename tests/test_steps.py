from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from literal import align, norm
from scipy.optimize import minimize_scalar

import bsfw
from bsfw.steps import derivative_zero, golden_section

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
    assert isinstance(bsfw.Solver(objective, BALL, bsfw.SAG()).plan.step, bsfw.ImageStep)
    assert isinstance(bsfw.Solver(objective, BALL, bsfw.SAG(), step="paper").plan.step, bsfw.PaperStep)
    assert isinstance(bsfw.Solver(objective, BALL, bsfw.SAGA()).plan.step, bsfw.PaperStep)


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


ROUND_SETS = {
    "L2Ball": bsfw.L2Ball(1.0),
    "GroupBall": bsfw.GroupBall([[0, 1], [2, 3]], 1.0),
    "Ellipsoid": bsfw.Ellipsoid(np.zeros(4), np.diag([1.0, 0.5, 2.0, 1.0])),
    "LpBall": bsfw.LpBall(3, 1.0),
}


@pytest.mark.parametrize("name", ROUND_SETS)
@pytest.mark.parametrize("rule", ["short", "paper", "line-search", bsfw.LineSearch("backtracking")], ids=str)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_rule_leaves_the_set(name, rule, data, monkeypatch):
    # A round set has vertices that x reaches up to rounding, where lengths and decreases are quotients of errors.
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    numbers = st.one_of(st.floats(-3.0, 3.0), st.floats(-1e-8, 1e-8), st.sampled_from([0.0, 1.0, 1e6]))
    c = data.draw(arrays(float, 4, elements=numbers))
    constraint, seen = ROUND_SETS[name], []
    bsfw.minimize(
        bsfw.Quadratic(np.eye(4), -c), constraint, step=rule, max_rounds=data.draw(st.sampled_from([1, 10])),
        gap_tol=0.0, max_iter=40, record_every=1, callback=lambda result: seen.append(constraint.violation(result.x)),
    )  # fmt: skip
    assert max(seen, default=0.0) <= 1e-12  # a gap of zero can end a run at once


@pytest.mark.parametrize("name", ROUND_SETS)
def test_short_steps_stay_inside_for_many_targets(name, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    rng, constraint = np.random.default_rng(0), ROUND_SETS[name]
    for _ in range(60):
        c = rng.standard_normal(4) * rng.choice([0.3, 1.0, 3.0])
        x = bsfw.minimize(bsfw.Quadratic(np.eye(4), -c), constraint, step="short", max_iter=30).x
        assert constraint.violation(x) <= 1e-12


@pytest.mark.parametrize("length", [-0.1, 1.1, 16.9, np.nan, np.inf, -np.inf])
def test_a_move_is_a_share_of_its_direction(length):
    with pytest.raises(ValueError, match=r"a step rule gave length = .*; it must lie in \[0, 1\]"):
        bsfw.steps.Move(0.5, True, length)
    with pytest.raises(ValueError, match="a step rule gave gamma"):
        bsfw.steps.Move(length, True, 0.5)


def test_the_rounding_of_a_share_is_cut_off():
    assert bsfw.steps.Move(1.0 + 1e-9, False, -1e-9) == bsfw.steps.Move(1.0, False, 0.0)
    assert bsfw.steps.Move(np.float32(0.25), True, np.array(0.25)) == bsfw.steps.Move(0.25, True, 0.25)
    with pytest.raises(TypeError, match="a step rule gave gamma = None; it must be a number"):
        bsfw.steps.Move(None, True, 0.5)


def test_a_rule_of_a_users_that_would_leave_the_set_is_stopped(classification):
    class Long(bsfw.Step):
        name = "long"
        deterministic = False

        def __call__(self, objective, x, direction, eta):
            return bsfw.steps.Move(1.0, False, 3.0)

    A, y = classification
    with pytest.raises(ValueError, match=r"a step rule gave length = 3\.0"):
        bsfw.Solver(bsfw.Logistic(A, y), BALL, step=Long(), engine="reference").step(
            bsfw.Solver(bsfw.Logistic(A, y), BALL).init()
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_whole_step_to_the_vertex_is_no_boosted_one_whatever_the_rounding(dtype):
    rng, objective = np.random.default_rng(4), bsfw.Quadratic(np.eye(30))
    for _ in range(200):
        x = (BALL.lmo(rng.standard_normal(30)).dense() * rng.random()).astype(dtype)
        direction = bsfw.boost(rng.standard_normal(30).astype(dtype), x, BALL.lmo, 1, 1e-4)
        assert len(direction.vertices) == 1  # d~ = s - x
        # The same length, summed in another order.
        other = replace(direction, norm=float(np.sqrt(np.sum(np.square(direction.dense(x)[::-1])))))
        for found in (direction, other):
            move = bsfw.PaperStep()(objective, x, found, 1.0)
            assert (move.gamma, move.boosted, move.length) == (1.0, False, 1.0)
        assert bsfw.PaperStep()(objective, x, direction, 0.999).boosted


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
    assert derivative_zero(Parabola(), -0.708) == pytest.approx(0.3, abs=1e-12)
    assert asked[0] == 1.0
    assert 0.0 not in asked  # the slope is known there
    assert len(set(asked)) == len(asked) > 3


def test_line_search_reverts_when_the_minimiser_is_at_one():
    objective = bsfw.Quadratic(1e-3 * np.eye(2), np.array([-1.0, -0.5]))
    x = np.zeros(2)
    direction = bsfw.boost(objective._gradient(x), x, bsfw.L1Ball(1.0).lmo, 10, 1e-4)
    move = bsfw.LineSearch()(objective, x, direction, 1.0)
    assert (move.gamma, move.boosted, move.length) == (1.0, False, 1.0)


TRIANGLE = bsfw.ConvexHull(np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))


@pytest.mark.parametrize("kind", ["exact", "backtracking"])
def test_line_search_goes_all_the_way_where_that_leads_lower_than_the_vertex(kind):
    """f falls up to the end of d~, on the far side of the triangle, and towards the vertex much less."""
    target = np.array([0.2, -0.1])
    objective, x = bsfw.Quadratic(np.eye(2), -target), np.array([0.0, 1.0])
    direction = bsfw.boost(x - target, x, TRIANGLE.lmo, 10, 1e-4)
    counts = bsfw.Counts()
    with objective.counting(counts):
        move = bsfw.LineSearch(kind)(objective, x, direction, 1.0)
    assert (move.gamma, move.boosted, move.length) == (1.0, True, 1.0)
    towards = bsfw.boost(x - target, x, TRIANGLE.lmo, 1, 1e-4).dense(x)
    best = min(objective.value(x + gamma * towards) for gamma in np.linspace(0.0, 1.0, 1001))
    assert objective.value(x + direction.dense(x)) < best - 0.1
    assert counts.function_values >= 2


def test_boosted_line_search_needs_far_fewer_oracle_calls_than_vanilla_on_a_triangle():
    objective, x0 = bsfw.Quadratic(np.eye(2), -np.array([0.2, -0.1])), np.array([0.0, 1.0])
    settings = {"method": "boosted", "step": "line-search", "x0": x0, "gap_tol": 1e-8, "max_iter": 100}
    boosted, vanilla = (bsfw.minimize(objective, TRIANGLE, max_rounds=rounds, **settings) for rounds in (10, 1))
    assert boosted.success
    assert boosted.lmo_calls < vanilla.lmo_calls / 2


def test_engines_agree_where_a_search_goes_all_the_way():
    """Least squares whose solution is far outside of the ball, along a diagonal: f falls up to the end of d~."""
    from engine_runs import assert_same_run, both_runs

    objective = bsfw.LeastSquares(np.eye(6), 5.0 * np.array([1.0, 0.9, 0.8, 0.7, 0.6, 0.5]))
    runs = both_runs(objective, bsfw.L1Ball(1.0), bsfw.FullGradient(), iterations=4, step="line-search", max_rounds=30)
    assert_same_run(runs, 1e-9)


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
        (lambda: bsfw.LineSearch("wolfe"), "'exact', 'golden-section', 'backtracking', 'adaptive'"),
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


@pytest.mark.parametrize("largest", [1.0, 0.3, 7.0])
@pytest.mark.parametrize("zero", [-0.2, 0.13, 0.9, 9.0])
def test_golden_section_finds_the_minimiser_of_a_convex_function(zero, largest):
    f = bsfw.Function(lambda x: float(np.cosh(x[0] - zero)), shape=(1,))
    found = golden_section(f.along(np.zeros(1), np.ones(1)), largest)
    assert found == pytest.approx(np.clip(zero, 0.0, largest), abs=2e-6 * largest)


@pytest.mark.parametrize("method", ["boosted", "pairwise"])
def test_golden_section_runs_without_derivatives_along_the_line(method, classification):
    A, y = classification
    settings = {"method": method, "max_iter": 15, "gap_tol": 0.0, "x0": np.zeros(12)}
    by_values = bsfw.minimize(bsfw.Logistic(A, y), BALL, step=bsfw.LineSearch("golden-section"), **settings)
    exact = bsfw.minimize(bsfw.Logistic(A, y), BALL, step=bsfw.LineSearch(), **settings)
    assert by_values.njev == 15 < exact.njev
    assert by_values.fun == pytest.approx(exact.fun, abs=1e-3)
