"""Block-coordinate Frank-Wolfe on products: against CVXPY and against steps written out."""

import numpy as np
import pytest

import bsfw

BLOCKWISE = ("block-cyclic", "block-random", "block-gap")
SIZES = (3, 4, 5)


def product():
    return bsfw.Product([(bsfw.Simplex(1.0), 3), (bsfw.L1Ball(0.7), 4), (bsfw.Box(-0.5, 0.25), 5)])


def start():
    return np.concatenate([np.full(3, 1 / 3), np.zeros(9)])


def quadratic(seed=0):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((14, 12))
    return bsfw.Quadratic(root.T @ root / 14 + 0.1 * np.eye(12), rng.standard_normal(12))


def logistic(seed=0):
    rng = np.random.default_rng(seed)
    return bsfw.Logistic(rng.standard_normal((60, 12)), np.where(rng.random(60) < 0.5, 1.0, -1.0))


def function(of):
    return bsfw.Function(of._value, of._gradient, shape=(12,), quasar_rho=1.0)


@pytest.mark.parametrize("method", BLOCKWISE)
def test_the_minimum_is_that_of_cvxpy(method):
    cvxpy = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    f, x = quadratic(), cvxpy.Variable(12)
    rules = [x[:3] >= 0, cvxpy.sum(x[:3]) == 1, cvxpy.norm1(x[3:7]) <= 0.7, x[7:] >= -0.5, x[7:] <= 0.25]
    best = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(f.Q)) + f.b @ x), rules).solve()
    found = bsfw.minimize(f, product(), method=method, gap_tol=1e-3, max_iter=3000, rng=1)
    assert found.success
    assert found.gap_exact
    assert -1e-6 <= found.fun - best <= found.gap + 1e-6
    assert product().contains(found.x)


@pytest.mark.parametrize(
    "make", [quadratic, logistic, lambda: function(quadratic())], ids=["quadratic", "linear", "any"]
)
def test_a_cyclic_pass_is_exact_steps_of_one_block_after_the_other(make):
    """Each step written out with the full gradient and the library's line search on the whole variable."""
    f, sets = make(), product()
    solver = bsfw.Solver(f, sets, method="block-cyclic")
    state = solver.init()
    x = state.x.copy()
    for _ in range(2):
        solver.step(state)
        begin = 0
        for (constraint, _), size in zip(sets.blocks, SIZES, strict=True):
            block = slice(begin, begin + size)
            d = np.zeros(12)
            d[block] = constraint.lmo(f.gradient(x)[block]).dense() - x[block]
            line = f.along(x, d)
            slope = line.derivative(0.0)
            if slope < 0:
                x = x + bsfw.LineSearch()._search(line, slope) * d
            begin += size
    np.testing.assert_allclose(state.x, x, atol=1e-9)


@pytest.mark.parametrize("step", ["short", bsfw.LineSearch("backtracking")], ids=str)
@pytest.mark.parametrize("method", BLOCKWISE)
def test_no_pass_increases_f(method, step):
    run = bsfw.minimize(quadratic(), product(), method=method, step=step, max_iter=60, record_every=1, rng=0)
    assert (np.diff(run.trace["value"]) <= 1e-12).all()
    assert run.fun < run.trace["value"][0] - 1e-3


def test_a_pass_counts_as_one_call_of_the_product_and_its_partial_derivatives():
    run = bsfw.minimize(quadratic(), product(), method="block-cyclic", x0=start(), max_iter=7, gap_tol=0.0)
    assert run.lmo_calls == 1 + 7  # the gaps at the start, the passes
    assert run.coordinate_gradients == 7 * 12


def test_by_gap_the_blocks_with_nothing_to_gain_are_left_alone():
    """Nine of ten blocks are solved at the start: their oracle is hardly asked, and passes are fewer than at random."""

    class Counted(bsfw.Simplex):
        calls = 0

        def lmo(self, direction):
            self.calls += 1
            return super().lmo(direction)

    made = {}
    for method in ("block-random", "block-gap"):
        sets = [Counted(1.0) for _ in range(10)]
        c = np.zeros((10, 30))
        c[1:, 0] = 1.0  # a vertex is the solution of the others
        c[0] = np.random.default_rng(0).dirichlet(np.ones(30))
        x0 = np.zeros((10, 30))
        x0[:, 0] = 1.0
        f = bsfw.Quadratic(1.0, -c.ravel())
        run = bsfw.minimize(
            f,
            bsfw.Product([(s, 30) for s in sets]),
            method=method,
            x0=x0.ravel(),
            max_iter=20,
            gap_tol=0.0,
            record_every=20,
            rng=3,
        )
        made[method] = sets[0].calls / sum(s.calls for s in sets), run.fun
    assert made["block-gap"][0] > 0.6 > 0.2 > made["block-random"][0]
    assert made["block-gap"][1] < made["block-random"][1]


def test_a_run_resumes_to_the_same_bits(tmp_path):
    settings = {"method": "block-gap", "gap_tol": 0.0, "rng": 5}
    whole = bsfw.minimize(quadratic(), product(), max_iter=12, **settings)
    bsfw.minimize(quadratic(), product(), max_iter=5, checkpoint=tmp_path / "run.npz", **settings)
    rest = bsfw.resume(tmp_path / "run.npz", quadratic(), product(), max_iter=12)
    np.testing.assert_array_equal(rest.x, whole.x)
    assert rest.coordinate_gradients == whole.coordinate_gradients


def test_what_does_not_fit_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="moves one set of a"):
        bsfw.minimize(quadratic(), bsfw.Simplex(1.0), method="block-cyclic")
    with pytest.raises(ValueError, match="'line-search' or 'short'"):
        bsfw.minimize(quadratic(), product(), method="block-cyclic", step="paper")
