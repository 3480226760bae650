"""The free intercept in compiled runs: those of the reference engine, and resumed to the same bits."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from engine_runs import ESTIMATORS, assert_same_run, both_runs, engine_of

import bsfw


def problem(form="sparse", loss=bsfw.Logistic, n=40):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((70, n)) * (rng.random((70, n)) < 0.3)
    y = np.where(A @ rng.standard_normal(n) + 1.5 + rng.standard_normal(70) > 0, 1.0, -1.0)
    return loss(sp.csr_array(A) if form == "sparse" else A, y, intercept=True, sample_weight=rng.uniform(0.5, 2.0, 70))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_runs_equal_the_reference_for_every_estimator(estimator, form):
    runs = both_runs(problem(form), bsfw.L1Ball(5.0), estimator)
    assert_same_run(runs, tolerance=1e-9)
    (state, _), (compiled, _) = runs
    assert engine_of(compiled).record["offset"] == pytest.approx(float(engine_of(state).f.offset), abs=1e-9)
    assert abs(engine_of(compiled).record["offset"]) > 0.1  # it matters


@pytest.mark.parametrize("step", ["short", "line-search"])
def test_steps_that_ask_for_values_see_the_intercept(step):
    runs = both_runs(problem(), bsfw.L1Ball(5.0), bsfw.FullGradient(), iterations=15, step=step)
    assert_same_run(runs, tolerance=1e-8)


@pytest.mark.parametrize("kind", [bsfw.LSVRG, bsfw.SARAH], ids=lambda kind: kind.name)
def test_margins_that_follow_x_leave_it_out(kind):
    runs = both_runs(problem(), bsfw.L1Ball(5.0), kind(batch_size=9), step="image")
    assert runs[1][0].memory["margins"].size > 0
    assert_same_run(runs, tolerance=1e-9)


def test_other_losses_have_one():
    objective = problem(loss=bsfw.LeastSquares)
    assert_same_run(both_runs(objective, bsfw.L1Ball(5.0), bsfw.SAGA(batch_size=9)), tolerance=1e-9)


def fail_late(result):
    if result.nit >= 50:
        raise RuntimeError


@pytest.mark.parametrize("estimator", [bsfw.SAGA(9), bsfw.SARAH(9), bsfw.JAGUAR(), bsfw.FullGradient()], ids=repr)
def test_a_resumed_run_ends_in_the_same_bits(estimator, tmp_path: Path):
    """Saved between two fits of the intercept, which a run on nine of seventy samples makes each eighth iteration."""
    ball, path = bsfw.L1Ball(5.0), tmp_path / "run.npz"
    options = dict(estimator=estimator, rng=0, method="boosted", record_every=25, gap_tol=1e-30, max_iter=80)
    whole = bsfw.minimize(problem(), ball, **options)
    with pytest.raises(RuntimeError):
        bsfw.minimize(problem(), ball, checkpoint=path, every=43, callback=fail_late, **options)
    with np.load(path) as saved:
        assert saved["memory.record"]["iteration"] == 43  # it was a compiled run
    again = bsfw.resume(path, problem(), ball)
    np.testing.assert_array_equal(again.x, whole.x)
    assert again.intercept == whole.intercept
