"""Bounds: numbers worked out by hand, and each closed form against the recursion of its proof, run step by step."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bsfw import decays, theory
from bsfw.theory import EstimatorConstants

RATE = st.floats(0.02, 1.0)
QUASAR = st.floats(0.05, 1.0)
NOISE = st.one_of(st.just(0.0), st.floats(0.01, 10.0))
SIZE = st.floats(0.05, 20.0)
CONSTANTS = st.builds(EstimatorConstants, RATE, RATE, NOISE, NOISE, NOISE, NOISE)
QUICK = settings(deadline=None, max_examples=60)
ROUNDING = 1.0 + 1e-9


# Numbers by hand


def test_deterministic_bounds_by_hand():
    assert theory.deterministic_quasar_convex(3, F0=1.0, L=2.0, D=3.0, rho=0.5) == pytest.approx(36.0)
    assert theory.deterministic_quasar_convex(3, F0=1000.0, L=2.0, D=3.0, rho=0.5) == pytest.approx(250.0)
    assert theory.deterministic_nonconvex(8, F0=30.0, L=2.0, D=3.0) == pytest.approx((30 + 18) / 3)
    assert theory.deterministic_nonconvex(8, F0=1.0, L=2.0, D=3.0) == pytest.approx((18 + 18) / 3)
    assert theory.deterministic_nonconvex_horizon(8, F0=30.0, L=2.0, D=3.0) == pytest.approx((30 + 9) / 3)
    assert theory.deterministic_descent(0.5, 4.0, 2.0, 3.0) == pytest.approx(-2.0 + 2.25)
    assert theory.iterate_distance(0.25, 3.0) == pytest.approx(0.75)


def test_anytime_quasar_convex_bound_by_hand():
    # nu = 16, rho^2 (t + nu) = 8, D^2 / 8 = 1/2; the root is sqrt(32 (64 + 64 + 160)) = 96
    constants = EstimatorConstants(0.5, 0.25, A=0.25, B=2.0, C=2.5, E=1.0)
    problem = {"constants": constants, "F0": 5.0, "L": 3.0, "D": 2.0, "rho": 0.5}
    assert theory.stochastic_quasar_convex_anytime(16, **problem) == pytest.approx(5 + 12 + 96)
    # alpha*/L = sqrt(8/288) = 1/6, r_0 = 5 + (1/6) (4 * 0.75 + 8 * 0.375)
    problem |= {"error0": 0.75, "sigma0": 0.375}
    assert theory.stochastic_quasar_convex_anytime(16, **problem) == pytest.approx(6 + 12 + 96)


def test_piecewise_quasar_convex_bound_by_hand():
    # d = 8, rho^2 (T + d) = 4, D^2 / 4 = 1; the root is 2 sqrt(32 (64 + 64 + 160)) = 192
    constants = EstimatorConstants(0.5, 0.25, A=0.25, B=0.5, C=5.0, E=0.25)
    problem = {"constants": constants, "F0": 5.0, "L": 3.0, "D": 2.0, "rho": 0.5}
    assert theory.stochastic_quasar_convex_horizon(8, **problem) == pytest.approx(5 * math.exp(0.5) + 48 + 192)
    # alpha*/L = sqrt(32/288) = 1/3
    problem |= {"error0": 0.75, "sigma0": 0.375}
    assert theory.stochastic_quasar_convex_horizon(8, **problem) == pytest.approx(7 * math.exp(0.5) + 48 + 192)


def test_nonconvex_horizon_bound_by_hand():
    # 2 D sqrt((4/8) (1 + 1) + 8) = 12
    constants = EstimatorConstants(0.5, 0.25, A=0.25, B=1.0, C=4.0, E=1.0)
    problem = {"constants": constants, "F0": 8.0, "L": 3.0, "D": 2.0}
    assert theory.stochastic_nonconvex_horizon(16, **problem) == pytest.approx(2 + 1.5 + 12)
    # alpha*/L = sqrt(1/36), r_0 = 8 + (1/6) (2 * 6 + 2 * 6)
    assert theory.stochastic_nonconvex_horizon(16, **problem, error0=6.0, sigma0=6.0) == pytest.approx(3 + 1.5 + 12)


def test_nonconvex_anytime_bound_by_hand():
    log = 1 + math.log(8)  # T = 8, q = 2
    constants = EstimatorConstants(0.5, 0.25, A=0.25, B=1.0, C=0.0, E=1.0)
    problem = {"constants": constants, "F0": 8.0, "L": 3.0, "D": 2.0}
    root = 2 * math.sqrt(6 * log**2)
    assert theory.stochastic_nonconvex_anytime(8, **problem) == pytest.approx(2 + 1.5 * log + root)
    with_error = (8 + 24 / math.sqrt(6)) / 4  # alpha*/L = 1/sqrt(6)
    assert theory.stochastic_nonconvex_anytime(8, **problem, error0=6.0, sigma0=6.0) == pytest.approx(
        with_error + 1.5 * log + root
    )
    problem["constants"] = dataclasses.replace(constants, C=1.5)
    root = 2 * math.sqrt(6 * log**2 + 6 * log)
    assert theory.stochastic_nonconvex_anytime(8, **problem) == pytest.approx(2 + 1.5 * log + root)


def test_heavy_ball_bounds_by_hand():
    # 27^(2/3) = 9, Q = (16 * 4.5 + 2 * 36) / rho^2 = 144 or 576
    problem = {"L": 2.0, "D": 3.0, "variance": 4.5}
    assert theory.heavy_ball_error_quasar_convex(18, **problem) == pytest.approx(16)
    assert theory.heavy_ball_error_quasar_convex(18, **problem, rho=0.5) == pytest.approx(64)
    assert theory.heavy_ball_error_quasar_convex(18, **problem, error0=100.0) == pytest.approx(9 ** (2 / 3) * 100 / 9)
    assert theory.heavy_ball_quasar_convex(18, **problem, F0=1.0) == pytest.approx((4 * 3 * 12 + 9) / 3)
    assert theory.heavy_ball_quasar_convex(18, **problem, F0=1.0, rho=0.5) == pytest.approx((8 * 3 * 24 + 36) / 3)
    assert theory.heavy_ball_quasar_convex(18, **problem, F0=1000.0) == pytest.approx(9 ** (1 / 3) * 1000 / 3)
    # M_h = 24 (4 + 2) = 144
    problem = {"L": 1.0, "D": 1.0, "variance": 4.0}
    assert theory.heavy_ball_error_nonconvex(8, **problem) == pytest.approx(48)
    assert theory.heavy_ball_error_nonconvex(8, **problem, error0=300.0) == pytest.approx(100)
    numerator = 7 + 2 * 12 * (1 + math.log(14)) + 1
    assert theory.heavy_ball_nonconvex(14, **problem, F0=7.0) == pytest.approx(numerator / (4 * (2 - 2**0.25)))


def test_offsets_of_the_decays_by_hand():
    assert theory.anytime_nu(0.5, 0.1) == pytest.approx(40)
    assert theory.anytime_nu(1.0, 1.0) == 4.0
    assert theory.piecewise_d(0.1, 0.5) == pytest.approx(20)


# The recursions of the proofs. Where the decay is clipped (eta = 1), smoothness gives a second bound; see the module.


@given(F0=SIZE, L=SIZE, D=SIZE, rho=QUASAR)
@QUICK
def test_deterministic_quasar_convex_dominates_its_recursion(F0, L, D, rho):
    eta = decays.QuasarConvexDecay(rho)
    F, curvature = [F0], L * D**2
    for t in range(200):
        step = eta(t)
        by_quasar_convexity = (1 - rho * step) * F[-1] + curvature * step**2 / 2
        by_smoothness = (1 - step) * F[-1] + curvature * (step + step**2) / 2
        F.append(min(by_quasar_convexity, by_smoothness) if step == 1.0 else by_quasar_convexity)
    bound = theory.deterministic_quasar_convex(np.arange(201), F0=F0, L=L, D=D, rho=rho)
    assert np.all(np.array(F) <= bound * ROUNDING)


def test_deterministic_quasar_convex_is_tight():
    F = 0.0
    for t in range(1000):
        F = t / (t + 2) * F + 2 / (t + 2) ** 2  # L = D = rho = 1
    assert theory.deterministic_quasar_convex(1000, F0=0.0, L=1.0, D=1.0) <= 1.02 * F


def largest_gap(T, F0, curvature):
    """The largest g such that gap(x^t) >= g for t = 0..T contradicts neither descent nor smoothness nor F >= 0."""

    def possible(g):
        F = F0
        for t in range(T + 1):
            eta = 1 / math.sqrt(t + 1)
            F += -eta * max(g, F - curvature / 2) + curvature * eta**2 / 2
            if F < 0:
                return False
        return True

    low, high = 0.0, F0 + 2 * curvature
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return low


@given(T=st.integers(0, 300), F0=SIZE, L=SIZE, D=SIZE)
@settings(deadline=None, max_examples=30)
def test_deterministic_nonconvex_dominates_its_recursion(T, F0, L, D):
    worst = largest_gap(T, F0, L * D**2)
    assert worst <= theory.deterministic_nonconvex(T, F0=F0, L=L, D=D) * ROUNDING


def test_printed_constant_of_the_nonconvex_theorem_does_not_follow_from_its_proof():
    T = 3000
    worst, printed = largest_gap(T, 0.0, 1.0), 1.0 / math.sqrt(T + 1)  # (F_0 + L D^2) / sqrt(T+1) at F_0 = 0
    assert printed < worst <= theory.deterministic_nonconvex(T, F0=0.0, L=1.0, D=1.0) <= 2 * worst


@given(T=st.integers(0, 300), F0=SIZE, L=SIZE, D=SIZE)
@QUICK
def test_deterministic_nonconvex_horizon_is_its_telescoped_sum(T, F0, L, D):
    eta = decays.DeterministicHorizonDecay(T)(0) if T else 1.0
    summed = (F0 + (T + 1) * L * D**2 * eta**2 / 2) / ((T + 1) * eta)
    assert theory.deterministic_nonconvex_horizon(T, F0=F0, L=L, D=D) == pytest.approx(summed)


def lyapunov_recursion(eta, T, alpha, k, F0, L, D, rho, error0, sigma0):
    """E[r_T] by R_{t+1} = (1 - rho eta_t) R_t + a eta_t^2 + b, with M1, M2, a, b of the proof."""
    M1 = 2 * alpha / (k.rho1 * L)
    M2 = 2 * M1 * k.A / k.rho2
    R = F0 + M1 * error0 + M2 * sigma0
    noise = (M1 * k.B + M2 * k.E) * D**2
    a, b = D**2 * L * (1 / alpha + 1 / 2) + noise, M1 * k.C
    slowest = min(k.rho1, k.rho2) / 2
    for t in range(T):
        step = eta(t)
        assert rho * step <= slowest * ROUNDING
        following = (1 - rho * step) * R + a * step**2 + b
        if step == 1.0:
            following = min(following, L * D**2 * (1 + 1 / alpha) + (1 - slowest) * R + noise + b)
        R = following
    return R


PROBLEM = {"F0": SIZE, "L": SIZE, "D": SIZE, "error0": NOISE, "sigma0": NOISE}


@given(k=CONSTANTS, T=st.integers(0, 400), rho=QUASAR, **PROBLEM)
@QUICK
def test_anytime_quasar_convex_dominates_its_recursion(k, T, F0, L, D, rho, error0, sigma0):
    decay = decays.AnytimeDecay.from_rates(k.rho1, k.rho2, rho)
    N = rho**2 * (T + decay.nu)
    u = (
        32 * D**2 * k.B / (N * k.rho1 * L)
        + 64 * D**2 * k.A * k.E / (N * k.rho1 * k.rho2 * L)
        + 2 * k.C * T / (k.rho1 * L)
    )
    assume(u > 0)
    alpha = math.sqrt(16 * D**2 * L / N / u)
    worst = lyapunov_recursion(decay, T, alpha, k, F0, L, D, rho, error0, sigma0)
    bound = theory.stochastic_quasar_convex_anytime(
        T, constants=k, F0=F0, L=L, D=D, rho=rho, error0=error0, sigma0=sigma0
    )
    assert worst <= bound * ROUNDING


@given(k=CONSTANTS, T=st.integers(1, 400), rho=QUASAR, **PROBLEM)
@QUICK
def test_piecewise_quasar_convex_dominates_its_recursion(k, T, F0, L, D, rho, error0, sigma0):
    decay = decays.PiecewiseDecay.from_rates(T, k.rho1, k.rho2, rho)
    N = rho**2 * (T + decay.d)
    u = (
        64 * D**2 * k.B / (N * k.rho1 * L)
        + 128 * D**2 * k.A * k.E / (N * k.rho1 * k.rho2 * L)
        + 2 * k.C * T / (k.rho1 * L)
    )
    assume(u > 0)
    alpha = math.sqrt(32 * D**2 * L / N / u)
    worst = lyapunov_recursion(decay, T, alpha, k, F0, L, D, rho, error0, sigma0)
    bound = theory.stochastic_quasar_convex_horizon(
        T, constants=k, F0=F0, L=L, D=D, rho=rho, error0=error0, sigma0=sigma0
    )
    assert worst <= bound * ROUNDING


@pytest.mark.parametrize("C", [0.0, 0.1])
def test_quasar_convex_bounds_are_not_absurdly_loose(C):
    k, T = EstimatorConstants(0.25, 0.5, A=1.0, B=2.0, C=C, E=1.0), 2000
    problem = {"F0": 1.0, "L": 1.0, "D": 1.0, "rho": 1.0, "error0": 0.0, "sigma0": 0.0}
    for decay, closed in [
        (decays.AnytimeDecay.from_rates(0.25, 0.5), theory.stochastic_quasar_convex_anytime),
        (decays.PiecewiseDecay.from_rates(T, 0.25, 0.5), theory.stochastic_quasar_convex_horizon),
    ]:
        best = min(lyapunov_recursion(decay, T, alpha, k, **problem) for alpha in np.geomspace(1e-3, 1e3, 25))
        bound = closed(T, constants=k, **problem)
        assert best <= bound <= 8 * best


def nonconvex_sum(etas, alpha, k, F0, L, D, error0, sigma0):
    """Best gap over t < T from the telescoped inequality of the proof, with its M1 and M2."""
    M1 = alpha / (L * k.rho1)
    M2 = M1 * k.A / k.rho2
    start = F0 + M1 * error0 + M2 * sigma0
    per_square = D**2 * (L / 2 + L / alpha + M1 * k.B + M2 * k.E)
    return (start + per_square * np.sum(etas**2) + len(etas) * M1 * k.C) / np.sum(etas)


@given(k=CONSTANTS, T=st.integers(1, 2000), **PROBLEM)
@QUICK
def test_nonconvex_horizon_is_its_telescoped_sum(k, T, F0, L, D, error0, sigma0):
    u = D**2 * (k.B + k.A * k.E / k.rho2) / (L * k.rho1 * math.sqrt(T)) + k.C * math.sqrt(T) / (L * k.rho1)
    assume(u > 0)
    alpha = math.sqrt(D**2 * L / math.sqrt(T) / u)
    etas = np.array([decays.StochasticHorizonDecay(T)(t) for t in range(T)])
    bound = theory.stochastic_nonconvex_horizon(T, constants=k, F0=F0, L=L, D=D, error0=error0, sigma0=sigma0)
    assert bound == pytest.approx(nonconvex_sum(etas, alpha, k, F0, L, D, error0, sigma0))


@given(k=CONSTANTS, T=st.integers(1, 2000), **PROBLEM)
@QUICK
def test_nonconvex_anytime_dominates_its_telescoped_sum(k, T, F0, L, D, error0, sigma0):
    q, log = math.sqrt(T + 1) - 1, 1 + math.log(T)
    u = (
        k.B * D**2 * log / (L * k.rho1 * q)
        + D**2 * k.A * k.E * log / (2 * L * k.rho1 * k.rho2 * q)
        + k.C * (math.sqrt(T + 1) + 1) / (2 * L * k.rho1)
    )
    assume(u > 0)
    alpha = math.sqrt(L * D**2 * log / (2 * q) / u)
    etas = np.array([decays.InverseSqrtDecay()(t) for t in range(T)])
    worst = nonconvex_sum(etas, alpha, k, F0, L, D, error0, sigma0)
    bound = theory.stochastic_nonconvex_anytime(T, constants=k, F0=F0, L=L, D=D, error0=error0, sigma0=sigma0)
    assert worst <= bound * ROUNDING
    assert bound <= 3 * worst  # T = 1: sum eta = 1 against 2 (sqrt(2) - 1), and 2 B where B would do


def heavy_ball_errors(momentum, eta, T, L, D, variance, error0):
    """E||Delta^t||^2 for t = 0..T by Lemma "heavy ball error recursion"."""
    errors = [error0]
    for t in range(1, T + 1):
        r = momentum(t)
        errors.append((1 - r / 2) * errors[-1] + r**2 * variance + 2 * (L * D * eta(t - 1)) ** 2 / r)
    return np.array(errors)


@given(F0=SIZE, L=SIZE, D=SIZE, rho=QUASAR, variance=NOISE, error0=st.one_of(st.none(), SIZE))
@QUICK
def test_heavy_ball_quasar_convex_dominates_its_recursions(F0, L, D, rho, variance, error0):
    eta, T = decays.HeavyBallConvexDecay(rho), 300
    start = variance if error0 is None else error0
    errors = heavy_ball_errors(lambda t: 4 / (t + 8) ** (2 / 3), eta, T, L, D, variance, start)
    problem = {"L": L, "D": D, "variance": variance, "error0": error0, "rho": rho}
    t = np.arange(T + 1)
    error_bound = theory.heavy_ball_error_quasar_convex(t, **problem)
    assert np.all(errors <= error_bound * ROUNDING)
    F = [F0]
    for i in range(T):
        step = eta(i)
        rest = 2 * step * D * math.sqrt(error_bound[i]) + L * (step * D) ** 2 / 2
        by_quasar_convexity = (1 - rho * step) * F[-1] + rest
        by_smoothness = (1 - step) * F[-1] + step * L * D**2 / 2 + rest
        F.append(min(by_quasar_convexity, by_smoothness) if step == 1.0 else by_quasar_convexity)
    assert np.all(np.array(F) <= theory.heavy_ball_quasar_convex(t, F0=F0, **problem) * ROUNDING)


@given(T=st.integers(1, 500), F0=SIZE, L=SIZE, D=SIZE, variance=NOISE, error0=st.one_of(st.none(), SIZE))
@QUICK
def test_heavy_ball_nonconvex_dominates_its_recursions(T, F0, L, D, variance, error0):
    eta = decays.HeavyBallNonconvexDecay()
    start = variance if error0 is None else error0
    errors = heavy_ball_errors(lambda t: 1 / math.sqrt(t + 1), eta, T, L, D, variance, start)
    problem = {"L": L, "D": D, "variance": variance, "error0": error0}
    error_bound = theory.heavy_ball_error_nonconvex(np.arange(T + 1), **problem)
    assert np.all(errors <= error_bound * ROUNDING)
    etas = np.array([eta(t) for t in range(T)])
    summed = F0 + np.sum(2 * etas * D * np.sqrt(error_bound[:-1])) + L * D**2 / 2 * np.sum(etas**2)
    worst = summed / np.sum(etas)
    bound = theory.heavy_ball_nonconvex(T, F0=F0, **problem)
    assert worst <= bound * ROUNDING
    assert bound <= 4 * worst


def test_heavy_ball_errors_are_not_absurdly_loose():
    T, problem = 5000, {"L": 1.0, "D": 1.0, "variance": 1.0}
    convex = heavy_ball_errors(lambda t: 4 / (t + 8) ** (2 / 3), decays.HeavyBallConvexDecay(), T, 1.0, 1.0, 1.0, 1.0)
    assert theory.heavy_ball_error_quasar_convex(T, **problem) <= 3 * convex[-1]
    nonconvex = heavy_ball_errors(
        lambda t: 1 / math.sqrt(t + 1), decays.HeavyBallNonconvexDecay(), T, 1.0, 1.0, 1.0, 1.0
    )
    assert theory.heavy_ball_error_nonconvex(T, **problem) <= 15 * nonconvex[-1]


# Shape of the bounds

PLAIN = {"F0": 1.0, "L": 1.0, "D": 1.0}
NOISY = EstimatorConstants(0.1, 0.2, A=1.0, B=2.0, C=0.0, E=3.0)
SCATTERED = {"L": 1.0, "D": 1.0, "variance": 2.0}
STOCHASTIC = [
    theory.stochastic_quasar_convex_horizon,
    theory.stochastic_quasar_convex_anytime,
    theory.stochastic_nonconvex_horizon,
    theory.stochastic_nonconvex_anytime,
]
ALL = [
    (theory.deterministic_quasar_convex, PLAIN),
    (theory.deterministic_nonconvex, PLAIN),
    (theory.deterministic_nonconvex_horizon, PLAIN),
    *[(bound, {**PLAIN, "constants": NOISY, "error0": 0.5, "sigma0": 0.25}) for bound in STOCHASTIC],
    (theory.heavy_ball_error_quasar_convex, SCATTERED),
    (theory.heavy_ball_error_nonconvex, SCATTERED),
    (theory.heavy_ball_quasar_convex, {**SCATTERED, "F0": 1.0}),
    (theory.heavy_ball_nonconvex, {**SCATTERED, "F0": 1.0}),
]


@pytest.mark.parametrize(
    ("bound", "problem", "exponent", "logarithm"),
    [
        (theory.deterministic_quasar_convex, PLAIN, -1, False),
        (theory.deterministic_nonconvex, PLAIN, -1 / 2, False),
        (theory.deterministic_nonconvex_horizon, PLAIN, -1 / 2, False),
        (theory.stochastic_quasar_convex_horizon, {**PLAIN, "constants": NOISY}, -1, False),
        (theory.stochastic_quasar_convex_anytime, {**PLAIN, "constants": NOISY}, -1, False),
        (theory.stochastic_nonconvex_horizon, {**PLAIN, "constants": NOISY}, -1 / 2, False),
        (theory.stochastic_nonconvex_anytime, {**PLAIN, "constants": NOISY}, -1 / 2, True),
        (theory.heavy_ball_error_quasar_convex, SCATTERED, -2 / 3, False),
        (theory.heavy_ball_error_nonconvex, SCATTERED, -1 / 2, False),
        (theory.heavy_ball_quasar_convex, {**SCATTERED, "F0": 1.0}, -1 / 3, False),
        (theory.heavy_ball_nonconvex, {**SCATTERED, "F0": 1.0}, -1 / 4, True),
    ],
)
def test_rate_has_the_exponent_of_the_theorem(bound, problem, exponent, logarithm):
    t = 1e30
    ratio = bound(2 * t, **problem) / bound(t, **problem)
    expected = 2.0**exponent
    if logarithm:
        expected *= (1 + math.log(2 * t)) / (1 + math.log(t))
    assert ratio == pytest.approx(expected, rel=1e-3)


def test_floor_c_stays_for_ever():
    k = EstimatorConstants(0.5, 1.0, A=0.0, B=1.0, C=2.0, E=0.0)
    problem = {"constants": k, "F0": 1.0, "L": 1.0, "D": 3.0}
    t = 1e14
    assert theory.stochastic_quasar_convex_anytime(t, **problem, rho=0.5) == pytest.approx(
        math.sqrt(64 * 9 / 0.25 * 2 * 2 / 0.5), rel=1e-3
    )
    assert theory.stochastic_quasar_convex_horizon(t, **problem, rho=0.5) == pytest.approx(
        2 * math.sqrt(32 * 9 / 0.25 * 2 * 2 / 0.5), rel=1e-3
    )
    assert theory.stochastic_nonconvex_horizon(t, **problem) == pytest.approx(2 * 3 * math.sqrt(2 / 0.5), rel=1e-3)
    log = 1 + math.log(t)
    assert theory.stochastic_nonconvex_anytime(t, **problem) == pytest.approx(3 * math.sqrt(2 * log / 0.5), rel=1e-3)


@pytest.mark.parametrize(("bound", "problem"), ALL)
def test_arrays_give_the_curve_and_numbers_a_float(bound, problem):
    t = np.array([[1, 2, 5], [10, 100, 1000]])
    curve = bound(t, **problem)
    assert curve.shape == t.shape
    values = [bound(int(i), **problem) for i in t.ravel()]
    assert all(isinstance(value, float) for value in values)
    np.testing.assert_allclose(curve.ravel(), values, rtol=1e-14)
    assert np.all(np.diff(curve.ravel()) < 0)


# Without noise alpha* is infinite


@pytest.mark.parametrize(
    ("bound", "start", "rest"),
    [
        (theory.stochastic_quasar_convex_horizon, math.exp(1 - 16 / 4), 16 / 18),  # d = 2
        (theory.stochastic_quasar_convex_anytime, 4 * (4 / 20) ** 2, 8 / 20),  # nu = 4
        (theory.stochastic_nonconvex_horizon, 1 / 4, 1 / 8),
        (theory.stochastic_nonconvex_anytime, 1 / (2 * (17**0.5 - 1)), (1 + math.log(16)) / (4 * (17**0.5 - 1))),
    ],
)
def test_exact_estimator_pays_for_no_noise(bound, start, rest):
    value = bound(16, constants=EstimatorConstants(), F0=5.0, L=1.0, D=1.0)
    assert value == pytest.approx(5 * start + rest)


@pytest.mark.parametrize("bound", STOCHASTIC)
def test_initial_error_of_a_noiseless_estimator_is_paid_at_the_best_alpha(bound):
    k = EstimatorConstants(0.5, 0.5, A=0.5)
    problem = {"constants": k, "F0": 5.0, "L": 1.0, "D": 1.0}
    plain, values = bound(16, **problem), []
    for share in (1.0, 4.0):  # weight slope a + v/a at its minimum is 2 sqrt(weight slope v): linear in sqrt(error)
        values.append(bound(16, **problem, error0=share, sigma0=share) - plain)
    assert values[0] > 0
    assert values[1] == pytest.approx(2 * values[0])
    quiet = dataclasses.replace(k, C=1e-12)  # the theorem's own alpha* is far from the best one here
    assert bound(16, **{**problem, "constants": quiet}, error0=1.0, sigma0=1.0) > plain + values[0]


def test_initial_error_of_a_noiseless_estimator_by_hand():
    # nu = 8, t + nu = 32: weight 1/4, slope 4 e0, v = 1/2; 2 sqrt((1/4) 4 e0 / 2) = 2
    value = theory.stochastic_quasar_convex_anytime(
        24, constants=EstimatorConstants(0.5, 0.5), F0=0.0, L=1.0, D=1.0, error0=2.0
    )
    assert value == pytest.approx(1 / 4 + 2)


@pytest.mark.parametrize(("bound", "problem"), ALL)
def test_degenerate_problems_give_finite_bounds(bound, problem):
    for change in ({"L": 0.0}, {"D": 0.0}, {"F0": 0.0}):
        assert np.all(np.isfinite(bound([1, 10], **{**problem, **{k: v for k, v in change.items() if k in problem}})))


# On a run: vanilla Frank-Wolfe on the simplex, which is Boost with K = 1


@pytest.mark.parametrize("convex", [True, False])
def test_lemmas_and_bounds_hold_on_a_run(convex):
    rng = np.random.default_rng(3)
    G = rng.standard_normal((30, 30))
    H = G @ G.T / 30 if convex else (G + G.T) / 8
    q = rng.standard_normal(30)
    L, D = np.linalg.norm(H, 2), math.sqrt(2)
    eta = decays.QuasarConvexDecay() if convex else decays.InverseSqrtDecay()
    x = np.eye(30)[0]
    values, gaps = [], []
    for t in range(400):
        gradient = H @ x + q
        values.append(x @ H @ x / 2 + q @ x)
        s = np.eye(30)[np.argmin(gradient)]
        gaps.append(gradient @ (x - s))
        following = x + eta(t) * (s - x)
        decrease = following @ H @ following / 2 + q @ following - values[-1]
        distance = np.linalg.norm(s - x)
        assert decrease <= theory.deterministic_descent(eta(t), gaps[-1], L, distance) + 1e-12
        assert np.linalg.norm(following - x) <= theory.iterate_distance(eta(t), D) * ROUNDING
        x = following
    t = np.arange(400)
    if convex:  # min f >= f(x) - gap(x)
        suboptimality = np.array(values) - np.max(np.array(values) - np.array(gaps))
        bound = theory.deterministic_quasar_convex(t, F0=suboptimality[0], L=L, D=D)
        assert np.all(suboptimality <= bound * ROUNDING)
    else:
        F0 = values[0] - min(values)  # at most the true F_0
        assert np.all(np.minimum.accumulate(gaps) <= theory.deterministic_nonconvex(t, F0=F0, L=L, D=D) * ROUNDING)


# Bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EstimatorConstants(rho1=0.0), "rho1 must be a positive finite number"),
        (lambda: EstimatorConstants(rho2=1.5), "rho2 must be at most 1"),
        (lambda: EstimatorConstants(A=-1.0), "A must be a finite number of at least 0"),
        (lambda: EstimatorConstants(B=math.inf), "B must be a finite number of at least 0"),
        (lambda: EstimatorConstants(C=math.nan), "C must be a finite number of at least 0"),
        (lambda: EstimatorConstants(E=-0.5), "E must be a finite number of at least 0"),
        (lambda: theory.deterministic_quasar_convex(-1, **PLAIN), "from iteration 0 on"),
        (lambda: theory.stochastic_nonconvex_anytime([0, 1], constants=NOISY, **PLAIN), "from iteration 1 on"),
        (lambda: theory.heavy_ball_nonconvex(0, F0=1.0, **SCATTERED), "from iteration 1 on"),
        (lambda: theory.deterministic_quasar_convex(1, F0=1.0, L=1.0, D=1.0, rho=2.0), "rho must be at most 1"),
        (lambda: theory.deterministic_nonconvex(1, F0=-1.0, L=1.0, D=1.0), "F0 must be a finite number"),
        (lambda: theory.heavy_ball_quasar_convex(1, F0=1.0, L=1.0, D=1.0, variance=-1.0), "variance must be"),
        (lambda: theory.heavy_ball_error_nonconvex(1, **SCATTERED, error0=-1.0), "error0 must be"),
        (lambda: theory.iterate_distance(0.5, -1.0), "D must be"),
        (lambda: theory.deterministic_descent(0.5, 1.0, -1.0, 1.0), "L must be"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_constants_become_plain_floats():
    k = EstimatorConstants(np.float32(0.5), 1, np.int64(2))
    assert {type(value) for value in dataclasses.astuple(k)} == {float}
    assert dataclasses.astuple(k) == (0.5, 1.0, 2.0, 0.0, 0.0, 0.0)


def test_default_constants_are_those_of_the_exact_gradient():
    assert EstimatorConstants() == EstimatorConstants(rho1=1.0, rho2=1.0, A=0.0, B=0.0, C=0.0, E=0.0)
