"""What has compiled code, what a user's own parts get, and when compilation happens."""

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from engine_runs import assert_same_run, both_runs, engine_of

import bsfw
from bsfw.steps import PaperStep


@numba.njit
def pseudo_huber(z, y):
    return np.sqrt(1.0 + (z - y) ** 2) - 1.0


@numba.njit
def pseudo_huber_prime(z, y):
    return (z - y) / np.sqrt(1.0 + (z - y) ** 2)


class PseudoHuber(bsfw.LinearModel):
    quasar_rho = 1.0
    _curvature = 1.0

    def _phi(self, z, y):
        return np.sqrt(1.0 + np.square(z - y)) - 1.0

    def _phi_prime(self, z, y):
        return (z - y) / np.sqrt(1.0 + np.square(z - y))


class CompiledPseudoHuber(PseudoHuber):
    def compiled_loss(self):
        return pseudo_huber, pseudo_huber_prime


def data():
    rng = np.random.default_rng(2)
    return sp.random(70, 40, density=0.2, random_state=2, format="csr"), rng.standard_normal(70)


@pytest.mark.parametrize("estimator", [bsfw.SAGA(batch_size=9), bsfw.ZOJA(step=1e-4)], ids=lambda e: e.name)
def test_a_loss_of_ones_own_runs_compiled(estimator):
    runs = both_runs(CompiledPseudoHuber(*data()), bsfw.L1Ball(3.0), estimator)
    assert engine_of(runs[1][0]).name == "compiled"
    assert_same_run(runs, tolerance=1e-9)


def test_a_loss_of_ones_own_searches_lines():
    result = bsfw.minimize(CompiledPseudoHuber(*data()), bsfw.L1Ball(3.0), step="line-search", gap_tol=1e-3)
    assert result.success


@dataclass(frozen=True)
class OwnEstimator(bsfw.SAGA):
    name: ClassVar[str] = "saga"


@dataclass(frozen=True)
class OwnStep(PaperStep):
    name: ClassVar[str] = "paper"


class OwnBall(bsfw.L1Ball):
    pass


@pytest.mark.parametrize(
    ("objective", "constraint", "estimator", "step"),
    [
        (PseudoHuber(*data()), bsfw.L1Ball(3.0), bsfw.SAGA(9), PaperStep()),
        (bsfw.LeastSquares(*data()), OwnBall(3.0), bsfw.SAGA(9), PaperStep()),
        (bsfw.LeastSquares(*data()), bsfw.L1Ball(3.0), OwnEstimator(9), PaperStep()),
        (bsfw.LeastSquares(*data()), bsfw.L1Ball(3.0), bsfw.SAGA(9), OwnStep()),
    ],
    ids=["loss", "set", "estimator", "step"],
)
def test_parts_of_ones_own_run_on_the_reference(objective, constraint, estimator, step):
    """Even if their names are those of bsfw's."""
    solver = bsfw.Solver(objective, constraint, estimator, step=step)
    assert solver.engine(solver.init(rng=0)).name == "reference"
    with pytest.raises(ValueError, match="compiled engine is not available"):
        bsfw.Solver(objective, constraint, estimator, step=step, engine="compiled")


def test_compilation_is_announced_and_not_on_the_clock(tmp_path):
    """In a process of its own with an empty cache; a second one finds it full."""
    code = (
        "import time, numpy as np, bsfw\n"
        "f = bsfw.LeastSquares(np.eye(4), np.arange(4.0))\n"
        "solver = bsfw.Solver(f, bsfw.L1Ball(2.0), engine='compiled')\n"
        "state = solver.init(rng=0)\n"
        "engine, said = solver.engine(state), []\n"
        "started = time.perf_counter()\n"
        "engine.prepare(lambda: said.append(1))\n"
        "took = time.perf_counter() - started\n"
        "engine.forward(state, 20, bsfw.Limits(max_iter=20))\n"
        "print(len(said), took > 5 * state.seconds, state.iteration)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    first, second = (process.stdout.split() for process in found)
    assert first == ["1", "True", "20"]
    assert (second[0], second[2]) == ("0", "20")


def test_counters_beyond_two_to_the_31_are_kept():
    objective, many = bsfw.LeastSquares(*data()), 2**40
    solver = bsfw.Solver(objective, bsfw.L1Ball(3.0), bsfw.SAGA(9))
    state = solver.init(rng=0)
    state.lmo_calls = state.counts.sample_gradients = many
    solver.step(state)
    assert state.lmo_calls > many
    assert state.counts.sample_gradients == many + 70
