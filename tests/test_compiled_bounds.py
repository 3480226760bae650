"""Boost by kept bounds of |m| instead of a sweep: on wide data, where an iteration writes little into m."""

import numpy as np
import pytest
import scipy.sparse as sp
from engine_runs import assert_same_run, both_runs
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.compiled import estimates, layout
from bsfw.compiled.onehot import BLOCK, RUN


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
    assert kept.rule.bounded
    swept.rule = swept.rule._replace(bounded=False)
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
                estimates.write(engine.rule, engine._work(), j, value)
        rounds = [engine.boost_again() for engine in engines]
        assert rounds[0] == rounds[1]
        whole, real = ([engine.memory[name] for engine in engines] for name in ("whole", "real"))
        for position in (layout.COUNT, layout.ACCEPTED, layout.VERTEX, layout.VERTEX_SLOT):
            assert whole[0][position] == whole[1][position]
        for position in (layout.VALUE, layout.GAP, layout.LAMBDA, layout.ALIGNMENT, layout.NORM, layout.SLOPE):
            assert real[0][position] == pytest.approx(real[1][position], rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(kept.memory["q"], swept.memory["q"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("estimator", [bsfw.SEGA(), bsfw.JAGUAR(point="current"), bsfw.ZOJA(step=1e-4)], ids=repr)
def test_coordinate_runs_on_wide_data_equal_the_reference(estimator):
    rng = np.random.default_rng(3)
    A = sp.random(60, 800, density=0.05, random_state=6, format="csr")
    for data in (A, A.toarray()):
        objective = bsfw.Logistic(data, np.where(rng.random(60) > 0.5, 1.0, -1.0))
        runs = both_runs(objective, bsfw.L1Ball(5.0), estimator, iterations=100)
        assert runs[1][0].engine.rule.bounded
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
    assert runs[1][0].engine.rule.bounded
    assert_same_run(runs, tolerance=1e-8)

    solver = bsfw.Solver(objective, bsfw.L1Ball(20.0), kind(batch_size=8))
    state = solver.init(rng=1)
    engine = solver.engine(state)
    kept = 0
    for _ in range(100):
        direction = engine.look(state)
        work = engine._work()
        if work.whole[layout.BOUNDED]:
            kept += 1
            free = np.where(work.slots == 0, np.abs(work.g), 0.0)
            blocks = np.maximum.reduceat(free, np.arange(0, n, 256))
            assert (blocks <= np.maximum(work.blocks.view(np.float64), work.real[layout.FLOOR])).all()
            assert work.real[layout.SQUARES] == pytest.approx(work.g @ work.g, rel=1e-10)
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
        assert engine.rule.bounded
        for t in range(60):
            engine.advance(state, engine.look(state))
            work = engine._work()
            if close and t == 30:  # the same m, by a scale that is about to be too small
                work.g[:] *= work.real[layout.SCALE] / 1e-98
                work.real[layout.SCALE] = 1e-98
                work.real[layout.SQUARES], work.whole[layout.BOUNDED] = -np.inf, 0
        assert (work.real[layout.SCALE] < 1e-12) == (not close)  # it was multiplied into g
        assert work.real[layout.SQUARES] == pytest.approx(work.g @ work.g, rel=1e-10)
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
