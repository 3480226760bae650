"""Compiled runs over sets whose vertices have several nonzeros, against the reference with the same draws."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from engine_runs import ESTIMATORS, assert_same_run, both_runs, engine_of

import bsfw
from bsfw.engines.compiled.engine import CompiledEngine

M, N = 70, 40


def scattered(n, number):
    """Groups of unequal sizes, the first one the largest, whose coordinates are not neighbours."""
    labels = np.arange(n) ** 2 % number
    labels[:number] = np.arange(number)
    return [np.flatnonzero(labels == i) for i in range(number)]


SETS = {
    "k=1": lambda n: bsfw.KSparse(1, 2.0),
    "k=3": lambda n: bsfw.KSparse(3, 1.0),
    "k=n": lambda n: bsfw.KSparse(n, 0.3),
    "single": lambda n: bsfw.GroupBall([[j] for j in range(n)], 2.0),
    "scattered": lambda n: bsfw.GroupBall(scattered(n, 7), 2.0),
    "one group": lambda n: bsfw.GroupBall([range(n)], 2.0),
}
BOTH = ["k=3", "scattered"]


def logistic(dense=False, m=M, n=N):
    rng = np.random.default_rng(0)
    A = sp.random(m, n, density=8 / n, random_state=2, format="csr")
    A.data += 0.1
    y = np.where(rng.random(m) > 0.5, 1.0, -1.0)
    return bsfw.Logistic(rng.standard_normal((m, n)) if dense else A, y)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_runs_equal_the_reference_for_every_estimator(name, estimator):
    # In the box Boost can bring the residual to zero, from an estimate with zeros soon: then rounding decides signs.
    zeros = isinstance(estimator, bsfw.HeavyBall) or getattr(estimator, "table", "") == "zeros"
    runs = both_runs(logistic(), SETS[name](N), estimator, max_rounds=1 if name == "k=n" and zeros else None)
    assert engine_of(runs[1][0]).name == "compiled"
    assert_same_run(runs, tolerance=1e-7)  # rounding grows along a run


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_runs_on_dense_data_equal_the_reference(estimator):
    # One set only, and no other kinds of data: their kernels are those of the l1 ball, and each pair compiles for long.
    assert_same_run(both_runs(logistic(dense=True), SETS["scattered"](N), estimator, iterations=30), tolerance=1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("start", ["vertex", "inside"])
def test_vanilla_and_shortly_boosted_runs_equal_the_reference(name, most, start):
    x0 = None if start == "vertex" else np.where(np.arange(N) % 5 == 0, 0.01, 0.0)
    runs = both_runs(logistic(), SETS[name](N), bsfw.SAGA(batch_size=9), max_rounds=most, x0=x0)
    assert_same_run(runs, tolerance=1e-9)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("step", [bsfw.ShortStep(), bsfw.LineSearch(), bsfw.LineSearch("backtracking")], ids=repr)
@pytest.mark.parametrize("most", [1, 10_000])
def test_searched_steps_equal_the_reference(name, step, most):
    runs = both_runs(logistic(), SETS[name](N), bsfw.FullGradient(), iterations=30, step=step, max_rounds=most)
    assert engine_of(runs[1][0]).name == "compiled"
    # Rounding may make a root search ask one derivative more.
    assert runs[1][0].counts.full_gradients == pytest.approx(runs[0][0].counts.full_gradients, abs=30)
    runs[1][0].counts = runs[0][0].counts
    assert_same_run(runs, tolerance=1e-9)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("m", "n", "radius", "how"),
    [
        (200, 12, 1.0, "all columns"),
        (3_000, 120, 0.1, "support"),
        (3_000, 120, 20.0, "margins there and back"),
        (300, 1_200, 20.0, "margins"),
    ],
)
def test_steps_in_the_image_equal_the_reference(name, m, n, radius, how):
    A = sp.random(m, n, density=max(0.05, 6 / n), random_state=4, format="csr")
    rng = np.random.default_rng(8)
    objective = bsfw.Logistic(A, np.where(A @ rng.standard_normal(n) > 0, 1.0, -1.0))
    constraint = bsfw.KSparse(3, radius) if name == "k=3" else bsfw.GroupBall(scattered(n, n // 4), 3 * radius)
    for estimator in (bsfw.SAG(batch_size=m // 10), bsfw.SARAH(batch_size=m // 10)):
        for most in (1, None):
            runs = both_runs(objective, constraint, estimator, iterations=25, step="image", max_rounds=most)
            assert_same_run(runs, tolerance=1e-8)
    state = runs[1][0]
    assert (len(engine_of(state)._gram["matrix"]) == n) is (how == "all columns")
    if how == "support":
        assert engine_of(state)._gram["formed"][0] == engine_of(state).record["count"] > 4
    if how.startswith("margins"):
        assert state.memory["margins"].size == m
        assert engine_of(state).choices.image_room() is (how == "margins")


@pytest.mark.parametrize("constraint", [bsfw.KSparse(7, 5.0), bsfw.GroupBall(scattered(400, 90), 50.0)], ids=BOTH)
def test_the_support_grows_beyond_its_first_room(constraint):
    rng = np.random.default_rng(6)
    objective = bsfw.LeastSquares(rng.standard_normal((50, 400)), 5 * rng.standard_normal(50))
    runs = both_runs(objective, constraint, bsfw.SAGA(batch_size=20), iterations=25)
    assert engine_of(runs[1][0]).record["count"] > 200
    assert_same_run(runs, tolerance=1e-8)


@pytest.mark.parametrize("name", SETS)
def test_a_zero_estimate_goes_to_the_fixed_vertex(name):
    """SAG with a table of zeros begins with m = 0."""
    constraint, objective = SETS[name](N), logistic()
    vertex = constraint.lmo(np.zeros(N)).dense()
    for x0 in (np.zeros(N), vertex):
        runs = both_runs(objective, constraint, bsfw.SAG(batch_size=9, table="zeros"), iterations=1, x0=x0)
        assert runs[1][1][0][2] == 1  # one oracle call, no boosting
        assert_same_run(runs, tolerance=1e-12)
    solver = bsfw.Solver(objective, constraint, bsfw.SAG(batch_size=9, table="zeros"), engine="compiled")
    direction = solver.engine(state := solver.init(np.zeros(N), rng=0)).look(state)
    np.testing.assert_array_equal(direction.vertex.dense(), vertex)
    assert (direction.norm, direction.alignment, direction.rounds) == (0.0, -1.0, 1)


@pytest.mark.parametrize("name", SETS)
def test_at_the_vertex_itself_the_run_stays_there(name):
    constraint = SETS[name](N)
    A = np.eye(N)
    start = constraint.lmo(np.arange(N) - 7.5).dense()
    objective = bsfw.LeastSquares(A, 10 * start)  # beyond the vertex, which is therefore the solution
    runs = both_runs(objective, constraint, bsfw.FullGradient(), iterations=5, x0=start)
    assert_same_run(runs, tolerance=1e-12)
    np.testing.assert_allclose(runs[1][0].x, start, atol=1e-12)


@pytest.mark.parametrize("name", BOTH)
def test_budgets_and_gaps_end_compiled_runs_like_the_reference(name, classification):
    A, y = classification
    objective, constraint = bsfw.Logistic(A, y), SETS[name](A.shape[1])
    for options in ({"max_gradients": 400}, {"max_lmo_calls": 60}, {"gap_tol": 5e-2}):
        results = []
        for engine in ("reference", "compiled"):
            limits = bsfw.Limits(max_iter=3000, **options)
            estimator = bsfw.FullGradient() if "gap_tol" in options else bsfw.SAGA(batch_size=6)
            solver = bsfw.Solver(objective, constraint, estimator, engine=engine)
            results.append(solver.run(solver.init(rng=2), limits, bsfw.Schedule(record_every=1000)))
        one, other = results
        assert (one.status, one.nit, one.lmo_calls) == (other.status, other.nit, other.lmo_calls)
        assert one.sample_gradients == other.sample_gradients
        np.testing.assert_allclose(one.x, other.x, atol=1e-5)  # rounding grows along a run


@pytest.mark.parametrize("name", BOTH)
def test_recording_does_not_change_a_run(name):
    objective, constraint = logistic(), SETS[name](N)
    for estimator in (bsfw.SAGA(batch_size=6), bsfw.SAG(batch_size=6), bsfw.JAGUAR()):
        runs = [
            bsfw.minimize(objective, constraint, estimator=estimator, max_iter=200, record_every=every, rng=1)
            for every in (1, 7, 200)
        ]
        for run in runs[1:]:
            np.testing.assert_array_equal(run.x, runs[0].x)
            assert run.lmo_calls == runs[0].lmo_calls


class Interrupted(Exception):
    pass


def interrupt(intermediate_result):
    if intermediate_result.nit == 32:
        raise Interrupted


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_run_that_was_cut_off_ends_in_the_same_bits(name, estimator, tmp_path):
    objective, constraint, path = logistic(), SETS[name](N), tmp_path / "run.npz"
    options = dict(method="boosted", estimator=estimator, max_iter=60, record_every=4, rng=5)
    whole = bsfw.minimize(objective, constraint, **options)
    with pytest.raises(Interrupted):
        bsfw.minimize(objective, constraint, checkpoint=path, every=7, callback=interrupt, **options)
    resumed = bsfw.resume(path, logistic(), SETS[name](N))
    np.testing.assert_array_equal(resumed.x, whole.x)
    assert (resumed.fun, resumed.lmo_calls, resumed.nit) == (whole.fun, whole.lmo_calls, 60)


def with_field(record, name, value):
    changed = record.copy()
    changed[name] = value
    return changed


def with_entry(position, value):
    return lambda array: np.where(np.arange(array.size) == position % array.size, value, array)


DAMAGES = {
    "a shorter vertex": ("vertex", lambda vertex: vertex[:-1]),
    "a vertex beyond the slots": ("vertex", with_entry(-1, 1.0)),
    "no vertex": ("vertex", None),
    "a group that is none": ("touched", with_entry(0, 10**6)),
    "a negative group": ("touched", with_entry(-1, -1)),
    "a group twice": ("touched", lambda touched: 0 * touched + touched[0]),
    "another group": ("touched", lambda touched: (touched + 1) % 7),
    "half a group": ("record", lambda record: with_field(record, "count", record["count"] - 1)),
    "coordinates in another order": ("coordinates", lambda c: np.concatenate([c[:1], c[2:3], c[1:2], c[3:]])),
    "a coordinate beyond x": ("coordinates", lambda coordinates: coordinates + 10**6),
}


OF_GROUPS = {damage for damage, (array, _) in DAMAGES.items() if array == "touched"}
OF_GROUPS |= {"half a group", "coordinates in another order"}


@pytest.mark.parametrize(
    ("name", "damage"),
    [(name, damage) for name in BOTH for damage in DAMAGES if name == "scattered" or damage not in OF_GROUPS],
)
def test_arrays_that_do_not_fit_are_refused_before_compiled_code_sees_them(name, damage, tmp_path):
    array_name, change = DAMAGES[damage]
    objective, constraint, path = logistic(), SETS[name](N), tmp_path / "run.npz"
    bsfw.minimize(objective, constraint, estimator=bsfw.SAGA(batch_size=2), max_iter=10, checkpoint=path, rng=0)
    with np.load(path) as file:
        contents = {name: file[name] for name in file.files}
    array = contents.pop(f"memory.{array_name}")
    if change is not None:
        contents[f"memory.{array_name}"] = change(array)
    np.savez(path, **contents)
    with pytest.raises(ValueError, match="start the run anew"):
        bsfw.resume(path, objective, constraint, max_iter=20)


@pytest.fixture(scope="module")
def wide():
    objective = logistic(m=4_000, n=30_000)
    _ = objective.columns  # the CSC form of the data is data, made once and kept
    return objective


WIDE_SETS = {
    "k-sparse": bsfw.KSparse(5, 4.0),
    "fives": bsfw.GroupBall([np.arange(i, i + 5) for i in range(0, 30_000, 5)], 20.0),
    "single": bsfw.GroupBall([[j] for j in range(30_000)], 20.0),
}


@pytest.mark.parametrize("name", WIDE_SETS)
@pytest.mark.parametrize(
    "estimator",
    [dataclasses.replace(e, batch_size=1000) if hasattr(e, "batch_size") else e for e in ESTIMATORS],
    ids=repr,
)
def test_own_arrays_stay_below_three_vectors_of_n_and_three_of_m(wide, name, estimator):
    constraint = WIDE_SETS[name]
    bsfw.minimize(wide, constraint, estimator=estimator, max_iter=3)  # compile first
    solver = bsfw.Solver(wide, constraint, estimator, horizon=100)
    state = solver.init(rng=0)
    tracemalloc.start()
    engine = solver.engine(state)
    engine.forward(state, 50, bsfw.Limits(max_iter=50))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert engine.name == "compiled"
    allowed = 8 * (3 * 30_000 + 3 * 4_000)
    assert sum(array.nbytes for array in state.memory.values()) <= allowed
    assert peak <= allowed + 200_000  # and nothing of size n came and went on the way


@pytest.mark.parametrize("name", ["k-sparse", "fives"])
def test_iterations_run_without_python_in_between(wide, name, monkeypatch):
    calls, call = [], CompiledEngine._call
    monkeypatch.setattr(CompiledEngine, "_call", lambda *arguments: (calls.append(1), call(*arguments))[1])
    bsfw.minimize(wide, WIDE_SETS[name], estimator=bsfw.SAGA(50), max_iter=5_000, record_every=5_000, rng=0)
    assert len(calls) < 250  # chunks double until one takes about 50 ms


@pytest.mark.parametrize("constraint", [bsfw.KSparse(2, 2.0), bsfw.GroupBall([[0, 2], [1], [3, 4, 5]], 5.0)], ids=BOTH)
def test_feasible_after_a_million_compiled_iterations(constraint):
    rng = np.random.default_rng(7)
    A, y = rng.standard_normal((30, 6)), np.where(rng.random(30) > 0.5, 1.0, -1.0)
    result = bsfw.minimize(
        bsfw.Logistic(A, y), constraint, estimator=bsfw.SAGA(batch_size=3), max_iter=1_000_000, rng=0,
        record_every=1_000_000, max_rounds=20,
    )  # fmt: skip
    assert constraint.violation(result.x) <= 1e-9
    assert result.nit == 1_000_000
