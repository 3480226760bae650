import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from literal import align, inner, literal_boost, norm

import bsfw
from bsfw.vertices import Dense

SETS = {
    "l1": (bsfw.L1Ball(2.0), (7,), float),
    "l1-matrix": (bsfw.L1Ball(2.0), (3, 4), float),
    "l1-complex": (bsfw.L1Ball(1.5), (5,), complex),
    "l2-complex-matrix": (bsfw.L2Ball(3.0), (3, 2), complex),
    "linf": (bsfw.LinfBall(1.0), (6,), float),
    "simplex": (bsfw.Simplex(), (6,), float),
    "nuclear": (bsfw.NuclearBall(2.0), (4, 3), float),
    "spectral-complex": (bsfw.SpectralBall(1.0), (3, 3), complex),
    "one-dimension": (bsfw.L1Ball(1.0), (1,), float),
}


def random_array(rng, shape, dtype):
    values = rng.standard_normal(shape)
    return values + 1j * rng.standard_normal(shape) if dtype is complex else values


def feasible_point(rng, constraint, shape, dtype, vertices=3):
    weights = rng.dirichlet(np.ones(vertices))
    return sum(w * constraint.lmo(random_array(rng, shape, dtype)).dense(dtype) for w in weights)


def instance(name, seed):
    constraint, shape, dtype = SETS[name]
    rng = np.random.default_rng(seed)
    return constraint, random_array(rng, shape, dtype), feasible_point(rng, constraint, shape, dtype)


def direction_of(found, x):
    return sum((w * v.dense(x.dtype) for v, w in zip(found.vertices, found.weights, strict=True)), -x)


@pytest.mark.parametrize("name", SETS)
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.filter_too_much])  # n = 1 ends at once
@given(seed=st.integers(0, 2**32 - 1), rounds=st.integers(1, 30), delta=st.sampled_from([1e-8, 1e-4, 1e-2, 0.3, 1.0]))
def test_boost_equals_the_literal_transcription(name, seed, rounds, delta):
    constraint, m, x = instance(name, seed)
    found = bsfw.boost(m, x, constraint.lmo, rounds, delta)
    d, s, k, _, lambdas = literal_boost(m, x, lambda g: constraint.lmo(g).dense(x.dtype), rounds, delta)
    # Below, the sign of lambda is rounding: x is the vertex, or psi is already optimal.
    assume(norm(s - x) > 1e-12 and min(lambdas, default=1.0) > 1e-12)
    assert found.rounds == k
    np.testing.assert_allclose(found.vertex.dense(x.dtype), s)
    if found.vertices:
        np.testing.assert_allclose(direction_of(found, x), d, atol=1e-10)
        np.testing.assert_allclose(found.dense(x), d, atol=1e-10)
    else:
        assert norm(d) == 0
    assert found.norm == pytest.approx(norm(d), abs=1e-10)
    assert found.slope == pytest.approx(inner(m, d), abs=1e-9)
    assert found.alignment == pytest.approx(align(-m, d), abs=1e-9)
    assert found.gap == pytest.approx(inner(m, x - s), abs=1e-10)
    assert found.vertex_distance == pytest.approx(norm(s - x), abs=1e-10)


@pytest.mark.parametrize("name", SETS)
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_boost_returns_a_feasible_point_that_is_at_least_as_aligned_as_the_vertex(name, seed):
    constraint, m, x = instance(name, seed)
    found = bsfw.boost(m, x, constraint.lmo, 10_000, 1e-4)
    if not found.vertices:
        return
    assert min(found.weights) >= 0
    assert sum(found.weights) == pytest.approx(1.0, abs=1e-12)
    assert constraint.contains(x + found.dense(x), 1e-9)
    # Lemma "Alignment Inequality": <m, d> <= ||d|| / ||s - x|| <m, s - x>
    to_vertex = found.vertex.dense(x.dtype) - x
    assert found.slope <= found.norm / norm(to_vertex) * inner(m, to_vertex) + 1e-9


def test_the_away_candidate_wins_sometimes_and_then_ends_the_loop_with_its_call_counted():
    # Rounds in which -psi/||psi|| wins only rescale psi, so that they are rejected: K_t is one more than the vertices.
    seen = 0
    for seed in range(400):
        constraint, m, x = instance("simplex", seed)
        _, _, k, away, _ = literal_boost(m, x, lambda g, c=constraint: c.lmo(g).dense(), 50, 1e-9)
        if away:
            seen += 1
            found = bsfw.boost(m, x, constraint.lmo, 50, 1e-9)
            assert found.rounds == k == len(found.vertices) + 1
    assert seen > 10


def test_accepted_away_rounds_shrink_every_weight_and_lambda():
    # delta > 0 never accepts one (it only rescales psi), so the bookkeeping shows with a delta that accepts everything.
    seen = 0
    for seed in range(300):
        constraint, m, x = instance("simplex", seed)
        d, _, k, away, lambdas = literal_boost(m, x, lambda g, c=constraint: c.lmo(g).dense(), 4, -2.0)
        if away and len(lambdas) == 4 and min(lambdas) > 1e-6:
            seen += 1
            found = bsfw.boost(m, x, constraint.lmo, 4, -2.0)
            assert found.rounds == k
            assert min(found.weights) >= 0
            np.testing.assert_allclose(found.dense(x), d, atol=1e-9)
    assert seen > 10


def test_zero_estimate_is_not_boosted_and_reverts_to_the_vertex_of_zero():
    x = np.array([0.5, -0.5])
    found = bsfw.boost(np.zeros(2), x, bsfw.L1Ball(2.0).lmo, 10, 1e-4)
    assert found.rounds == 1
    assert found.vertices == []
    assert found.norm == 0
    assert found.vertex == bsfw.L1Ball(2.0).lmo(np.zeros(2))


def test_at_the_vertex_itself_there_is_no_direction():
    ball = bsfw.L1Ball(1.0)
    m = np.array([3.0, 1.0])
    x = ball.lmo(m).dense()
    found = bsfw.boost(m, x, ball.lmo, 10, 1e-4)
    assert (found.rounds, found.vertices, found.norm, found.gap) == (1, [], 0.0, 0.0)


def test_one_round_is_vanilla_frank_wolfe():
    constraint, m, x = instance("l1", 3)
    found = bsfw.boost(m, x, constraint.lmo, 1, 1e-4)
    assert found.rounds == 1
    assert found.weights == [1.0]
    np.testing.assert_array_equal(found.vertices[0].dense(), constraint.lmo(m).dense())


def test_an_inexact_oracle_cannot_make_a_weight_negative():
    x, m = np.zeros(2), np.array([-1.0, 0.0])
    wrong = Dense(np.array([-1.0, 0.5]))  # <r, v - x> < 0
    found = bsfw.boost(m, x, lambda g: wrong, 5, 1e-4)
    assert found.vertices == []
    assert found.rounds == 1


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-6, 1e-3, 7.0, 1e5]))
def test_boost_is_scale_equivariant_in_the_estimate(seed, scale):
    constraint, m, x = instance("l1", seed)
    one, other = (bsfw.boost(c * m, x, constraint.lmo, 50, 1e-3) for c in (1.0, scale))
    assert one.rounds == other.rounds
    np.testing.assert_allclose(one.dense(x), other.dense(x), atol=1e-9)
    assert other.gap == pytest.approx(scale * one.gap)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fast", [False, True])
def test_an_iterate_that_is_the_vertex_up_to_rounding_has_no_direction(dtype, fast):
    # float32(0.7) is not 0.7: without a look at the precision u = v - x would be noise, and d~ with it.
    ball, rng = bsfw.L1Ball(0.7), np.random.default_rng(0)
    for _ in range(50):
        m = rng.standard_normal(6).astype(dtype)
        x = ball.lmo(m).dense(dtype)
        x[np.flatnonzero(x)] *= 1 + np.finfo(dtype).eps
        found = ball.boost(m, x, 50, 1e-4) if fast else bsfw.boost(m, x, ball.lmo, 50, 1e-4)
        assert (found.rounds, found.vertices, found.norm) == (1, [], 0.0)
