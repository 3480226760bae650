"""The corrective method on blocks: the optimum, the gap and the iterations of the data in memory, bits of the cuts."""

from __future__ import annotations

import numpy as np
import pytest

import bsfw
from bsfw.blocks import from_arrays, open_blocks, write
from bsfw.engines.blocks import OFFERS


def logistic(A, rng):
    z = A @ rng.standard_normal(A.shape[1]) + 0.3 * rng.standard_normal(A.shape[0])
    return bsfw.Logistic, np.where(z > 0, 1.0, -1.0)


GROUPS = [list(range(first, first + 5)) for first in range(0, 60, 5)]
SETS = [
    bsfw.L1Ball(6.0), bsfw.L1Ball(6.0, weights=np.linspace(0.5, 2.0, 60)), bsfw.Simplex(3.0),
    bsfw.Simplex(3.0, equality=False), bsfw.GroupBall(GROUPS, 4.0), bsfw.KSparse(5, 1.0), bsfw.Box(-0.3, 0.3),
    bsfw.L2Ball(1.0),
]  # fmt: skip


def compare(f, known, constraint, places=1e-7):
    settings = {"method": "corrective", "gap_tol": 1e-10, "max_iter": 100}
    found, there = bsfw.minimize(f, constraint, **settings), bsfw.minimize(known, constraint, **settings)
    assert found.status is bsfw.Status.GAP_REACHED
    assert found.fun == pytest.approx(there.fun, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(found.x, there.x, atol=places)
    exact = known.gradient(found.x)
    assert float(np.vdot(exact, found.x)) - constraint.lmo(exact).inner(exact) <= 1.1e-10  # by the data in memory
    return found


@pytest.mark.parametrize("constraint", SETS, ids=lambda constraint: type(constraint).__name__)
def test_every_set_has_the_optimum_of_the_data_in_memory(problem, rng, constraint):
    A, _, w = problem
    kind, y = logistic(A, rng)
    intercept = type(constraint) in (bsfw.L1Ball, bsfw.GroupBall)
    f = kind(from_arrays(A, y, rows=90, sample_weight=w), intercept=intercept)
    found = compare(f, kind(A, y, sample_weight=w, intercept=intercept), constraint)
    assert found.engine == ("blocks" if type(constraint) in (bsfw.L1Ball, bsfw.Simplex) else "blocks-hull")


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", [bsfw.LeastSquares, bsfw.Huber, bsfw.Multinomial, bsfw.Tukey])
def test_every_loss_has_the_optimum_of_the_data_in_memory(problem, rng, kind, intercept, dense):
    A, _, w = problem
    z = 0.2 * (A @ rng.standard_normal(60)) + 0.3 * rng.standard_normal(400)
    y, A = np.digitize(z, [-0.2, 0.2]) if kind is bsfw.Multinomial else z, A.toarray() if dense else A
    f = kind(from_arrays(A, y, rows=90, sample_weight=w), intercept=intercept)
    compare(f, kind(A, y, sample_weight=w, intercept=intercept), bsfw.L1Ball(2.0), places=1e-5)


def test_classes_over_groups(problem, rng):
    A, _, _ = problem
    y = np.digitize(A @ rng.standard_normal(60), [-0.5, 0.5])
    f = bsfw.Multinomial(from_arrays(A, y, rows=90), intercept=True)
    groups = [list(range(first, first + 3)) for first in range(0, 180, 3)]
    compare(f, bsfw.Multinomial(A, y, intercept=True), bsfw.GroupBall(groups, 6.0), places=1e-4)


def test_float32_is_read_as_it_is_and_computed_in_float64(problem, rng):
    kind, y = logistic(problem[0], rng)
    A = problem[0].astype(np.float32)
    f, known = kind(from_arrays(A, y, rows=90)), kind(A.astype(np.float64), y)
    assert f.blocks.descriptions[0].dtype == "float32"
    assert compare(f, known, bsfw.L1Ball(6.0)).x.dtype == np.float64


@pytest.mark.parametrize("constraint", [bsfw.L1Ball(6.0), bsfw.GroupBall(GROUPS, 4.0)], ids=["l1", "groups"])
def test_bits_depend_on_the_cuts_only(problem, rng, tmp_path, constraint):
    kind, y = logistic(problem[0], rng)
    write(tmp_path / "train", problem[0], y, rows=30)
    places = [
        from_arrays(problem[0], y, rows=30, threads=1), from_arrays(problem[0], y, rows=30, threads=3),
        open_blocks(tmp_path / "train", threads=1), open_blocks(tmp_path / "train", threads=4, budget=1),
        open_blocks(tmp_path / "train", threads=2, budget=20_000),
    ]  # fmt: skip
    ends = [bsfw.minimize(kind(blocks, intercept=True), constraint, gap_tol=1e-8) for blocks in places]
    assert {(end.x.tobytes(), end.fun, end.intercept) for end in ends} == {
        (ends[0].x.tobytes(), ends[0].fun, ends[0].intercept)
    }
    other = bsfw.minimize(kind(from_arrays(problem[0], y, rows=31), intercept=True), constraint, gap_tol=1e-8)
    assert other.fun == pytest.approx(ends[0].fun, rel=1e-12)


@pytest.mark.parametrize("constraint", [bsfw.L1Ball(6.0), bsfw.KSparse(5, 1.0)], ids=["l1", "k-sparse"])
def test_a_run_goes_on_to_the_same_bits_with_other_threads(problem, rng, tmp_path, constraint):
    kind, y = logistic(problem[0], rng)
    settings = {"method": "corrective", "gap_tol": 1e-10}
    whole = bsfw.minimize(kind(from_arrays(problem[0], y, rows=90), intercept=True), constraint, **settings)
    path = tmp_path / "run.npz"
    blocks = from_arrays(problem[0], y, rows=90, threads=1)
    bsfw.minimize(kind(blocks, intercept=True), constraint, **settings, max_iter=1, checkpoint=path, every=1)
    write(tmp_path / "train", problem[0], y, rows=90)
    there = open_blocks(tmp_path / "train", threads=3, budget=1)
    rest = bsfw.resume(path, kind(there, intercept=True), constraint, max_iter=1000)
    assert (rest.x.tobytes(), rest.fun, rest.nit) == (whole.x.tobytes(), whole.fun, whole.nit)
    with pytest.raises(ValueError, match="another objective"):
        bsfw.resume(path, kind(from_arrays(problem[0], y, rows=91), intercept=True), constraint)


def test_one_round_a_newton_step_and_one_pass_an_iteration(problem, rng):
    kind, y = logistic(problem[0], rng)
    f = kind(from_arrays(problem[0], y, rows=90))
    result = bsfw.minimize(f, bsfw.L1Ball(6.0), gap_tol=1e-10)
    assert result.method == "corrective"
    assert result.passes == result.nit + 1  # the last one gives the certificate
    steps = result.rounds - result.passes
    assert 2 * result.nit <= steps <= 7 * result.nit  # the model at the start, and a round for each of one to six steps


def test_the_progress_line_tells_rounds_and_bytes(problem, rng, capsys):
    kind, y = logistic(problem[0], rng)
    bsfw.minimize(kind(from_arrays(problem[0], y, rows=90)), bsfw.L1Ball(6.0), gap_tol=1e-10, verbose=True)
    assert "passes " in (line := capsys.readouterr().err)
    assert "rounds " in line


def test_the_engines_for_blocks_refuse_other_objectives(problem):
    A, y, _ = problem
    assert [offer.name for offer in OFFERS] == ["blocks", "blocks-hull"]
    for name in ("blocks", "blocks-hull"):
        with pytest.raises(ValueError, match=r"bsfw\.blocks"):
            bsfw.Solver(bsfw.Logistic(A, y), bsfw.L1Ball(5.0), method="corrective", engine=name)
