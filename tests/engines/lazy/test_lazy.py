"""Lazy runs: fewer calls of the oracle, the same certificates."""

import numpy as np
import pytest

import bsfw
from bsfw.engines.lazy import cache as caches

METHODS = ("boosted", "away", "pairwise", "blended-pairwise")


class Counted(bsfw.Birkhoff):
    """Says how often its oracle was asked."""

    calls = 0

    def lmo(self, direction):
        self.calls += 1
        return super().lmo(direction)


def target(n=8, seed=0):
    """A point of the polytope, on a face, moved out of it."""
    rng = np.random.default_rng(seed)
    vertices = [bsfw.Birkhoff(n).lmo(rng.standard_normal((n, n))).dense() for _ in range(6)]
    return np.tensordot(rng.dirichlet(np.ones(6)), vertices, axes=1) + 0.05 * rng.standard_normal((n, n))


def distance(c):
    return bsfw.Quadratic(1.0, -c, c=0.5 * np.sum(c**2))


@pytest.mark.parametrize("method", METHODS)
def test_lazy_runs_reach_the_same_gap_with_fewer_calls_all_of_them_counted(method):
    settings = {"method": method, "step": "line-search", "gap_tol": 1e-3, "max_iter": 3000}
    sets = Counted(8), Counted(8)
    eager = bsfw.minimize(distance(target()), sets[0], **settings)
    lazy = bsfw.minimize(distance(target()), sets[1], lazy=True, **settings)
    assert eager.success
    assert lazy.success
    assert lazy.gap_exact
    assert lazy.fun == pytest.approx(eager.fun, abs=1e-3)
    for run, constraint in ((eager, sets[0]), (lazy, sets[1])):
        assert run.lmo_calls + run.check_lmo_calls == constraint.calls
    assert lazy.lmo_calls < eager.lmo_calls / 1.5
    assert lazy.cached_calls > lazy.lmo_calls
    assert bsfw.Birkhoff(8).contains(lazy.x)


@pytest.mark.parametrize("method", METHODS)
def test_a_gap_that_is_called_exact_is(method):
    """In every row of the trace, against the oracle asked anew; in rows without a call none is called exact."""
    f, constraint, found = distance(target()), bsfw.Birkhoff(8), []

    def look(intermediate_result):
        x, trace = intermediate_result.x, intermediate_result
        g = f._gradient(x)
        found.append((trace.gap_exact, trace.gap, np.sum(g * x) - constraint.lmo(g).inner(g)))

    run = bsfw.minimize(
        f, constraint, method=method, step="line-search", lazy=True, max_iter=80, record_every=1, callback=look
    )
    exact = [(gap, true) for is_exact, gap, true in found if is_exact]
    assert 3 < len(exact) < len(found)
    np.testing.assert_allclose([gap for gap, _ in exact], [true for _, true in exact], atol=1e-12)
    assert (np.diff(run.trace["value"]) <= 1e-12).all()


@pytest.mark.parametrize("method", ["boosted", "blended-pairwise"])
def test_a_step_without_a_call_promises_the_share_of_the_last_gap(method):
    f, constraint = distance(target()), bsfw.Birkhoff(8)
    solver = bsfw.Solver(f, constraint, method=method, lazy=True, step="line-search", max_rounds=1)
    state = solver.init()
    cached = 0
    for _ in range(60):
        engine, x, calls = solver.engine(state), state.x.copy(), state.lmo_calls
        promised = engine.cache.threshold
        move = solver.step(state)
        slope = np.sum(f._gradient(x) * (state.x - x))
        if state.lmo_calls == calls:
            cached += 1
            assert slope < 0.0
            if method == "boosted":  # whose step is a share of the direction
                assert -slope >= move.length * promised * (1.0 - 1e-9)
            assert engine.cache.asked is False
        else:
            g = f._gradient(x)
            assert engine.cache.gap == pytest.approx(np.sum(g * x) - constraint.lmo(g).inner(g), abs=1e-12)
    assert cached > 10


def test_the_cache_forgets_the_vertex_used_least_recently(monkeypatch):
    monkeypatch.setattr(caches, "SIZE", 2)
    cache, simplex, state = caches.VertexCache((3,), float), bsfw.Simplex(), bsfw.State(np.zeros(3), None)
    directions = -np.eye(3)
    for g in directions[:2]:
        cache.ask(simplex, state, g)
    cache.best(directions[0])  # used again
    cache.ask(simplex, state, directions[2])
    assert len(cache) == 2
    assert cache.best(directions[0]).inner(np.eye(3)[0]) == 1.0
    assert cache.best(directions[1]).inner(np.eye(3)[1]) == 0.0


@pytest.mark.parametrize("method", ["boosted", "pairwise"])
def test_a_lazy_run_resumes_to_the_same_bits(method, tmp_path):
    settings = {"method": method, "step": "line-search", "lazy": True, "gap_tol": 0.0}
    whole = bsfw.minimize(distance(target()), bsfw.Birkhoff(8), max_iter=30, **settings)
    bsfw.minimize(distance(target()), bsfw.Birkhoff(8), max_iter=11, checkpoint=tmp_path / "run.npz", **settings)
    rest = bsfw.resume(tmp_path / "run.npz", distance(target()), bsfw.Birkhoff(8), max_iter=30)
    np.testing.assert_array_equal(rest.x, whole.x)
    assert (rest.lmo_calls, rest.cached_calls) == (whole.lmo_calls, whole.cached_calls)


def test_auto_takes_pairwise_steps_among_few_atoms():
    plan = bsfw.Solver(distance(target()), bsfw.Birkhoff(8), method="auto", lazy=True).plan
    assert plan.method == "blended-pairwise"
    assert "lazy blended-pairwise" in plan.why


def test_what_cannot_be_lazy_says_so():
    with pytest.raises(ValueError, match="the method is 'corrective'"):
        bsfw.minimize(distance(target()), bsfw.Birkhoff(8), method="corrective", lazy=True)
    A = np.eye(4)
    with pytest.raises(ValueError, match="the estimator is SAGA"):
        bsfw.minimize(bsfw.LeastSquares(A, A[0]), bsfw.Simplex(), estimator=bsfw.SAGA(batch_size=2), lazy=True)
