"""A guard that counts instead of timing: Python calls, allocations and oracle calls of compiled runs."""

import gc
import sys
import tracemalloc

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import bsfw
from bsfw._sampling import draw
from bsfw.engines.compiled.engine import CompiledEngine
from bsfw.kernels import batches

M, N = 4_000, 30_000
ESTIMATORS = [
    bsfw.FullGradient(),
    bsfw.SAG(batch_size=50),
    bsfw.SAGA(batch_size=50),
    bsfw.LSVRG(batch_size=50),
    bsfw.SARAH(batch_size=50),
    bsfw.HeavyBall(batch_size=50),
    bsfw.SEGA(),
    bsfw.JAGUAR(),
    bsfw.ZOJA(),
]


@pytest.fixture(scope="module")
def objective():
    rng = np.random.default_rng(0)
    A = sp.random(M, N, density=10 / N, random_state=0, format="csr")
    objective = bsfw.Logistic(A, np.where(rng.random(M) > 0.5, 1.0, -1.0))
    _ = objective.columns  # the CSC form of the data is data, made once and kept
    return objective


def run(objective, estimator, iterations):
    return bsfw.minimize(
        objective, bsfw.L1Ball(20.0), estimator=estimator, max_iter=iterations, record_every=iterations, rng=0
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.name)
def test_own_arrays_stay_below_three_vectors_of_n_and_three_of_m(objective, estimator):
    run(objective, estimator, 3)  # compile first
    solver = bsfw.Solver(objective, bsfw.L1Ball(20.0), estimator, horizon=100)
    state = solver.init(rng=0)
    tracemalloc.start()
    engine = solver.engine(state)
    limits = bsfw.Limits(max_iter=200)
    engine.forward(state, 200, limits)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    allowed = 8 * (3 * N + 3 * M)
    assert sum(array.nbytes for array in state.memory.values()) <= allowed
    assert peak <= allowed + 200_000  # and nothing of size n came and went on the way


@pytest.mark.parametrize("estimator", [bsfw.SAGA(batch_size=50), bsfw.JAGUAR()], ids=lambda e: e.name)
def test_iterations_run_without_python_in_between(objective, estimator, monkeypatch):
    calls, call = [], CompiledEngine._call
    monkeypatch.setattr(CompiledEngine, "_call", lambda *arguments: (calls.append(1), call(*arguments))[1])
    run(objective, estimator, 5_000)
    assert len(calls) < 250  # chunks double until one takes about 50 ms


def test_what_is_picked_by_the_types_of_the_data_counts_no_references_either(objective):
    solver = bsfw.Solver(objective, bsfw.L1Ball(20.0), bsfw.SAGA(batch_size=50), horizon=10)
    engine = solver.engine(solver.init(rng=0))
    work = engine.work()
    compiled = numba.njit(_nrt=False)(batches.add_samples.py_func)
    arguments = (
        engine.model,
        work.estimate.g,
        work.support.slots,
        work.bounds,
        0.0,
        work.batch.samples[:0],
        work.batch.margins,
        True,
    )
    compiled(*arguments)
    code = compiled.inspect_llvm(compiled.signatures[0])
    assert "prefetch" in code
    assert "NRT_incref" not in code


def test_a_call_of_compiled_code_leaves_nothing_behind(classification):
    solver = bsfw.Solver(bsfw.Logistic(*classification), bsfw.L1Ball(2.0), bsfw.SAGA(batch_size=5), horizon=100)
    state = solver.init(rng=0)
    engine = solver.engine(state)
    limits = bsfw.Limits(max_iter=10**6)

    def calls(number):
        for _ in range(number):
            engine.forward(state, state.iteration + 1, limits)

    tracemalloc.start()
    calls(1500)  # until Python's free lists are full
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    references = sys.getrefcount(state.rng)
    calls(2000)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    found = sys.getrefcount(state.rng)
    assert after - before < 100_000  # a generator passed as it is left 57 bytes at each call, 114,000 in all
    assert found == references


def test_rows_outside_of_the_batches_are_never_read(objective):
    estimator, iterations, rng = bsfw.HeavyBall(batch_size=50), 12, np.random.default_rng(0)
    drawn = np.unique(np.concatenate([draw(rng, M, 50) for _ in range(iterations)]))
    found = []
    for poisoned in (False, True):
        other = bsfw.Logistic(objective.A.copy(), objective.y)
        solver = bsfw.Solver(other, bsfw.L1Ball(20.0), estimator, horizon=100)
        state = solver.init(rng=0)
        if poisoned:
            touched = np.repeat(np.isin(np.arange(M), drawn), np.diff(other.A.indptr))
            assert 0.1 < touched.mean() < 0.2
            other.A.data[~touched] = np.nan
        engine = solver.engine(state)
        engine.forward(state, iterations, bsfw.Limits(max_iter=iterations))
        engine.publish(state)
        found.append((state.x, engine.estimate(state)))
    np.testing.assert_array_equal(found[1], found[0])
    assert np.isfinite(found).all()


@pytest.mark.parametrize(("step", "follows"), [("paper", False), ("image", True)])
def test_rows_of_samples_that_have_not_changed_are_never_read(step, follows):
    """Where lists of the support or margins give the slopes: most rows have no entry in the support."""
    A = sp.random(300, 12_000, density=25 / 12_000, random_state=4, format="csr")
    y, found, visited = np.where(np.arange(300) % 2, 1.0, -1.0), [], np.empty(0)
    for poisoned in (False, True):
        objective = bsfw.Logistic(A.copy(), y)
        solver = bsfw.Solver(objective, bsfw.L1Ball(30.0), bsfw.SAG(batch_size=60), horizon=100, step=step)
        state = solver.init(rng=0)
        engine = solver.engine(state)
        engine.forward(state, 1, bsfw.Limits(max_iter=20))  # with the full pass of the table
        if poisoned:
            unmoved = A[:, visited].count_nonzero(axis=1) == 0
            assert unmoved.mean() > 0.3
            objective.A.data[np.repeat(unmoved, np.diff(objective.A.indptr))] = np.nan
        engine.forward(state, 20, bsfw.Limits(max_iter=20))
        visited = state.memory["coordinates"][1 : engine.record["count"] + 1]
        assert (state.memory["margins"].size > 0) is follows
        found.append(engine.estimate(state))
    np.testing.assert_array_equal(found[1], found[0])
    assert np.isfinite(found).all()


def test_support_is_what_was_visited_not_what_exists(objective):
    solver = bsfw.Solver(objective, bsfw.L1Ball(20.0), bsfw.SAGA(batch_size=50), horizon=300)
    state = solver.init(rng=0)
    engine = solver.engine(state)
    engine.forward(state, 300, bsfw.Limits(max_iter=300))
    assert state.memory["x"].size <= 4 * state.lmo_calls
    assert state.memory["x"].size < N / 4


def test_oracle_calls_of_a_seeded_run_are_those_of_the_reference(objective):
    calls = []
    for engine in ("reference", "compiled"):
        solver = bsfw.Solver(objective, bsfw.L1Ball(20.0), bsfw.SAGA(batch_size=50), engine=engine)
        state = solver.init(rng=0)
        for _ in range(20):
            solver.step(state)
        calls.append(state.lmo_calls)
    assert calls[0] == calls[1]
