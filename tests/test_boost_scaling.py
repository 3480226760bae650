"""Boost is scale-equivariant in m, from the smallest numbers to the largest, in every form it has."""

import numpy as np
import pytest

import bsfw
from bsfw.boosting import boost
from bsfw.engines.factored.boosting import Span
from bsfw.engines.factored.boosting import boost as factored_boost
from bsfw.engines.factored.operator import Pattern
from bsfw.lowrank import LowRank
from bsfw.vertices import RankOne

N = 40
SETS = {
    "l1": bsfw.L1Ball(2.0),
    "weighted l1": bsfw.L1Ball(2.0, weights=np.linspace(0.5, 3.0, N)),
    "simplex": bsfw.Simplex(1.5),
    "solid simplex": bsfw.Simplex(1.5, equality=False),
    "k-sparse": bsfw.KSparse(3, 1.0),
    "groups": bsfw.GroupBall(np.split(np.arange(N), 8), 2.0),
    "l2": bsfw.L2Ball(2.0),
    "box": bsfw.Box(-np.ones(N), np.ones(N)),
}
POWERS = [-1020, -1000, -700, -540, -300, 300, 512, 540, 700, 996]
"""Of two: 1e-307 to 1e300; 2^-540 and 2^512 are where squares leave the range."""


def problem(constraint, seed=0):
    rng = np.random.default_rng(seed)
    x = constraint.lmo(rng.standard_normal(N)).dense()
    for _ in range(4):
        x = 0.7 * x + 0.3 * constraint.lmo(rng.standard_normal(N)).dense()
    return rng.uniform(0.1, 1.0, N) * rng.choice([-1.0, 1.0], N), x


def assert_same(found, expected, x, power, tolerance):
    assert found.rounds == expected.rounds
    np.testing.assert_allclose(found.dense(x), expected.dense(x), atol=tolerance)
    assert found.alignment == pytest.approx(expected.alignment, abs=tolerance)
    assert found.norm == pytest.approx(expected.norm, abs=tolerance)
    assert found.vertex_distance == pytest.approx(expected.vertex_distance, abs=tolerance)
    for name in ("gap", "slope"):
        ordinary = float(np.ldexp(getattr(found, name), -power))
        assert ordinary == pytest.approx(getattr(expected, name), rel=1e-9, abs=tolerance)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("name", SETS)
def test_a_power_of_two_changes_nothing_but_gap_and_slope(name, power):
    constraint = SETS[name]
    m, x = problem(constraint)
    expected = constraint.boost(m, x, 50, 1e-4)
    assert expected.rounds > 1
    assert_same(constraint.boost(np.ldexp(m, power), x, 50, 1e-4), expected, x, power, 1e-12)
    assert_same(boost(np.ldexp(m, power), x, constraint.lmo, 50, 1e-4), expected, x, power, 1e-9)


@pytest.mark.parametrize("name", SETS)
def test_numbers_below_the_normal_range_have_their_own_rounding(name):
    constraint = SETS[name]
    m, x = problem(constraint)
    m = np.ldexp(m, -1040)  # some 1e-313, with ten digits left
    expected = constraint.boost(np.ldexp(m, 1040), x, 5, 1e-2)
    for found in (constraint.boost(m, x, 5, 1e-2), boost(m, x, constraint.lmo, 5, 1e-2)):
        assert found.rounds == expected.rounds
        np.testing.assert_allclose(found.dense(x), expected.dense(x), atol=1e-8)


@pytest.mark.parametrize("spread", [1e-200, 1e-150])
@pytest.mark.parametrize("name", ["l1", "simplex", "k-sparse", "groups"])
def test_numbers_far_below_the_largest_do_not_matter(name, spread):
    constraint = SETS[name]
    m, x = problem(constraint)
    m[::2] *= spread
    assert_same(constraint.boost(m, x, 3, 1e-2), boost(m, x, constraint.lmo, 3, 1e-2), x, 0, 1e-9)


@pytest.mark.parametrize("power", [-500, -350, 250, 480])
@pytest.mark.parametrize("name", ["l1", "simplex", "k-sparse", "groups"])
@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_runs_of_both_engines_see_the_direction_of_ordinary_numbers(name, power, engine):
    """Data and targets times 2^p make m times 2^2p."""
    rng = np.random.default_rng(3)
    A, y, found = rng.standard_normal((30, N)), rng.standard_normal(30), []
    for shift in (0, power):
        objective = bsfw.LeastSquares(np.ldexp(A, shift), np.ldexp(y, shift))
        solver = bsfw.Solver(objective, SETS[name], bsfw.FullGradient(), engine=engine, step="paper")
        state = solver.init(problem(SETS[name])[1], rng=0)
        with np.errstate(over="ignore", under="ignore"):
            found.append(solver.engine(state).look(state))
    expected, scaled = found
    assert scaled.rounds == expected.rounds > 1
    assert np.ldexp(scaled.gap, -2 * power) == pytest.approx(expected.gap, rel=1e-9)
    assert scaled.norm == pytest.approx(expected.norm, rel=1e-9)
    np.testing.assert_allclose(scaled.vertex.dense(), expected.vertex.dense(), atol=1e-12)


@pytest.mark.parametrize("power", [*POWERS, 0])
def test_the_factored_boost_is_scale_equivariant(power):
    rng = np.random.default_rng(1)
    rows, cols = np.nonzero(rng.random((9, 7)) < 0.6)
    pattern = Pattern(np.searchsorted(rows, np.arange(10)), cols, (9, 7))
    m = rng.standard_normal(len(cols))
    u, v = (np.linalg.qr(rng.standard_normal((size, 2)))[0] for size in (9, 7))
    x = LowRank(u, np.array([0.5, 0.2]), v)
    z = np.asarray(x)[rows, cols]

    def lmo(operator, number):
        dense, k = np.zeros((9, 7)), len(operator.coefficients)
        dense[rows, cols] = operator.data
        left, _, right = np.linalg.svd(dense + (operator.left[:, :k] * operator.coefficients) @ operator.right[:, :k].T)
        return RankOne(-1.0, left[:, 0], right[0])

    found = []
    for shift in (0, power):
        span = Span(pattern, np.ldexp(m, shift), z, x, 0.29, np.float64)
        found.append(factored_boost(span, lmo, 20, 1e-4))
    (expected, point), (scaled, other) = found
    assert expected.rounds == scaled.rounds > 1
    np.testing.assert_allclose(other, point, atol=1e-12)
    assert np.ldexp(scaled.gap, -power) == pytest.approx(expected.gap, rel=1e-12)
    assert np.ldexp(scaled.slope, -power) == pytest.approx(expected.slope, rel=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_estimate_that_is_not_finite_is_said_to_have_none(bad):
    objective = bsfw.LeastSquares(np.eye(N), np.ones(N))
    for name in ("l1", "simplex", "k-sparse", "groups"):
        solver = bsfw.Solver(objective, SETS[name], bsfw.FullGradient(), engine="compiled", step="paper")
        state = solver.init(problem(SETS[name])[1], rng=0)
        engine = solver.engine(state)
        engine.advance(state, engine.look(state))
        engine.memory["x"][1] = bad
        assert engine.look(state) is None
