"""Boost by kept bounds of |m| instead of a sweep: on wide data, where an iteration writes little into m."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from engine_runs import assert_same_run, both_runs, engine_of
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.kernels.estimators import coordinates
from bsfw.kernels.onehot import BLOCK, RUN
from bsfw.kernels.rounds import boost


@numba.njit
def write(record, support, g, bounds, j, value):
    coordinates.write(record, support, g, bounds, j, value)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), writes=st.integers(1, 5), n=st.sampled_from([700, 2 * RUN * BLOCK + 700]))
def test_boost_by_kept_bounds_equals_boost_by_a_sweep(seed, writes, n):
    rng = np.random.default_rng(seed)
    objective = bsfw.Logistic(
        sp.random(30, n, density=35 / n, random_state=4, format="csr"), np.sign(rng.random(30) - 0.5)
    )
    solver = bsfw.Solver(objective, bsfw.L1Ball(2.0), bsfw.JAGUAR())
    states = [solver.init(rng=0), solver.init(rng=0)]
    kept, swept = engines = [solver.engine(state) for state in states]
    assert kept.choices.bounded
    swept.choices.bounded = False
    for engine, state in zip(engines, states, strict=True):
        engine.look(state)
    for k in range(40):
        if k == 20:  # the blocks are gone, ||m||^2 is not
            for engine, state in zip(engines, states, strict=True):
                engine.publish(state)
        # Few values, so that there are ties; and one that comes and goes, so that ||m||^2 loses its digits.
        values = [(j, float(rng.integers(-3, 4))) for j in rng.integers(n, size=writes)]
        for j, value in [*values, (5, 1e9 if k % 5 == 0 else 0.5)]:
            for engine in engines:
                work = engine.work()
                write(work.record, work.support, work.estimate.g, work.bounds, j, value)
        for engine in engines:
            work = engine.work()
            parts = work.record, work.support, work.estimate.g, work.bounds, work.rounds
            boost(engine.set, engine.boost_rule, *parts)
        for name in ("count", "rounds", "accepted"):
            assert kept.record[name] == swept.record[name]
        for name in ("gap", "total", "alignment", "norm", "slope"):
            assert kept.record[name] == pytest.approx(swept.record[name], rel=1e-9, abs=1e-12)
        np.testing.assert_array_equal(kept.memory["vertex"], swept.memory["vertex"])
        np.testing.assert_allclose(kept.memory["q"], swept.memory["q"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("estimator", [bsfw.SEGA(), bsfw.JAGUAR(point="current"), bsfw.ZOJA(step=1e-4)], ids=repr)
def test_coordinate_runs_on_wide_data_equal_the_reference(estimator):
    rng = np.random.default_rng(3)
    A = sp.random(60, 800, density=0.05, random_state=6, format="csr")
    for data in (A, A.toarray()):
        objective = bsfw.Logistic(data, np.where(rng.random(60) > 0.5, 1.0, -1.0))
        runs = both_runs(objective, bsfw.L1Ball(5.0), estimator, iterations=100)
        assert engine_of(runs[1][0]).choices.bounded
        assert_same_run(runs, tolerance=1e-8)


def test_recording_does_not_change_a_run_with_kept_bounds():
    rng = np.random.default_rng(3)
    objective = bsfw.Logistic(
        sp.random(60, 800, density=0.05, random_state=6, format="csr"), np.sign(rng.random(60) - 0.5)
    )
    runs = [
        bsfw.minimize(objective, bsfw.L1Ball(5.0), estimator=bsfw.JAGUAR(), max_iter=200, record_every=every, rng=1)
        for every in (1, 7, 200)
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.x, runs[0].x)
        assert run.lmo_calls == runs[0].lmo_calls


@pytest.mark.parametrize("kind", [bsfw.SAG, bsfw.SAGA, bsfw.LSVRG, bsfw.SARAH, bsfw.HeavyBall], ids=lambda k: k.name)
def test_batch_runs_on_wide_data_keep_bounds_and_equal_the_reference(kind):
    rng = np.random.default_rng(3)
    m, n = 400, 6_000
    objective = bsfw.Logistic(
        sp.random(m, n, density=20 / n, random_state=6, format="csr"), np.where(rng.random(m) > 0.5, 1.0, -1.0)
    )
    runs = both_runs(objective, bsfw.L1Ball(20.0), kind(batch_size=8), iterations=150)
    assert engine_of(runs[1][0]).choices.bounded
    assert_same_run(runs, tolerance=1e-8)

    solver = bsfw.Solver(objective, bsfw.L1Ball(20.0), kind(batch_size=8))
    state = solver.init(rng=1)
    engine = solver.engine(state)
    kept = 0
    for _ in range(100):
        direction = engine.look(state)
        work = engine.work()
        if engine.record["bounded"]:
            kept += 1
            free = np.where(work.support.slots == 0, np.abs(work.estimate.g), 0.0)
            blocks = np.maximum.reduceat(free, np.arange(0, n, 256))
            assert (blocks <= np.maximum(work.bounds.blocks.view(np.float64), engine.record["floor"])).all()
            assert engine.record["squares"] == pytest.approx(work.estimate.g @ work.estimate.g, rel=1e-10)
        engine.advance(state, direction)
    assert kept > 90


def test_bounds_survive_that_the_decay_of_heavy_ball_is_multiplied_into_m():
    rng = np.random.default_rng(3)
    objective = bsfw.Logistic(
        sp.random(400, 6_000, density=20 / 6_000, random_state=6, format="csr"), np.sign(rng.random(400) - 0.5)
    )
    ends = []
    for close in (False, True):
        solver = bsfw.Solver(objective, bsfw.L1Ball(20.0), bsfw.HeavyBall(batch_size=8))
        state = solver.init(rng=1)
        engine = solver.engine(state)
        assert engine.choices.bounded
        for t in range(60):
            engine.advance(state, engine.look(state))
            g, r = engine.memory["g"], engine.record
            if close and t == 30:  # the same m, by a scale that is about to be too small
                g *= r["scale"] / 1e-98
                r["scale"] = 1e-98
                r["squares"], r["bounded"] = -np.inf, 0
        assert (r["scale"] < 1e-12) == (not close)  # it was multiplied into g
        assert r["squares"] == pytest.approx(g @ g, rel=1e-10)
        engine.publish(state)
        ends.append(state)
    np.testing.assert_allclose(ends[1].x, ends[0].x, atol=1e-10)
    assert ends[1].lmo_calls == ends[0].lmo_calls


@pytest.mark.parametrize("kind", [bsfw.SAGA, bsfw.SARAH, bsfw.HeavyBall], ids=lambda k: k.name)
def test_recording_does_not_change_a_run_by_batches_with_kept_bounds(kind):
    rng = np.random.default_rng(3)
    objective = bsfw.Logistic(
        sp.random(200, 4_000, density=0.004, random_state=6, format="csr"), np.sign(rng.random(200) - 0.5)
    )
    runs = [
        bsfw.minimize(objective, bsfw.L1Ball(5.0), estimator=kind(5), max_iter=200, record_every=every, rng=1)
        for every in (1, 7, 200)
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.x, runs[0].x)
        assert run.lmo_calls == runs[0].lmo_calls
