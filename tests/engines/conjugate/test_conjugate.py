"""Conjugate and bi-conjugate Frank-Wolfe: conjugacy itself, what it gains, certificates, checkpoints, refusals."""

import numpy as np
import pytest

import bsfw

METHODS = ("conjugate", "biconjugate")


def streets(side=5, seed=0):
    """A grid of streets both ways, every street a BPR function, with demands between its corners."""
    rng = np.random.default_rng(seed)
    edges = [(i, j) for i in range(side**2) for j in (i + 1, i + side) if j < side**2 and (j % side or j == i + side)]
    edges = np.array(edges + [(j, i) for i, j in edges])
    corners = [0, side - 1, side * (side - 1), side**2 - 1]
    demands = [(a, b, float(rng.uniform(2.0, 6.0))) for a in corners for b in corners if a != b]
    costs = bsfw.LinkCosts(rng.uniform(1.0, 2.0, len(edges)), rng.uniform(2.0, 6.0, len(edges)))
    return costs, bsfw.PathPolytope(edges, demands)


def quadratic(seed=0):
    """Its minimiser is inside of the simplex, so that steps along the directions are shorter than one."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((12, 12))
    Q = root @ root.T / 12 + np.eye(12)
    return bsfw.Quadratic(Q, -Q @ rng.dirichlet(10.0 * np.ones(12)), shape=12), bsfw.Simplex(1.0)


def cosine(Q, a, b):
    return abs(a @ Q @ b) / np.sqrt((a @ Q @ a) * (b @ Q @ b))


@pytest.mark.parametrize("method", METHODS)
def test_directions_are_conjugate_to_those_before_them(method):
    checked = {1: 0, 2: 0}
    for seed in range(20):
        f, constraint = quadratic(seed)
        solver = bsfw.Solver(f, constraint, method=method)
        state = solver.init()
        engine = solver.engine(state)
        directions, was_conjugate = [], False
        for _ in range(20):
            direction = engine.look(state)
            d, old = direction.dense(state.x), len(direction.vertices) - 1
            # No weight was cut off, and with two old points they were conjugate themselves.
            conjugate = old > 0 and min(direction.weights) > 0.0 and (old == 1 or was_conjugate)
            for k in range(1, old + 1) if conjugate else ():
                assert cosine(f.Q, d, directions[-k]) < 1e-6
                checked[k] += 1
            directions.append(d)
            was_conjugate = conjugate
            assert direction.slope < 0.0
            engine.advance(state, direction)
    assert checked[1] >= 10, checked
    assert (checked[2] >= 5) == (method == "biconjugate"), checked


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", [streets, quadratic])
def test_the_gap_is_a_certificate_and_f_goes_down(method, problem):
    f, constraint = problem()
    best = bsfw.minimize(f, constraint, max_iter=3000, gap_tol=1e-9, method="pairwise").fun
    seen = []
    bsfw.minimize(
        f, constraint, method=method, max_iter=60, record_every=1, callback=lambda r: seen.append((r.fun, r.gap))
    )
    values, gaps = np.array(seen).T
    size = 1e-9 * (1.0 + np.abs(values))
    assert (np.diff(values) <= size[1:]).all()
    assert (gaps >= values - best - size).all()


def test_fewer_iterations_than_vanilla_and_the_same_equilibrium():
    costs, polytope = streets()
    exact = bsfw.minimize(costs, polytope, method="corrective")
    away = {}
    for method, settings in (("boosted", {"max_rounds": 1, "step": "line-search"}), *((m, {}) for m in METHODS)):
        result = bsfw.minimize(costs, polytope, method=method, max_iter=150, gap_tol=0.0, **settings)
        away[method] = result.fun / exact.fun - 1.0
        assert result.lmo_calls <= 160  # one an iteration, and the start
    assert away["biconjugate"] < 0.1 * away["boosted"]
    assert away["conjugate"] < 0.5 * away["boosted"]


@pytest.mark.parametrize("method", METHODS)
def test_a_checkpoint_goes_on_to_the_same_bits(method, tmp_path):
    costs, polytope = streets(3)
    file = tmp_path / "run.npz"
    whole = bsfw.minimize(costs, polytope, method=method, max_iter=20, gap_tol=0.0)
    bsfw.minimize(costs, polytope, method=method, max_iter=9, gap_tol=0.0, checkpoint=file, every=9)
    resumed = bsfw.resume(file, costs, polytope, max_iter=20)
    assert np.array_equal(whole.x, resumed.x)
    for stop in range(3, 20):  # a restart forgets the direction, and rounding decides where one is
        file.unlink()
        bsfw.minimize(costs, polytope, method=method, max_iter=stop, gap_tol=0.0, checkpoint=file, every=stop)
        arrays = dict(np.load(file))
        names = [key for key in arrays if key.endswith("conjugate.0")]
        if names:
            break
    np.savez(file, **{**arrays, names[0]: np.zeros(3)})
    with pytest.raises(ValueError, match=r"checkpoint's conjugate\.0 must be numbers of shape"):
        bsfw.resume(file, costs, polytope, max_iter=20)


def test_what_does_not_fit_has_its_sentence():
    logistic = bsfw.Logistic(np.eye(2), [1, -1])
    with pytest.raises(ValueError, match="needs products with the Hessian, which Logistic does not have"):
        bsfw.minimize(logistic, bsfw.L1Ball(1.0), method="conjugate")
    with pytest.raises(ValueError, match="adaptive line search is for the methods with an active set"):
        bsfw.minimize(*quadratic(), method="biconjugate", step=bsfw.LineSearch("adaptive"))
    with pytest.raises(ValueError, match="needs the exact gradient"):
        bsfw.minimize(logistic, bsfw.L1Ball(1.0), estimator=bsfw.SAGA(batch_size=1), method="biconjugate")
