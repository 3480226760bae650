"""What a result tells of its gap is never below the truth: sets whose oracle stops at a tolerance, any precision."""

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw
from bsfw.constraints import _certificates
from bsfw.objectives import linear_model, quadratic
from bsfw.results import Status
from bsfw.solver import Solver

N = 60


def near_optimum(kind, dtype, seed):
    """||X - Y||^2 / 2 over a nuclear ball or a spectraplex, with a point whose gradient has many leading singular
    values or eigenvalues that differ by a few parts in a million: what an optimum looks like."""
    rng = np.random.default_rng(seed)
    y = rng.standard_normal((N, N)) + (1j * rng.standard_normal((N, N)) if np.dtype(dtype).kind == "c" else 0.0)
    if kind == "nuclear":
        left, values, right = np.linalg.svd(y)
        values = np.maximum(values - values[N // 3], 0.0)
    else:
        y = y + y.conj().T
        values, left = np.linalg.eigh(y)
        right = left.conj().T
        values = np.maximum(values - values[2 * N // 3], 0.0)
    radius = float(values.sum())
    values = values * (1.0 + 1e-6 * rng.standard_normal(N))
    x = (left * (values * (radius / values.sum()))) @ right
    y = y.astype(dtype)
    objective = bsfw.Function(
        lambda x: 0.5 * float(np.linalg.norm(x - y) ** 2), jac=lambda x: x - y, shape=(N, N), quasar_rho=1.0,
        dtype=dtype,
    )  # fmt: skip
    return objective, radius, x.astype(dtype), y


def true_gap(kind, x, y, radius):
    x = x.astype(np.result_type(x, np.float64))
    g = x - y
    least = -np.linalg.norm(g, 2) if kind == "nuclear" else np.linalg.eigvalsh(g)[0]
    return float(np.vdot(g, x).real - radius * least)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-2])
@pytest.mark.parametrize("kind", ["nuclear", "spectraplex"])
def test_sets_of_matrices_tell_a_gap_that_holds(kind, tolerance, dtype):
    ball = {"nuclear": bsfw.NuclearBall, "spectraplex": bsfw.Spectraplex}[kind]
    for seed in range(2):
        objective, radius, x0, y = near_optimum(kind, dtype, seed)
        for gap_tol in (1e-6, 1e-3, 1.0):
            constraint = ball(radius, tolerance=tolerance)
            result = bsfw.minimize(objective, constraint, x0=x0, gap_tol=gap_tol, max_iter=2, record_every=1)
            truth = true_gap(kind, result.x, y, radius)
            assert result.gap_exact
            assert result.gap >= truth
            assert result.gap <= 1.01 * truth + 1e-5 * N * radius * np.finfo(dtype).eps / np.finfo(np.float32).eps
            assert not result.success or truth <= gap_tol
            assert result.status is not Status.NUMERICAL_FAILURE


def test_what_an_inexact_oracle_says_on_the_way_is_not_called_exact():
    objective, radius, _, _ = near_optimum("nuclear", float, 0)
    result = bsfw.minimize(objective, bsfw.NuclearBall(radius), max_iter=6, record_every=1, gap_every=3)
    assert result.trace["gap_exact"].tolist() == [True, False, False, True, False, False, True]
    small = bsfw.minimize(bsfw.Quadratic(1.0, np.ones((5, 4))), bsfw.NuclearBall(1.0), max_iter=2)
    assert small.trace["gap_exact"].all()  # by LAPACK


def test_products_are_as_exact_as_their_blocks():
    objective, radius, x0, y = near_optimum("nuclear", float, 0)
    flat = bsfw.Function(
        lambda z: objective.fun(z[: N * N].reshape(N, N)) + 0.5 * float(z[N * N :] @ z[N * N :]),
        jac=lambda z: np.concatenate(((z[: N * N] - y.ravel()), z[N * N :])), shape=(N * N + 3,),
    )  # fmt: skip
    both = bsfw.Product([(bsfw.NuclearBall(radius, tolerance=1e-2), (N, N)), (bsfw.Simplex(), 3)])
    start = np.concatenate((x0.ravel(), np.full(3, 1 / 3)))
    result = bsfw.minimize(flat, both, x0=start, gap_tol=1.0, max_iter=2)
    assert result.success
    assert result.gap >= true_gap("nuclear", x0, y, radius)
    assert not both.solves_exactly(both.shape)
    assert bsfw.Product([(bsfw.Simplex(), 3), (bsfw.L1Ball(1.0), 2)]).solves_exactly((5,))


@pytest.mark.parametrize("dtype", [float, complex])
def test_large_matrices_are_bounded_by_lanczos(monkeypatch, dtype):
    monkeypatch.setattr(_certificates, "_FULL", 10)
    rng = np.random.default_rng(4)
    for width in (1e-9, 1e-6, 1.0):
        left, right = (np.linalg.qr(rng.standard_normal((n, 50)).astype(dtype))[0] for n in (70, 50))
        values = 1.0 - width * rng.random(50)
        matrix = 1e200 * (left * values) @ right.conj().T
        bound = _certificates.largest_singular_value(matrix)
        assert 1.0 <= bound / (1e200 * values.max()) <= 1.0 + 1e-10
        hermitian = 1e-200 * (right * values) @ right.conj().T
        least = _certificates.smallest_eigenvalue(hermitian)
        assert values.min() - 1e-10 <= least / 1e-200 <= values.min()


@pytest.mark.parametrize("bounds", [(-2.0, 3.0), (0.0, None), None])
def test_a_polytope_is_bounded_by_the_multipliers_of_its_linear_program(bounds):
    """With bounds on all sides, on one, and on none; against the vertices of a simplex cut off by half-spaces."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        A, b = np.vstack((np.ones((1, n)), -np.eye(n), rng.standard_normal((2, n)))), np.r_[1.0, np.zeros(n), 9.0, 9.0]
        polytope = bsfw.Polytope(A, b, bounds=bounds)  # the solid simplex, whatever the rest says
        for scale in (1e-200, 1.0, 1e200):
            g = scale * rng.standard_normal(n)
            truth = min(0.0, float(g.min()))
            bound = polytope.lower_bound(g, polytope.lmo(g))
            assert bound <= truth
            assert bound >= truth - 1e-9 * scale
    assert not polytope.solves_exactly((n,))


def test_a_gap_that_is_negative_is_a_failure_and_never_success():
    """A callable that does not minimise says that x is better than every vertex."""
    wrong = bsfw.Oracle(lambda g: np.eye(3)[np.argmax(g)], diameter=2.0, shape=(3,))
    result = bsfw.minimize(
        bsfw.Quadratic(np.ones(3), np.array([3.0, 2.0, 1.0])), wrong, x0=np.array([0.0, 0.0, 1.0]), gap_tol=10.0,
        max_iter=5,
    )  # fmt: skip
    assert result.status is Status.NUMERICAL_FAILURE
    assert not result.success
    assert not result.gap_exact


def cancelling(form, rng):
    """Data in single precision whose columns are nearly the same: margins and gradients are small differences."""
    A = (100.0 + rng.standard_normal((400, 12))).astype(np.float32)
    return sp.csr_array(A) if form == "sparse" else A


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kind", [bsfw.Logistic, bsfw.LeastSquares, bsfw.Multinomial])
def test_gaps_of_data_in_single_precision_hold_for_the_data_as_stored(monkeypatch, kind, form, intercept):
    """Also where the rows are taken in parts."""
    monkeypatch.setattr(linear_model, "_BLOCK", 1000)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A = cancelling(form, rng)
        y = np.where(rng.random(400) < 0.5, -1.0, 1.0)
        single = kind(A, y, intercept=intercept, sample_weight=rng.random(400))
        double = kind(A.astype(np.float64), y, intercept=intercept, sample_weight=single.sample_weight)
        x = rng.standard_normal(single.shape).astype(np.float32)
        x -= x.mean(axis=0)
        solver = Solver(single, bsfw.L1Ball(40.0))
        gap, wide = solver.exact_gap(solver.init(x)), x.astype(np.float64)
        g = double.gradient(wide)
        truth = np.vdot(g, wide) + 40.0 * np.abs(g).max()
        assert truth - 1e-11 <= gap <= truth + 1e-11 + 1e-12 * np.linalg.norm(g) * 80.0


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("form", ["dense", "sparse", "diagonal"])
def test_so_do_those_of_quadratics(monkeypatch, form, dtype):
    monkeypatch.setattr(quadratic, "_ENTRIES", 100)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        B = rng.standard_normal((30, 30)) + (1j * rng.standard_normal((30, 30)) if dtype == np.complex64 else 0.0)
        Q = (1e3 * np.eye(30) + B @ B.conj().T).astype(dtype)
        Q = {"dense": Q, "sparse": sp.csr_array(Q), "diagonal": Q.real.diagonal()}[form]
        x = (0.1 * B[0]).astype(dtype)
        whole = Q.astype(np.result_type(dtype, np.float64))
        b = -(whole @ x if Q.ndim == 2 else whole * x).astype(dtype)  # so that x is nearly the minimiser
        solver = Solver(bsfw.Quadratic(Q, b), bsfw.L2Ball(3.0))
        g = (whole @ x if Q.ndim == 2 else whole * x) + b
        truth = np.vdot(g, x).real + 3.0 * np.linalg.norm(g)
        assert truth - 1e-11 <= solver.exact_gap(solver.init(x)) <= truth + 1e-11
