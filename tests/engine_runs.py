"""The same run by the reference and by compiled code, and whether the two agree."""

import numpy as np
import pytest

import bsfw


def both_runs(objective, constraint, estimator, iterations=50, x0=None, **options):
    states = []
    for engine in ("reference", "compiled"):
        solver = bsfw.Solver(objective, constraint, estimator, horizon=100, engine=engine, **options)
        state = solver.init(x0=x0, rng=11)
        history = []
        for _ in range(iterations):
            move = solver.step(state)
            history.append((state.x.copy(), state.m.copy(), state.lmo_calls, move.gamma))
        states.append((state, history))
    return states


def assert_same_run(runs, tolerance):
    (one, expected), (other, found) = runs
    for t, ((x, m, calls, gamma), (x2, m2, calls2, gamma2)) in enumerate(zip(expected, found, strict=True)):
        np.testing.assert_allclose(x2, x, atol=tolerance, err_msg=f"x at {t}")
        np.testing.assert_allclose(m2, m, atol=tolerance, err_msg=f"m at {t}")
        assert gamma2 == pytest.approx(gamma, abs=100 * tolerance)
        assert calls == calls2
    assert one.counts == other.counts
    assert one.boosted_steps == other.boosted_steps
    assert one.rng.bit_generator.state == other.rng.bit_generator.state
