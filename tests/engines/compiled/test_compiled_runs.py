"""Compiled runs against the reference with the same random draws."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from engine_runs import ESTIMATORS, assert_same_run, both_runs, engine_of

import bsfw

SETS = {
    "l1": lambda n, rng: bsfw.L1Ball(2.0),
    "weighted l1": lambda n, rng: bsfw.L1Ball(2.0, weights=rng.uniform(0.5, 3.0, n)),
    "simplex": lambda n, rng: bsfw.Simplex(1.5),
    "solid simplex": lambda n, rng: bsfw.Simplex(1.5, equality=False),
}


def matrices(rng):
    A = sp.random(70, 40, density=0.2, random_state=2, format="csr")
    A.data += 0.1
    return {
        "csr": A,
        "dense": rng.standard_normal((70, 12)),
        "float32": A.astype(np.float32),
        "few columns": A[:, :5],
    }


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("data", ["csr", "dense", "few columns"])
def test_runs_equal_the_reference_for_every_estimator(estimator, data):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(70) > 0.5, 1.0, -1.0)
    objective = bsfw.Logistic(matrices(rng)[data], y, sample_weight=rng.uniform(0.5, 2.0, 70))
    assert_same_run(both_runs(objective, bsfw.L1Ball(2.0), estimator), tolerance=1e-9)


@pytest.mark.parametrize("estimator", [bsfw.SAG(batch_size=9), bsfw.LSVRG(batch_size=9), bsfw.JAGUAR()], ids=repr)
def test_long_indices_are_taken(estimator):
    rng = np.random.default_rng(0)
    objective = bsfw.Logistic(matrices(rng)["csr"], np.where(rng.random(70) > 0.5, 1.0, -1.0))
    assert objective.A.indices.dtype == np.int32  # data of more than 2^31 entries have others
    objective.A.indices, objective.A.indptr = (
        array.astype(np.int64) for array in (objective.A.indices, objective.A.indptr)
    )
    assert_same_run(both_runs(objective, bsfw.L1Ball(2.0), estimator), tolerance=1e-9)


@pytest.mark.parametrize("kind", [bsfw.SAG, bsfw.SAGA], ids=lambda k: k.name)
@pytest.mark.parametrize("columns", [40, 400])  # SAGA folds its batch in, or takes it out again
def test_sums_formed_anew_are_those_that_were_kept(kind, columns, monkeypatch):
    monkeypatch.setattr("bsfw.estimators.sag.REFRESH_EPOCHS", 1)  # every eighth iteration
    rng = np.random.default_rng(3)
    A = sp.random(70, columns, density=8 / columns, random_state=2, format="csr")
    objective = bsfw.Logistic(A, np.where(rng.random(70) > 0.5, 1.0, -1.0))
    runs = both_runs(objective, bsfw.L1Ball(2.0), kind(batch_size=9), iterations=30)
    assert_same_run(runs, tolerance=1e-10)
    monkeypatch.setattr("bsfw.estimators.sag.REFRESH_EPOCHS", 100)
    assert_same_run([runs[0], both_runs(objective, bsfw.L1Ball(2.0), kind(batch_size=9), 30)[1]], tolerance=1e-10)


@pytest.mark.parametrize("step", [bsfw.ShortStep(), bsfw.LineSearch(), bsfw.LineSearch("backtracking")], ids=repr)
@pytest.mark.parametrize("rounds", [1, 10_000])
@pytest.mark.parametrize("data", ["csr", "dense"])
def test_searched_steps_equal_the_reference(step, rounds, data):
    rng = np.random.default_rng(0)
    objective = bsfw.Logistic(matrices(rng)[data], np.where(rng.random(70) > 0.5, 1.0, -1.0))
    runs = both_runs(objective, bsfw.L1Ball(2.0), bsfw.FullGradient(), iterations=30, step=step, max_rounds=rounds)
    assert engine_of(runs[1][0]).name == "compiled"
    # Rounding may make a root search ask one derivative more.
    assert runs[1][0].counts.full_gradients == pytest.approx(runs[0][0].counts.full_gradients, abs=30)
    runs[1][0].counts = runs[0][0].counts
    assert_same_run(runs, tolerance=1e-9)


@pytest.mark.parametrize("kind", [bsfw.SAGA, bsfw.LSVRG], ids=lambda k: k.name)
def test_wide_data_take_the_batch_out_again_and_narrow_data_fold_it_in(kind):
    rng = np.random.default_rng(9)
    y = np.where(rng.random(70) > 0.5, 1.0, -1.0)
    for n, folds in ((500, False), (40, True)):
        objective = bsfw.Logistic(sp.random(70, n, density=8 / n, random_state=4, format="csr"), y)
        runs = both_runs(objective, bsfw.L1Ball(20.0), kind(batch_size=9))
        assert engine_of(runs[1][0]).choices.folds is folds
        assert_same_run(runs, tolerance=1e-9)


@pytest.mark.parametrize("estimator", [bsfw.SAG(batch_size=9), bsfw.SARAH(batch_size=9)], ids=repr)
def test_single_precision_runs_equal_the_reference_to_their_precision(estimator):
    rng = np.random.default_rng(0)
    objective = bsfw.Logistic(matrices(rng)["float32"], np.where(rng.random(70) > 0.5, 1.0, -1.0))
    runs = both_runs(objective, bsfw.L1Ball(2.0), estimator, iterations=8)
    assert runs[1][0].x.dtype == np.float32
    np.testing.assert_allclose(runs[1][1][-1][0], runs[0][1][-1][0], atol=1e-4)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("rounds", [1, 3, 10_000])
def test_runs_equal_the_reference_on_every_set(name, rounds):
    rng = np.random.default_rng(3)
    A = matrices(rng)["csr"]
    objective = bsfw.LeastSquares(A, rng.standard_normal(70))
    assert_same_run(
        both_runs(objective, SETS[name](40, rng), bsfw.SAGA(batch_size=9), max_rounds=rounds), tolerance=1e-9
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda A, y: bsfw.Logistic(A, np.sign(y)),
        lambda A, y: bsfw.LeastSquares(A, y),
        lambda A, y: bsfw.Huber(A, 3 * y, delta=0.7),
        lambda A, y: bsfw.Tukey(A, 3 * y, c=2.0),
        lambda A, y: bsfw.SigmoidSquared(A, np.abs(np.sin(y))),
        lambda A, y: bsfw.ProbitSquared(A, np.abs(np.sin(y))),
        lambda A, y: bsfw.LeakySquared(A, y, leak=0.3),
    ],
    ids=["logistic", "least squares", "huber", "tukey", "sigmoid", "probit", "leaky"],
)
@pytest.mark.parametrize("estimator", [bsfw.SAGA(batch_size=9), bsfw.ZOJA(step=1e-4)], ids=lambda e: e.name)
def test_runs_equal_the_reference_for_every_loss(make, estimator):
    rng = np.random.default_rng(4)
    objective = make(matrices(rng)["csr"], rng.standard_normal(70))
    assert_same_run(both_runs(objective, bsfw.L1Ball(3.0), estimator), tolerance=1e-8)


@pytest.mark.parametrize("step", ["paper", "image"])
def test_both_of_the_papers_steps(step):
    rng = np.random.default_rng(5)
    for data in ("csr", "few columns", "dense"):
        objective = bsfw.Logistic(matrices(rng)[data], np.where(rng.random(70) > 0.5, 1.0, -1.0))
        assert_same_run(both_runs(objective, bsfw.L1Ball(2.0), bsfw.SAG(batch_size=9), step=step), tolerance=1e-9)


@pytest.mark.parametrize("rounds", [1, None], ids=["vanilla", "boosted"])
def test_the_squared_length_of_the_image_is_kept_even_close_to_a_vertex(rounds):
    """On few columns by their Gram matrix. x halves its distance to a vertex, so that differences cancel."""
    A = np.random.default_rng(6).standard_normal((200, 6))
    objective, start = bsfw.LeastSquares(A, 100 * A[:, 2]), np.array([-0.5, 0.1, 0.0, 0.0, 0.3, 0.1])
    options = dict(x0=start, step="image", decay=lambda t: 0.5, max_rounds=rounds)
    for iterations in (1, 3, 9, 18):
        runs = both_runs(objective, bsfw.L1Ball(1.0), bsfw.SAG(batch_size=50), iterations, **options)
        assert_same_run(runs, tolerance=1e-9)
        state, history = runs[1]
        (x, _, _, gamma), (_, _, _, expected) = history[-1], runs[0][1][-1]
        assert gamma == pytest.approx(expected, rel=1e-6)
        assert state.memory["record"]["image_squares"][0] == pytest.approx(np.sum((A @ x) ** 2), rel=1e-12)
    assert 0.0 < np.linalg.norm(x - np.eye(6)[2]) < 1e-5


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(("radius", "fits"), [(2.0, True), (90.0, False)])
def test_the_gram_matrix_of_the_support_grows_with_it_while_it_has_room(dense, radius, fits):
    rng = np.random.default_rng(8)
    m, n = 3_000, 120  # more rows than are spread at once; room for 27 columns
    A = sp.random(m, n, density=0.05, random_state=4, format="csr")
    y = np.where(A @ rng.standard_normal(n) > 0, 1.0, -1.0)
    objective = bsfw.Logistic(A.toarray() if dense else A, y)
    if not fits:  # L-SVRG and SARAH ask the margins, which begin with the step, once more
        for other in (bsfw.LSVRG(batch_size=200), bsfw.SARAH(batch_size=200)):
            runs = both_runs(objective, bsfw.L1Ball(radius), other, iterations=25, step="image")
            assert runs[1][0].memory["margins"].size > 0
            assert_same_run(runs, tolerance=1e-9)
    runs = both_runs(objective, bsfw.L1Ball(radius), bsfw.SAG(batch_size=200), iterations=40)
    assert_same_run(runs, tolerance=1e-9)
    engine = engine_of(runs[1][0])
    assert not engine.choices.image_room()
    count, formed = int(engine.record["count"]), int(engine._gram["formed"][0])
    assert (formed == count) is fits
    assert formed > 4
    columns = A.toarray()[:, engine.memory["coordinates"][1 : formed + 1]]
    found = engine._gram["matrix"][1 : formed + 1, 1 : formed + 1]
    np.testing.assert_allclose(found, columns.T @ columns, atol=1e-12)


def test_a_run_in_one_go_is_the_run_step_by_step(classification):
    A, y = classification
    objective, ball = bsfw.Logistic(A, y), bsfw.L1Ball(3.0)
    for estimator in (bsfw.SAGA(batch_size=6), bsfw.HeavyBall(batch_size=6), bsfw.JAGUAR()):
        runs = [
            bsfw.minimize(objective, ball, estimator=estimator, max_iter=300, record_every=every, rng=1)
            for every in (1, 7, 300)
        ]
        for run in runs[1:]:
            np.testing.assert_array_equal(run.x, runs[0].x)
            assert run.lmo_calls == runs[0].lmo_calls
            assert run.boosting_percentage == runs[0].boosting_percentage


def test_the_support_grows_beyond_its_first_room():
    rng = np.random.default_rng(6)
    A = rng.standard_normal((50, 400))
    objective = bsfw.LeastSquares(A, 5 * rng.standard_normal(50))
    assert_same_run(both_runs(objective, bsfw.L1Ball(50.0), bsfw.SAGA(batch_size=20), iterations=25), tolerance=1e-8)


def test_budgets_and_gaps_end_compiled_runs_like_the_reference(classification):
    A, y = classification
    objective, ball = bsfw.Logistic(A, y), bsfw.L1Ball(3.0)
    for options in ({"max_gradients": 1500}, {"max_lmo_calls": 333}, {"gap_tol": 1e-2}):
        results = []
        for engine in ("reference", "compiled"):
            limits = bsfw.Limits(max_iter=5000, **options)
            estimator = bsfw.FullGradient() if "gap_tol" in options else bsfw.SAGA(batch_size=6)
            solver = bsfw.Solver(objective, ball, estimator, engine=engine)
            results.append(solver.run(solver.init(rng=2), limits, bsfw.Schedule(record_every=1000)))
        one, other = results
        assert (one.status, one.nit, one.lmo_calls) == (other.status, other.nit, other.lmo_calls)
        assert one.sample_gradients == other.sample_gradients
        np.testing.assert_allclose(one.x, other.x, atol=1e-5)  # rounding grows along a run


def test_feasible_after_a_million_compiled_iterations():
    rng = np.random.default_rng(7)
    A, y = rng.standard_normal((30, 6)), np.where(rng.random(30) > 0.5, 1.0, -1.0)
    for constraint in (bsfw.L1Ball(5.0), bsfw.Simplex(5.0)):
        result = bsfw.minimize(
            bsfw.Logistic(A, y), constraint, estimator=bsfw.SAGA(batch_size=3), max_iter=1_000_000, rng=0,
            record_every=1_000_000, max_rounds=20,
        )  # fmt: skip
        assert constraint.violation(result.x) <= 1e-9
        assert result.nit == 1_000_000


@pytest.mark.parametrize(("population", "size"), [(10, 3), (7, 6), (5, 5)])
def test_batches_are_uniform_without_replacement(population, size):
    from bsfw._sampling import draw

    rng, counts, draws = np.random.default_rng(0), np.zeros(population), 6000
    pairs = np.zeros((population, population))
    for _ in range(draws):
        batch = draw(rng, population, size)
        assert len(set(batch.tolist())) == size
        counts[batch] += 1
        pairs[np.ix_(batch, batch)] += 1
    expected = draws * size / population
    np.testing.assert_allclose(counts, expected, atol=5 * np.sqrt(expected) + 1e-9)
    together = draws * size * (size - 1) / (population * (population - 1))
    off_diagonal = pairs[~np.eye(population, dtype=bool)]
    np.testing.assert_allclose(off_diagonal, together, atol=5 * np.sqrt(together) + 1e-9)


def test_compiled_draws_are_the_reference_draws(monkeypatch):
    from bsfw import _sampling

    for name in ("PCG64", "MT19937", "Philox", "SFC64"):
        for population, size in [(50, 7), (1000, 400), (9, 9)]:
            one, other = (np.random.Generator(getattr(np.random, name)(3)) for _ in range(2))
            for _ in range(5):
                monkeypatch.setattr(_sampling, "_MANY", 10**9)
                expected = _sampling.draw(one, population, size)
                monkeypatch.setattr(_sampling, "_MANY", 1)
                np.testing.assert_array_equal(_sampling.draw(other, population, size), expected)
            assert one.random() == other.random()


def test_without_numba_the_reference_takes_over(classification, monkeypatch):
    A, y = classification
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    solver = bsfw.Solver(bsfw.Logistic(A, y), bsfw.L1Ball(1.0))
    assert solver.engine(solver.init()).name == "reference"
    with pytest.raises(ValueError, match="needs Numba"):
        bsfw.Solver(bsfw.Logistic(A, y), bsfw.L1Ball(1.0), engine="compiled")


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    from bsfw.kernels import passes

    rng = np.random.default_rng(8)
    y = np.where(rng.random(500) > 0.5, 1.0, -1.0)
    monkeypatch.setattr(passes, "PARALLEL", 1)
    for A in (sp.random(500, 60, density=0.1, random_state=3, format="csr"), rng.standard_normal((500, 30))):
        runs = []
        for threads in (1, 2, 3):
            monkeypatch.setattr("bsfw.engines.compiled.engine.cores", lambda threads=threads: threads)
            for estimator in (bsfw.FullGradient(), bsfw.LSVRG(batch_size=50), bsfw.SARAH(batch_size=50)):
                runs.append(
                    bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(3.0), estimator=estimator, max_iter=60, rng=0).x
                )
        for k in range(3):
            np.testing.assert_array_equal(runs[k], runs[3 + k])
            np.testing.assert_array_equal(runs[k], runs[6 + k])


def test_a_process_with_numba_switched_off_still_solves():
    code = (
        "import numpy as np, bsfw\n"
        "f = bsfw.LeastSquares(np.eye(4), np.arange(4.0))\n"
        "print(bsfw.minimize(f, bsfw.L1Ball(2.0), estimator=bsfw.SAGA(batch_size=2), max_iter=20, rng=0).nit)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "20"
