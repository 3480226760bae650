"""Slopes without rows: lists of the support, and the margins that follow x once the lists are full."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from engine_runs import assert_same_run, both_runs, engine_of
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.engines.compiled import arrays as arrays_module
from bsfw.engines.compiled import engine as engine_module
from bsfw.kernels import lists

ALL = [bsfw.SAG, bsfw.SAGA, bsfw.LSVRG, bsfw.SARAH, bsfw.HeavyBall]
KINDS = pytest.mark.parametrize("kind", ALL, ids=lambda k: k.name)


@numba.njit
def list_support(model, record, support, entered):
    return lists.list_support(model, record, support, entered)


@numba.njit
def listed_margins(model, support, entered, samples, batch, other):
    lists.listed_margins(model, support, entered, samples, batch, other)


def classification(m, n, per_row, **options):
    rng = np.random.default_rng(5)
    A = sp.random(m, n, density=per_row / n, random_state=4, format="csr", **options)
    return bsfw.Logistic(A, np.where(A @ rng.standard_normal(n) > 0, 1.0, -1.0))


def quarter(n):
    """A point of the unit ball with a quarter of the coordinates in its support."""
    x = np.zeros(n)
    x[::4] = 4.0 / n
    return x


def lists_hold_the_support(state):
    engine, work = engine_of(state), engine_of(state).work()
    return work.lists.links.size > 0 and list_support(engine.model, work.record, work.support, work.lists)


def margins_of(state):
    return engine_of(state).record["margin_scale"] * state.memory["margins"]


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.sampled_from([1, 7, 60]),
    n=st.sampled_from([1, 5, 40]),
    density=st.sampled_from([0.0, 0.1, 1.0]),
    wide=st.booleans(),
)
def test_margins_by_lists_are_those_of_the_rows(seed, m, n, density, wide):
    rng = np.random.default_rng(seed)
    A = sp.csr_array(np.where(rng.random((m, n)) < density, rng.standard_normal((m, n)), 0.0))
    objective = bsfw.Logistic(A.astype(np.float64 if wide else np.float32), np.where(rng.random(m) < 0.5, 1.0, -1.0))
    _ = objective.columns
    solver = bsfw.Solver(objective, bsfw.L1Ball(1.0), bsfw.SARAH(batch_size=max(1, m // 2)), horizon=10)
    state = solver.init(np.zeros(n), rng=0)
    engine = solver.engine(state)
    work, count = engine.work(), int(rng.integers(1, n + 1))
    csc, room = objective.columns, A.nnz // lists.BLOCK + 2 * n + 2
    chosen = rng.permutation(n)[:count]
    x, other = rng.standard_normal((2, count))
    support = work.support._replace(coordinates=np.concatenate([[0], chosen]), x=np.append(0.0, x))
    entered = work.lists._replace(
        heads=np.zeros(m, np.uint32), links=np.zeros(room * lists.BLOCK, np.uint32), owners=np.zeros(room, np.uint32),
        shifts=np.zeros(room, np.uint64),
    )  # fmt: skip
    model = engine.model._replace(columns=csc.data, column_indices=csc.indices, column_indptr=csc.indptr)
    for number in sorted({1, count}):  # the second time only those that are new
        work.record["count"] = number
        assert list_support(model, work.record, support, entered)
    samples = rng.permutation(m)[: work.estimate.batch.size].astype(np.uint32)
    listed_margins(model, support, entered, samples, work.batch, np.append(0.0, other))
    rows = objective.A.toarray()[np.ix_(samples, chosen)]
    np.testing.assert_allclose(work.batch.margins[: samples.size], rows @ x, atol=1e-12)
    np.testing.assert_allclose(work.batch.others[: samples.size], rows @ other, atol=1e-12)


def test_a_column_without_room_is_refused_and_the_lists_stay_as_they_were():
    objective = classification(600, 900, 20)
    solver = bsfw.Solver(objective, bsfw.L1Ball(1.0), bsfw.SAGA(batch_size=60), horizon=100)
    state = solver.init(quarter(900), rng=0)
    engine = solver.engine(state)
    work = engine.work()
    arguments = engine.model, work.record, work.support, work.lists
    assert not list_support(*arguments)
    before = work.lists.heads.copy(), work.lists.listed.copy()
    assert 0 < work.lists.listed[0] < engine.record["count"]
    assert not list_support(*arguments)
    np.testing.assert_array_equal(work.lists.heads, before[0])
    np.testing.assert_array_equal(work.lists.listed, before[1])


@pytest.mark.parametrize(
    ("kind", "dtype"), [*((kind, np.float64) for kind in ALL), (bsfw.SAG, np.float32), (bsfw.SARAH, np.float32)]
)
def test_runs_by_lists_equal_the_reference(kind, dtype):
    objective = classification(600, 3_000, 25, dtype=dtype)
    iterations = 50 if dtype == np.float64 else 5
    runs = both_runs(objective, bsfw.L1Ball(3.0), kind(batch_size=90), iterations, step="paper", max_rounds=3)
    assert lists_hold_the_support(runs[1][0])
    assert runs[1][0].memory["margins"].size == 0
    assert_same_run(runs, tolerance=1e-9 if dtype == np.float64 else 1e-4)


@KINDS
def test_margins_follow_once_the_lists_are_full(kind):
    objective = classification(600, 900, 20)
    for start, begins in ((None, False), (quarter(900), True)):
        runs = both_runs(objective, bsfw.L1Ball(1.0), kind(batch_size=60), 12, x0=start, step="paper", max_rounds=2)
        state, history = runs[1]
        assert (state.memory["margins"].size > 0) is begins
        assert (engine_of(state).work().lists.links.size > 0) is not begins
        assert_same_run(runs, tolerance=1e-10)
        if begins:
            at = int(engine_of(state).record["margins_at"]) - 1
            np.testing.assert_allclose(margins_of(state), objective.margins(history[at][0]), atol=1e-10)


@pytest.mark.parametrize("kind", [bsfw.LSVRG, bsfw.SARAH], ids=lambda k: k.name)
def test_margins_may_begin_with_a_full_pass(kind):
    estimator = kind(batch_size=60, probability=0.9)
    runs = both_runs(
        classification(600, 900, 20), bsfw.L1Ball(1.0), estimator, iterations=8, x0=quarter(900), max_rounds=2
    )  # fmt: skip
    assert runs[1][0].memory["margins"].size > 0
    assert_same_run(runs, tolerance=1e-10)


@KINDS
def test_steps_in_the_image_take_margins_when_the_support_outgrows_its_gram_matrix(kind):
    objective = classification(300, 12_000, 25)
    runs = both_runs(objective, bsfw.L1Ball(30.0), kind(batch_size=60), iterations=40, step="image")
    state, history = runs[1]
    assert engine_of(state).choices.image_room()  # for A vbar
    assert engine_of(state).record["count"] > len(engine_of(state)._gram["matrix"])
    assert_same_run(runs, tolerance=1e-9)
    at = int(engine_of(state).record["margins_at"]) - 1
    np.testing.assert_allclose(margins_of(state), objective.margins(history[at][0]), atol=1e-10)


@KINDS
@pytest.mark.parametrize("start", [None, quarter(900)], ids=["lists", "margins"])
def test_large_batches_are_taken_in_parts(kind, start, monkeypatch):
    monkeypatch.setattr(arrays_module, "MOST_TOGETHER", 17)
    objective = classification(600, 900, 20)
    runs = both_runs(objective, bsfw.L1Ball(1.0), kind(batch_size=60), 20, x0=start, step="paper", max_rounds=2)
    assert engine_of(runs[1][0]).work().batch.margins.size == 17
    assert (runs[1][0].memory["margins"].size > 0) is (start is not None)
    assert_same_run(runs, tolerance=1e-9)


@KINDS
def test_recording_does_not_change_a_run_by_lists(kind):
    objective = classification(600, 3_000, 25)
    found = []
    for every in (1, 7, 40):  # lists are given up at each recording, and formed again
        result = bsfw.minimize(
            objective, bsfw.L1Ball(3.0), estimator=kind(batch_size=90), step="paper", max_iter=40, record_every=every,
            rng=3,
        )  # fmt: skip
        found.append(result.x)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_small_batches_and_dense_data_read_rows():
    for objective, batch in ((classification(600, 900, 20), 1), (bsfw.Logistic(np.eye(40), np.ones(40)), 20)):
        solver = bsfw.Solver(objective, bsfw.L1Ball(1.0), bsfw.SAGA(batch_size=batch), horizon=100)
        state = solver.init(rng=0)
        solver.step(state)
        assert solver.engine(state).work().lists.links.size == 0


def test_an_interrupted_run_by_lists_shows_the_present_x(monkeypatch):
    solver = bsfw.Solver(classification(600, 3_000, 25), bsfw.L1Ball(3.0), bsfw.SAGA(batch_size=90), horizon=100)
    expected, state = solver.init(rng=0), solver.init(rng=0)
    for _ in range(3):
        solver.step(expected)
        solver.step(state)
    engine = solver.engine(state)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine_module.kernels, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.forward(state, 10, bsfw.Limits(max_iter=10))
    np.testing.assert_array_equal(state.x, expected.x)
