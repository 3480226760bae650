"""Compiled code against the reference: one Boost call, and whole runs with the same random draws."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from engine_runs import ESTIMATORS, assert_same_run, both_runs
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.boosting import boost
from bsfw.compiled import layout

SETS = {
    "l1": lambda n, rng: bsfw.L1Ball(2.0),
    "weighted l1": lambda n, rng: bsfw.L1Ball(2.0, weights=rng.uniform(0.5, 3.0, n)),
    "simplex": lambda n, rng: bsfw.Simplex(1.5),
    "solid simplex": lambda n, rng: bsfw.Simplex(1.5, equality=False),
}
VALUES = st.sampled_from([-3.0, -2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0, 3.0])


def assert_same_direction(found, expected, x, tolerance):
    assert found.rounds == expected.rounds
    assert found.vertex == expected.vertex
    np.testing.assert_allclose(found.dense(x), expected.dense(x), atol=tolerance)
    for name in ("gap", "slope", "alignment", "norm", "vertex_distance"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=10 * tolerance), name
    assert sum(found.weights) == pytest.approx(1.0) or not found.weights
    assert min(found.weights, default=0.0) >= 0.0


@pytest.mark.parametrize("name", SETS)
@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from(
        [1, 3, 10, 255, 256, 257, 600]
    ),  # in the plane the second round is an exact tie if x is on an edge
    support=st.integers(0, 12),
    rounds=st.sampled_from([1, 2, 7, 10_000]),
    delta=st.sampled_from([1e-9, 1e-4, 0.05, 1.0]),
)
def test_one_boost_call_equals_the_generic_one(name, seed, n, support, rounds, delta):
    rng = np.random.default_rng(seed)
    constraint = SETS[name](n, rng)
    x = constraint.lmo(rng.standard_normal(n)).dense()
    for _ in range(support):
        gamma = rng.uniform(0, 0.7)
        x = (1 - gamma) * x + gamma * constraint.lmo(rng.standard_normal(n)).dense()
    m = rng.standard_normal(n)
    assert_same_direction(
        constraint.boost(m, x, rounds, delta), boost(m, x, constraint.lmo, rounds, delta), x, tolerance=1e-10
    )


@pytest.mark.parametrize("name", ["l1", "simplex", "solid simplex"])
@settings(deadline=None, max_examples=80)
@given(m=st.lists(VALUES, min_size=1, max_size=6), start=st.integers(0, 5), rounds=st.sampled_from([1, 3, 50]))
def test_ties_and_zeros_take_the_same_vertices(name, m, start, rounds):
    m, rng = np.array(m), np.random.default_rng(0)
    constraint = SETS[name](len(m), rng)
    direction = np.zeros(len(m))
    direction[start % len(m)] = -1.0
    x = constraint.lmo(direction).dense()
    found, expected = constraint.boost(m, x, rounds, 1e-4), boost(m, x, constraint.lmo, rounds, 1e-4)
    assert found.vertex == expected.vertex
    assert found.gap == pytest.approx(expected.gap, abs=1e-12)
    if rounds == 1:
        assert found.alignment == pytest.approx(expected.alignment, abs=1e-9)
    else:  # later exact ties may fall either way
        first = boost(m, x, constraint.lmo, 1, 1e-4)
        assert found.alignment >= first.alignment - 1e-12
        assert constraint.contains(x + found.dense(x))


def test_single_precision_and_matrices_are_accepted():
    rng = np.random.default_rng(1)
    ball = bsfw.L1Ball(2.0)
    x = ball.lmo(rng.standard_normal((4, 5))).dense().astype(np.float32)
    m = rng.standard_normal((4, 5)).astype(np.float32)
    assert_same_direction(ball.boost(m, x, 50, 1e-3), boost(m, x, ball.lmo, 50, 1e-3), x, tolerance=1e-5)


def test_a_subclass_with_an_oracle_of_its_own_is_asked():
    class Halved(bsfw.L1Ball):
        def lmo(self, direction):
            return bsfw.L1Ball(self.radius / 2).lmo(direction)

    found = Halved(2.0).boost(np.array([1.0, 2.0]), np.zeros(2), 1, 1e-4)
    assert found.vertex.value == -1.0


def matrices(rng):
    A = sp.random(70, 40, density=0.2, random_state=2, format="csr")
    A.data += 0.1
    return {
        "csr": A,
        "int64": A,
        "dense": rng.standard_normal((70, 12)),
        "float32": A.astype(np.float32),
        "few columns": A[:, :5],
    }


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("data", ["csr", "int64", "dense", "few columns"])
def test_runs_equal_the_reference_for_every_estimator(estimator, data):
    rng = np.random.default_rng(0)
    A = matrices(rng)[data]
    y = np.where(rng.random(70) > 0.5, 1.0, -1.0)
    objective = bsfw.Logistic(A, y, sample_weight=rng.uniform(0.5, 2.0, 70))
    if data == "int64":  # what data of more than 2^31 entries have; smaller ones are given 32-bit indices
        assert objective.A.indices.dtype == np.int32
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
@pytest.mark.parametrize("data", ["csr", "dense", "few columns"])
def test_searched_steps_equal_the_reference(step, rounds, data):
    rng = np.random.default_rng(0)
    objective = bsfw.Logistic(matrices(rng)[data], np.where(rng.random(70) > 0.5, 1.0, -1.0))
    runs = both_runs(objective, bsfw.L1Ball(2.0), bsfw.FullGradient(), iterations=30, step=step, max_rounds=rounds)
    assert runs[1][0].engine.name == "compiled"
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
        assert runs[1][0].engine.rule.folds is folds
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
        lambda A, y: bsfw.LeastSquares(A, y, intercept=True),
        lambda A, y: bsfw.Huber(A, 3 * y, delta=0.7),
        lambda A, y: bsfw.Tukey(A, 3 * y, c=2.0),
        lambda A, y: bsfw.SigmoidSquared(A, np.abs(np.sin(y))),
    ],
    ids=["logistic", "least squares", "huber", "tukey", "sigmoid"],
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
        assert state.memory["real"][layout.IMAGE_SQUARES] == pytest.approx(np.sum((A @ x) ** 2), rel=1e-12)
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
    engine = runs[1][0].engine
    assert not engine._has_room()
    count, formed = int(engine.memory["whole"][layout.COUNT]), int(engine._gram["formed"][0])
    assert (formed == count) is fits
    assert formed > 4
    columns = A.toarray()[:, engine.memory["coordinates"][1 : formed + 1]]
    found = engine._gram["gram"][1 : formed + 1, 1 : formed + 1]
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


def test_compiled_draws_are_the_reference_draws():
    from bsfw._sampling import draw
    from bsfw.compiled import estimates

    for population, size in [(50, 7), (1000, 400), (9, 9)]:
        one, other = np.random.default_rng(3), np.random.default_rng(3)
        batch = np.zeros(size, dtype=np.int64)
        for _ in range(5):
            marked = np.zeros(population // 64 + 1, dtype=np.uint64)
            estimates.draw(other, population, marked, batch)
            np.testing.assert_array_equal(draw(one, population, size), batch)
            assert not marked.any()


def test_without_numba_the_reference_takes_over(classification, monkeypatch):
    A, y = classification
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    solver = bsfw.Solver(bsfw.Logistic(A, y), bsfw.L1Ball(1.0))
    assert solver.engine(solver.init()).name == "reference"
    insisting = bsfw.Solver(bsfw.Logistic(A, y), bsfw.L1Ball(1.0), engine="compiled")
    state = insisting.init()
    with pytest.raises(ValueError, match="needs Numba"):
        insisting.engine(state)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    from bsfw.compiled import passes

    rng = np.random.default_rng(8)
    y = np.where(rng.random(500) > 0.5, 1.0, -1.0)
    monkeypatch.setattr(passes, "PARALLEL", 1)
    for A in (sp.random(500, 60, density=0.1, random_state=3, format="csr"), rng.standard_normal((500, 30))):
        runs = []
        for threads in (1, 2, 3):
            monkeypatch.setattr(passes, "cores", lambda threads=threads: threads)
            for estimator in (bsfw.FullGradient(), bsfw.LSVRG(batch_size=50), bsfw.SARAH(batch_size=50)):
                runs.append(
                    bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(3.0), estimator=estimator, max_iter=60, rng=0).x
                )
        for k in range(3):
            np.testing.assert_array_equal(runs[k], runs[3 + k])
            np.testing.assert_array_equal(runs[k], runs[6 + k])


def test_threads_follow_the_environment(monkeypatch):
    from bsfw.compiled.passes import cores

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert cores() == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert cores() >= 1


def test_boosting_again_leaves_the_run_as_it_was(classification):
    A, y = classification
    runs = []
    for again in (False, True):
        solver = bsfw.Solver(bsfw.Logistic(A, y), bsfw.L1Ball(3.0), bsfw.SAGA(batch_size=6))
        state = solver.init(rng=0)
        engine = solver.engine(state)
        for _ in range(20):
            direction = engine.look(state)
            if again:
                assert engine.boost_again() == direction.rounds
            engine.advance(state, direction)
        engine.publish(state)
        runs.append((state.x, state.lmo_calls))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]


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


def test_functions_compile_without_a_place_for_the_cache(monkeypatch):
    import numba

    from bsfw.compiled._jit import jit

    real = numba.njit

    def nowhere(*function, **options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*function, **options)

    monkeypatch.setattr(numba, "njit", nowhere)
    assert jit()(lambda x: x + 1)(2) == 3
