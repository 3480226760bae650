"""Oracles of sets whose answer is not read off one entry, against linear and semidefinite programs of others."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

import bsfw
from bsfw._arrays import inner

RNG = np.random.default_rng(5)


def by_cvxpy(g, feasible, shape=None):
    """The least Re<g, x> over the set that `feasible` states."""
    x = cp.Variable(g.shape, **(shape or {}))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(g, x))), feasible(x))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def ordered(weights, x):
    """sum_k (w_k - w_{k+1}) times the sum of the k largest |x_i|."""
    steps = -np.diff(np.append(weights, 0.0))
    return sum(step * cp.sum_largest(cp.abs(x), k + 1) for k, step in enumerate(steps) if step > 0)


LOW, HIGH = np.array([0.0, -1.0, 0.25, 0.0, 2.0]), np.array([1.0, 0.5, 0.25, 3.0, 4.0])
UP, DOWN = np.array([1.0, 2.0, 0.5, 4.0, 1.0]), np.array([3.0, 1.0, 0.5, 1.0, 2.0])
WEIGHTS = {"decreasing": [3.0, 2.0, 1.5, 1.0, 0.5], "ties": [2.0, 2.0, 1.0, 1.0, 0.0], "largest": [1.0, 0, 0, 0, 0]}
PROGRAMS = {
    "capped simplex": (
        bsfw.CappedSimplex(3.0, HIGH, LOW),
        lambda x: [x >= LOW, x <= HIGH, cp.sum(x) == 3.0],
    ),
    "hypersimplex": (bsfw.CappedSimplex(2.0), lambda x: [x >= 0, x <= 1, cp.sum(x) == 2.0]),
    "asymmetric": (
        bsfw.AsymmetricL1Ball(2.0, UP, DOWN),
        lambda x: [cp.sum(cp.multiply(UP, cp.pos(x)) + cp.multiply(DOWN, cp.neg(x))) <= 2.0],
    ),
    "total variation": (
        bsfw.TotalVariationBall(2.0, 0.3),
        lambda x: [cp.norm1(cp.diff(x)) <= 2.0, cp.sum(x) == 0.3 * 5],
    ),
    "shifted and mirrored": (
        bsfw.Shifted(bsfw.Scaled(bsfw.L1Ball(2.0, UP), -0.5), LOW),
        lambda x: [cp.norm1(cp.multiply(UP, x - LOW)) <= 1.0],
    ),
    **{
        f"ordered, {name}": (bsfw.OrderedL1Ball(w, 2.0), lambda x, w=w: [ordered(np.array(w), x) <= 2.0])
        for name, w in WEIGHTS.items()
    },
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_oracle_is_as_low_as_a_linear_program(name):
    constraint, feasible = PROGRAMS[name]
    for g in (RNG.standard_normal(5), RNG.integers(-2, 3, 5).astype(float)):
        vertex = constraint.lmo(g)
        assert constraint.violation(vertex.dense()) <= 1e-12
        assert vertex.inner(g) == pytest.approx(by_cvxpy(g, feasible), abs=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_violation_tells_what_the_program_allows(name):
    constraint, feasible = PROGRAMS[name]
    inside = np.mean([constraint.lmo(RNG.standard_normal(5)).dense() for _ in range(9)], axis=0)
    assert constraint.contains(inside)
    for outside in (inside + 5.0 * np.eye(5)[0] - 5.0 * np.eye(5)[1], inside - 6.0 * np.eye(5)[4]):
        x = cp.Variable(5)
        problem = cp.Problem(cp.Minimize(cp.norm(x - outside)), feasible(x))
        problem.solve(solver=cp.CLARABEL)
        assert problem.value > 1e-3
        assert constraint.violation(outside) > 1e-3


def test_fantope_is_as_low_as_a_semidefinite_program():
    g = RNG.standard_normal((4, 4))
    least = by_cvxpy(0.5 * (g + g.T), lambda x: [x >> 0, np.eye(4) - x >> 0, cp.trace(x) == 2.0], {"symmetric": True})
    vertex = bsfw.Fantope(2).lmo(g).dense()
    assert inner(g, vertex) == pytest.approx(least, abs=1e-6)
    np.testing.assert_allclose(vertex @ vertex, vertex, atol=1e-12)  # a projection: an extreme point


@pytest.mark.parametrize("weights", [(3.0, 2.0, 1.0), (2.0, 2.0, 1.0), (2.0, 1.0, 1.0), (1.0, 0, 0), (1.0, 1.0, 0)])
def test_ordered_vertices_are_no_mean_of_others(weights):
    ball = bsfw.OrderedL1Ball(weights, 1.0)
    asked = [np.array(g, dtype=float) for g in itertools.product((-1, 0, 1), repeat=3)]
    points = np.array(sorted({tuple(np.round(ball.lmo(g).dense(), 12)) for g in asked}))
    for k, point in enumerate(points):
        others = np.vstack([np.delete(points, k, axis=0).T, np.ones(len(points) - 1)])
        assert linprog(np.zeros(len(points) - 1), A_eq=others, b_eq=np.append(point, 1.0)).status == 2  # infeasible


def test_transposing_twice_is_the_set_itself():
    inner_set, g = bsfw.Product([(bsfw.L1Ball(1.0), 6)]), RNG.standard_normal((3, 4))
    twice = bsfw.Transposed(bsfw.Transposed(bsfw.NuclearBall(2.0)))
    np.testing.assert_allclose(twice.lmo(g).dense(), bsfw.NuclearBall(2.0).lmo(g).dense())
    with pytest.raises(ValueError, match="holds matrices"):
        bsfw.Transposed(inner_set).lmo(np.ones(6))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: bsfw.CappedSimplex(3.0, [1.0, 1.0]), "sums lie between 0 and 2"),
        (lambda: bsfw.CappedSimplex(1.0, 0.0, 1.0), "lower must not exceed upper"),
        (lambda: bsfw.CappedSimplex(9.0).lmo(np.ones(3)), "no point of shape"),
        (lambda: bsfw.OrderedL1Ball([1.0, 2.0], 1.0), "not increase"),
        (lambda: bsfw.OrderedL1Ball([], 1.0), "nonempty vector"),
        (lambda: bsfw.AsymmetricL1Ball(1.0, [1.0, -1.0]), "up must be positive"),
        (lambda: bsfw.TotalVariationBall(1.0).lmo(np.ones(1)), "two entries or more"),
        (lambda: bsfw.Fantope(3).lmo(np.eye(2)), "at least 3 rows"),
        (lambda: bsfw.Scaled(bsfw.L1Ball(1.0), 0.0), "factor must not be zero"),
        (lambda: bsfw.Shifted(bsfw.L1Ball(1.0), [np.nan]), "by"),
        (lambda: bsfw.Scaled("ball", 2.0), "needs a set of bsfw"),
    ],
)
def test_bad_input_is_named(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_the_lower_bound_of_a_transformed_set_is_that_of_the_set_inside():
    g, by = RNG.standard_normal((60, 50)), RNG.standard_normal((60, 50))
    top = np.linalg.norm(g, 2)
    for constraint, least in (
        (bsfw.Scaled(bsfw.NuclearBall(2.0, 1e-2), -3.0), -6.0 * top),
        (bsfw.Shifted(bsfw.NuclearBall(2.0, 1e-2), by), inner(by, g) - 2.0 * top),
        (bsfw.Transposed(bsfw.NuclearBall(2.0, 1e-2)), -2.0 * top),
    ):
        direction = g.T if isinstance(constraint, bsfw.Transposed) else g
        bound = constraint.lower_bound(direction, constraint.lmo(direction))
        assert bound <= least + 1e-9
        assert bound == pytest.approx(least, rel=1e-9)
