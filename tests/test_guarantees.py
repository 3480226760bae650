"""The theorems on real runs with known L and D: the proved bounds hold, near enough to notice a wrong exponent."""

import numpy as np
import pytest

import bsfw
from bsfw import theory

N = 400
SIMPLEX = bsfw.Simplex()
D = np.sqrt(2.0)
HALF_SQUARE = bsfw.Quadratic(
    np.ones(N)
)  # f = ||x||^2 / 2, L = 1: after t vanilla steps f >= 1/(2 (t+1)), the slowest case
FMIN = 1 / (2 * N)


def least_squares(seed=0, m=80, n=10):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    return bsfw.LeastSquares(A, A @ rng.dirichlet(np.ones(n)) + 0.1 * rng.standard_normal(m))


def lower_bound(objective, constraint):
    """f* up to 1e-4 from below: F is then not underestimated."""
    result = bsfw.minimize(objective, constraint, step="line-search", gap_tol=1e-4, max_iter=2000)
    assert result.success
    return result.fun - result.gap


@pytest.mark.parametrize("rounds", [1, 3, 30])
def test_deterministic_quasar_convex_bound_holds(rounds):
    result = bsfw.minimize(HALF_SQUARE, SIMPLEX, max_rounds=rounds, max_iter=300, record_every=1)
    F = result.trace["value"] - FMIN
    bound = theory.deterministic_quasar_convex(result.trace["iteration"], F0=F[0], L=1.0, D=D)
    assert (bound >= F).all()
    if (
        rounds == 1
    ):  # on this problem vanilla Frank-Wolfe cannot be faster than 1/t: a smaller exponent or constant fails
        assert (bound[:100] / F[:100]).max() < 20


@pytest.mark.parametrize("rounds", [1, 20])
def test_deterministic_nonconvex_bounds_hold(rounds):
    T = 800
    for decay, bound in (
        ("inverse-sqrt", theory.deterministic_nonconvex),
        ("deterministic-horizon", theory.deterministic_nonconvex_horizon),
    ):
        result = bsfw.minimize(HALF_SQUARE, SIMPLEX, max_rounds=rounds, max_iter=T, decay=decay, record_every=1)
        best = np.minimum.accumulate(result.trace["gap"])
        F0 = result.trace["value"][0] - FMIN
        if decay == "inverse-sqrt":
            limits = bound(result.trace["iteration"], F0=F0, L=1.0, D=D)
            assert (best <= limits).all()
            if rounds == 1:  # the open-loop step itself keeps the gap near eta L D^2 / 2, so 1/t would be violated
                assert limits[-1] / best[-1] < 60
        else:
            assert best[-1] <= bound(T, F0=F0, L=1.0, D=D)


def test_nonconvex_bound_on_a_nonconvex_function(classification):
    A, y = classification
    objective, ball = bsfw.Tukey(A, y), bsfw.L1Ball(3.0)
    L, diameter = objective.smoothness(), ball.diameter((12,))
    result = bsfw.minimize(objective, ball, max_iter=300, record_every=1)
    F0 = result.trace["value"][0]  # Tukey's loss is nonnegative: f* >= 0
    bound = theory.deterministic_nonconvex(result.trace["iteration"], F0=F0, L=L, D=diameter)
    assert (np.minimum.accumulate(result.trace["gap"]) <= bound).all()


@pytest.mark.parametrize("rounds", [1, 2, 10_000])
@pytest.mark.parametrize("constraint", [bsfw.L1Ball(1.0), bsfw.Simplex(), bsfw.LinfBall(0.3)], ids=repr)
def test_every_step_satisfies_the_descent_lemma_and_the_iteration_bound(constraint, rounds):
    objective = least_squares()
    L, diameter = objective.smoothness(), constraint.diameter((10,))
    solver = bsfw.Solver(objective, constraint, max_rounds=rounds)
    state = solver.init()
    engine = solver.engine(state)
    for _ in range(60):
        direction = engine.look(state)
        engine.publish(state)
        before, x = objective._value(state.x), state.x
        eta, _ = engine.advance(state, direction)
        engine.publish(state)
        promised = theory.deterministic_descent(eta, direction.gap, L=L, distance=direction.vertex_distance)
        assert objective._value(state.x) - before <= promised + 1e-14
        moved = np.linalg.norm(state.x - x)
        assert moved <= theory.iterate_distance(eta, D=diameter) + 1e-12
        assert moved == pytest.approx(
            eta * direction.vertex_distance, abs=1e-12
        )  # Lemma BSFW Iteration Bound, its proof


STOCHASTIC = [
    bsfw.SAG(batch_size=20),
    bsfw.SAGA(batch_size=20),
    bsfw.LSVRG(batch_size=20),
    bsfw.SARAH(batch_size=20),
    bsfw.SEGA(),
    bsfw.JAGUAR(),
    bsfw.ZOJA(),
]


def scales(estimator, objective, constraint):
    """L and D where the estimator's analysis lives."""
    if estimator.name == "sag":
        A = objective.A
        vertices = [constraint.lmo(s * e).dense() for e in np.eye(10) for s in (1, -1)]
        images = np.array([A @ v for v in vertices])
        return objective.image_smoothness(), max(np.linalg.norm(a - b) for a in images for b in images)
    coordinate = estimator.name in ("sega", "jaguar", "zoja")
    return objective.smoothness() if coordinate else objective.sample_smoothness(), constraint.diameter((10,))


@pytest.mark.parametrize("estimator", STOCHASTIC, ids=lambda e: e.name)
def test_stochastic_quasar_convex_bounds_hold_in_the_mean_over_seeds(estimator):
    objective, constraint, T = least_squares(), bsfw.L1Ball(1.0), 200
    fmin = lower_bound(objective, constraint)
    L, diameter = scales(estimator, objective, constraint)
    constants = estimator.constants(n_samples=80, dimension=10, smoothness=L, horizon=T)
    settings = dict(estimator=estimator, max_iter=T, record_every=10)
    error0 = 10 * (L * 1e-6) ** 2 if estimator.name == "zoja" else 0.0
    for decay in ("anytime", "piecewise"):
        runs = [bsfw.minimize(objective, constraint, decay=decay, rng=seed, **settings) for seed in range(5)]
        F = np.mean([run.trace["value"] for run in runs], axis=0) - fmin
        shared = dict(constants=constants, F0=F[0], L=L, D=diameter, error0=error0)
        if decay == "anytime":
            t = runs[0].trace["iteration"][1:]
            assert (F[1:] <= theory.stochastic_quasar_convex_anytime(t, **shared)).all()
        else:
            assert F[-1] <= theory.stochastic_quasar_convex_horizon(T, **shared)


@pytest.mark.parametrize("estimator", STOCHASTIC, ids=lambda e: e.name)
def test_stochastic_nonconvex_bounds_hold_in_the_mean_over_seeds(estimator):
    objective, constraint, T = least_squares(), bsfw.L1Ball(1.0), 200
    fmin = lower_bound(objective, constraint)
    L, diameter = scales(estimator, objective, constraint)
    constants = estimator.constants(n_samples=80, dimension=10, smoothness=L, horizon=T)
    error0 = 10 * (L * 1e-6) ** 2 if estimator.name == "zoja" else 0.0
    for decay, bound in (
        ("inverse-sqrt", theory.stochastic_nonconvex_anytime),
        ("stochastic-horizon", theory.stochastic_nonconvex_horizon),
    ):
        runs = [
            bsfw.minimize(
                objective,
                constraint,
                estimator=estimator,
                decay=decay,
                max_iter=T,
                record_every=1,
                gap_every=1,
                rng=seed,
            )
            for seed in range(3)
        ]
        best = np.mean([run.trace["gap"][:-1].min() for run in runs])
        F0 = runs[0].trace["value"][0] - fmin
        assert best <= bound(T, constants=constants, F0=F0, L=L, D=diameter, error0=error0)


@pytest.mark.parametrize("rounds", [1, 10_000])
def test_heavy_ball_bounds_hold_in_the_mean_over_seeds(rounds):
    objective, constraint, T, b = least_squares(), bsfw.L1Ball(1.0), 200, 8
    fmin = lower_bound(objective, constraint)
    L, diameter = objective.smoothness(), constraint.diameter((10,))
    # A bound of the variance of a batch gradient over the ball: at the vertices, where it is largest (convex in x).
    variance = 0.0
    for e in np.eye(10):
        for sign in (1, -1):
            x = sign * e
            samples = objective.sample_gradients(x, np.arange(80))
            variance = max(variance, np.sum(samples.var(axis=0)) / b)
    settings = dict(max_rounds=rounds, max_iter=T, record_every=1, gap_every=1)
    convex = [
        bsfw.minimize(
            objective, constraint, estimator=bsfw.HeavyBall(batch_size=b), decay="heavy-ball-convex", rng=s, **settings
        )
        for s in range(5)
    ]
    F = np.mean([run.trace["value"] for run in convex], axis=0) - fmin
    t = convex[0].trace["iteration"]
    bound = theory.heavy_ball_quasar_convex(t, F0=F[0], L=L, D=diameter, variance=variance, error0=variance)
    assert (bound >= F).all()
    nonconvex = [
        bsfw.minimize(
            objective,
            constraint,
            estimator=bsfw.HeavyBall(batch_size=b, momentum="nonconvex"),
            decay="heavy-ball-nonconvex",
            rng=s,
            **settings,
        )
        for s in range(5)
    ]
    best = np.mean([run.trace["gap"][:-1].min() for run in nonconvex])
    assert best <= theory.heavy_ball_nonconvex(T, F0=F[0], L=L, D=diameter, variance=variance, error0=variance)
