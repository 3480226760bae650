"""Compiled losses and lines against those of the objectives, and the exponential that they are made of."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.engines.compiled.lines import BLOCK, CompiledLine
from bsfw.engines.compiled.parts import LOSSES, loss_of
from bsfw.kernels import losses
from bsfw.objectives.base import Counts
from bsfw.objectives.linear_model import LinearLine


@numba.njit
def exp_of_negative(v):
    return losses.exp_of_negative(v)


@numba.njit
def slopes(loss, margins, labels):
    losses.slopes(loss, margins, labels)


@numba.njit
def phi(loss, z, y):
    return losses.phi(loss, z, y)


@given(st.lists(st.floats(max_value=0.0, min_value=-708.0), min_size=1, max_size=64))
@settings(deadline=None, max_examples=200)
def test_the_compiled_exponential_is_right_to_the_last_bits(numbers):
    found = [exp_of_negative(v) for v in numbers]
    np.testing.assert_allclose(found, np.exp(numbers), rtol=5e-16)


def test_the_compiled_exponential_at_the_ends():
    assert exp_of_negative(0.0) == exp_of_negative(-0.0) == 1.0
    assert 0.0 < exp_of_negative(-math.inf) < 1e-300
    assert 0.0 < exp_of_negative(-1e300) < 1e-300
    assert math.isnan(exp_of_negative(math.nan))
    assert np.all(np.diff([exp_of_negative(v) for v in np.linspace(-40.0, 0.0, 4001)]) > 0.0)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda kind: kind.__name__)
def test_slopes_of_many_samples_at_once_are_those_of_the_objective(loss):
    rng = np.random.default_rng(8)
    z = np.concatenate([30 * rng.standard_normal(30), [0.0, 800.0]])
    y = np.where(rng.random(32) > 0.5, 1.0, -1.0) if loss is bsfw.Logistic else rng.random(32)
    parameters = {bsfw.Huber: 1.5, bsfw.Tukey: 20.0}
    objective = loss(np.eye(32), y, *([parameters[loss]] if loss in parameters else []))
    found = z.copy()
    slopes(loss_of(objective), found, y)
    np.testing.assert_allclose(found, objective._phi_prime(z, y), rtol=1e-14, atol=1e-300)
    found = [phi(loss_of(objective), *pair) for pair in zip(z, y, strict=True)]
    np.testing.assert_allclose(found, objective._phi(z, y), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("m", [1, BLOCK, 2 * BLOCK + 37])
def test_derivatives_along_a_line_are_those_of_the_objective(loss, m, weighted):
    rng = np.random.default_rng(9)
    y = np.where(rng.random(m) > 0.5, 1.0, -1.0) if loss is bsfw.Logistic else rng.random(m)
    objective = loss(rng.standard_normal((m, 3)), y, sample_weight=rng.random(m) + 0.1 if weighted else None)
    solver = bsfw.Solver(objective, bsfw.L1Ball(1.0), step="line-search", engine="compiled")
    z, dz = rng.standard_normal((2, m))
    line, expected = CompiledLine(objective, solver.engine(solver.init()).model, z, dz), LinearLine(objective, z, dz)
    for gamma in (0.0, 0.3, 1.0):
        assert line.derivative(gamma) == pytest.approx(expected.derivative(gamma), rel=1e-11, abs=1e-14)
    counts = Counts()
    with objective.counting(counts):
        line.derivative(0.5)
    assert (counts.sample_gradients, counts.full_gradients) == (m, 1)
