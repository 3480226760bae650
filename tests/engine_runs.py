"""The same run by the reference and by compiled code, and whether the two agree."""

from weakref import WeakKeyDictionary

import numpy as np
import pytest

import bsfw

ESTIMATORS = [
    bsfw.FullGradient(),
    bsfw.SAG(batch_size=9),
    bsfw.SAG(batch_size=9, table="zeros"),
    bsfw.SAGA(batch_size=9),
    bsfw.LSVRG(batch_size=9),
    bsfw.SARAH(batch_size=9),
    bsfw.HeavyBall(batch_size=9),
    bsfw.SEGA(coordinates=2),
    bsfw.JAGUAR(),
    bsfw.JAGUAR(coordinates=3, point="current"),
    bsfw.ZOJA(step=1e-4),
]


def both_runs(objective, constraint, estimator, iterations=50, x0=None, **options):
    states = []
    for engine in ("reference", "compiled"):
        solver = bsfw.Solver(objective, constraint, estimator, horizon=100, engine=engine, **options)
        state = solver.init(x0=x0, rng=11)
        history = []
        for _ in range(iterations):
            move = solver.step(state)
            history.append((state.x.copy(), state.m.copy(), state.lmo_calls, move.gamma))
        _ENGINES[state] = solver.engine(state)
        states.append((state, history))
    return states


_ENGINES = WeakKeyDictionary()


def engine_of(state):
    """The engine that `both_runs` left off with."""
    return _ENGINES[state]


def assert_same_run(runs, tolerance):
    (one, expected), (other, found) = runs
    for t, ((x, m, calls, gamma), (x2, m2, calls2, gamma2)) in enumerate(zip(expected, found, strict=True)):
        np.testing.assert_allclose(x2, x, atol=tolerance, err_msg=f"x at {t}")
        np.testing.assert_allclose(m2, m, atol=tolerance, err_msg=f"m at {t}")
        assert gamma2 == pytest.approx(gamma, abs=100 * tolerance)
        assert calls == calls2
    assert one.counts == other.counts
    # At eta = 1 and d~ = s - x the step reverts if the quotient of their lengths is one, not the next number below it.
    assert abs(one.boosted_steps - other.boosted_steps) <= 1
    assert one.rng.bit_generator.state == other.rng.bit_generator.state
