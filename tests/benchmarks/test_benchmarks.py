"""The benchmark suite runs on tiny sizes, and what it compares with is right. Nothing here looks at a time."""

import json
import math
import sys

import numpy as np
import pytest

import bsfw
from benchmarks import __main__ as suite
from benchmarks import curves, data, literal, solvers, timing
from benchmarks.data import Problem, Sizes
from benchmarks.reference import liblinear, reference
from benchmarks.reports import write_json
from benchmarks.rows import Row, limit_of, rows
from bsfw.engines.compiled.engine import CompiledEngine

TINY = Sizes(
    m=300, n=200, per_row=10, batch=30, taus=(20.0,), wide=(200, 400), tall=40_000, text_iterations=10,
    small_iterations=10, steady=20, scaling=10, repeats=1, cap=0.05,
)  # fmt: skip


@pytest.fixture(scope="module")
def problem():
    return data.rcv1_like(TINY, 20.0)


@pytest.fixture
def no_peers(monkeypatch):
    for name in ("copt", "skglm", "celer"):
        monkeypatch.setitem(sys.modules, name, None)
    solvers._for_copt.cache_clear()


@pytest.mark.parametrize("boosted", [True, False])
@pytest.mark.parametrize("estimator", literal.ESTIMATORS)
def test_literal_transcription_follows_bsfw_where_no_draw_matters(problem, estimator, boosted):
    m = len(problem.y)  # a batch of all samples leaves nothing to chance
    x, _, _ = literal.run(
        problem.A, problem.y, problem.tau, estimator=estimator, batch=m, iterations=12, boosted=boosted
    )  # fmt: skip
    ours = bsfw.minimize(
        problem.objective, bsfw.L1Ball(problem.tau), estimator=solvers.ESTIMATORS[estimator](m), max_iter=12,
        max_rounds=None if boosted else 1, rng=0,
    )  # fmt: skip
    np.testing.assert_allclose(x, ours.x, atol=1e-9 * problem.tau)


def test_literal_l_svrg_and_sarah_refer_to_the_previous_iterate(problem, monkeypatch):
    rows = np.arange(7)
    start, moved = np.zeros(200), np.linspace(-1, 1, 200)
    for coin in (True, False):
        monkeypatch.setattr(literal.Data, "coin", lambda self, coin=coin: coin)
        monkeypatch.setattr(literal.Data, "draw", lambda self: (rows, self.A[rows], self.y[rows]))

        def third(estimator):
            """m^2, after x^0 = start, x^1 = moved, x^2 = 2 moved."""
            x = start.copy()
            gradients = literal.ESTIMATORS[estimator](literal.Data(problem.A, problem.y, 7, 0), x)
            next(gradients)
            x[:] = moved
            next(gradients)
            x[:] = 2 * moved
            return next(gradients)

        full = problem.objective.gradient

        def batch(x):
            return problem.objective.batch_gradient(x, rows)

        w = moved if coin else start
        np.testing.assert_allclose(third("L-SVRG"), batch(2 * moved) - batch(w) + full(w), atol=1e-14)
        recursive = full(start) + batch(2 * moved) - batch(start)  # the difference to x^1 telescopes
        np.testing.assert_allclose(third("SARAH"), full(2 * moved) if coin else recursive, atol=1e-14)


@pytest.mark.parametrize(("max_rounds", "min_gain"), [(1, 1e-4), (3, 1e-4), (10_000, 1e-4), (10_000, 1e-9)])
def test_literal_boost_equals_the_generic_one(rng, max_rounds, min_gain):
    for _ in range(300):  # in so few dimensions the away candidate wins now and then
        m, x = rng.standard_normal(6) * 10 ** rng.uniform(-1, 2), rng.standard_normal(6)
        x *= rng.uniform(0, 5) / np.abs(x).sum()
        direction, s, rounds = literal.boost(m, x, 5.0, max_rounds, min_gain)
        expected = bsfw.boost(m, x, bsfw.L1Ball(5.0).lmo, max_rounds, min_gain)
        np.testing.assert_allclose(direction, expected.dense(x), atol=1e-12)
        assert rounds == expected.rounds
        np.testing.assert_array_equal(expected.vertex.dense(), s)


@pytest.mark.parametrize("estimator", literal.ESTIMATORS)
def test_literal_decays_are_those_of_the_package(problem, estimator):
    q, horizon = problem.batch / len(problem.y), 500
    for boosted in (True, False):
        solver = bsfw.Solver(
            problem.objective, bsfw.L1Ball(problem.tau), solvers.ESTIMATORS[estimator](problem.batch), horizon=horizon,
            max_rounds=None if boosted else 1,
        )  # fmt: skip
        eta = literal.decay(estimator, boosted, q, horizon)
        for t in (0, 1, 100, 249, 250, 499):
            assert min(1.0, eta(t)) == pytest.approx(solver.plan.decay(t), rel=1e-12)


def test_synthetic_text_has_unit_rows_both_labels_and_the_asked_sparsity():
    A, y = data.text_like(2000, 5000, 40)
    again, _ = data.text_like(2000, 5000, 40)
    assert A.shape == (2000, 5000)
    assert A.dtype == np.float64
    assert A.indices.dtype == np.int32
    assert A.nnz / 2000 == pytest.approx(40, rel=0.1)
    np.testing.assert_allclose(A.multiply(A).sum(axis=1), 1.0)
    assert abs(y.mean()) < 0.1
    np.testing.assert_array_equal(A.indices, again.indices)
    counts = np.sort(np.bincount(A.indices, minlength=5000))[::-1]
    assert counts[:50].sum() > 20 * counts[-2500:].mean() * 50  # a few columns are frequent, most are rare


def test_reference_is_certified_and_its_penalty_matches_the_radius(problem):
    known = reference(problem)
    assert -1e-15 <= known.error < 1e-9
    x = liblinear(problem, known.C, 1e-10)
    assert np.abs(x).sum() == pytest.approx(problem.tau, rel=1e-4)
    gradient = problem.A.T @ (-problem.y / (1 + np.exp(problem.y * (problem.A @ x)))) / len(problem.y)
    assert np.abs(gradient).max() == pytest.approx(known.penalty, rel=1e-3)  # optimality of the penalised problem


def test_gap_bounds_the_suboptimality_and_points_are_scaled_into_the_ball(problem):
    x = problem.into_ball(np.full(200, 1.0))
    assert np.abs(x).sum() == pytest.approx(problem.tau)
    assert problem.value(x) - reference(problem).value <= problem.gap(x)
    inside = np.full(200, 1e-3)
    np.testing.assert_array_equal(problem.into_ball(inside), inside)


def test_the_time_of_bsfw_does_not_contain_the_start(problem, monkeypatch):
    """The clock stands at 7 after the first iteration and goes on by 0.5 for each that follows."""
    solver, forward = solvers.Bsfw("SAG"), CompiledEngine.forward

    def clocked(engine, state, until, limits):
        forward(engine, state, until, limits)
        state.seconds = 7.0 + 0.5 * (state.iteration - 1)

    monkeypatch.setattr(CompiledEngine, "forward", clocked)
    assert solver.seconds(problem, 20, 0) == pytest.approx((9.5, 19))


def test_the_time_of_bsfw_is_of_the_iterations_that_minimize_makes(problem, monkeypatch):
    seen, forward = [], CompiledEngine.forward

    def watched(engine, state, *arguments):
        forward(engine, state, *arguments)
        engine.publish(state)
        seen.append(state)

    monkeypatch.setattr(CompiledEngine, "forward", watched)
    for solver in (solvers.Bsfw("SAGA"), solvers.Bsfw("SAG", boosted=False), solvers.Bsfw(None, step="line-search")):
        seen.clear()
        solver.seconds(problem, 20, 3)
        result = solver.run(problem.objective, problem, 3, max_iter=20)
        np.testing.assert_allclose(seen[0].x, result.x, rtol=1e-9)
        assert seen[0].iteration == 20


def test_the_time_of_a_peer_does_not_contain_the_start(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(solvers.time, "perf_counter", lambda: now[0])

    def run(length):
        now[0] += 7.0 + 0.5 * length

    assert solvers._after_start(run, 20) == pytest.approx(0.5 * 19)


def test_the_time_of_the_transcription_does_not_contain_the_start(problem, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(literal.time, "perf_counter", lambda: now[0])

    def estimates(data, x):
        now[0] += 7.0
        while True:
            now[0] += 0.5
            yield np.ones_like(x)

    monkeypatch.setitem(literal.ESTIMATORS, "SAGA", estimates)
    assert solvers.Literal("SAGA").seconds(problem, 20, 0) == pytest.approx((0.5 * 19, 19))


def test_short_runs_are_repeated_within_a_turn_and_their_median_counts(monkeypatch):
    class Uneven:
        name = "uneven"

        def seconds(self, problem, iterations, seed):
            lasted = next(times)
            now[0] += lasted
            return lasted, iterations - 1

    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    for runs, expected, left in (
        ([0.005, 0.008, 0.007, 0.01], 0.007, 1),  # the turn is over before the last
        ([0.001, 0.003, 0.002, 0.001, 0.004, 9.0], 0.002, 1),  # as many as there may be
        ([8.0, 9.0], 8.0, 1),
    ):
        times = iter(runs)
        assert timing.seconds_per_iteration(Uneven(), None, 100, 0) == pytest.approx(expected / 99)
        assert len(list(times)) == left


def test_all_run_much_longer_than_the_shortest_run_of_any(monkeypatch):
    monkeypatch.setattr(timing, "MOST_RUNS", 1)

    class Epochs:
        """Makes 27 iterations or a multiple of them, at one second each."""

        name = "epochs"

        def seconds(self, problem, iterations, seed):
            made.append(27 * max(2, round(iterations / 27)))
            return made[-1] - 27.0, made[-1] - 27

    class Single:
        name = "single"

        def seconds(self, problem, iterations, seed):
            made.append(iterations)
            return iterations - 1.0, iterations - 1

    made = []
    samples = timing.per_iteration([("ours", Single(), None), ("peer", Epochs(), None)], 60, 1)
    assert made == [2, 54, 432, 432]  # a warm-up and a long run of each
    assert samples == {"ours": [1.0], "peer": [1.0]}


def test_competitors_take_turns():
    order = []
    samples = timing.interleaved({"a": lambda k: order.append("a") or k, "b": lambda k: order.append("b") or -k}, 3)
    assert order == ["a", "b"] * 3
    assert timing.medians(samples) == {"a": 1, "b": -1}


@pytest.mark.parametrize(
    ("ratios", "turns"),
    [
        ([1.0, 1.05, 1.09], 3),  # all below the limit
        ([1.12, 1.2, 1.15], 3),  # all above
        ([1.0, 1.12, 1.05, 1.06, 1.07, 1.04, 1.01, 1.02, 1.03], 9),  # after six it is open, after nine no longer
        ([1.0, 1.2] * 50, 18),  # never
    ],
)
def test_more_turns_are_taken_while_the_side_of_the_limit_is_open(ratios, turns):
    ours = iter(ratios)
    samples = timing.interleaved({"ours": lambda k: next(ours), "peer": lambda k: 1.0}, 3, limit=1.1)
    assert samples["ours"] == ratios[:turns]
    assert len(samples["peer"]) == turns


def test_more_turns_are_taken_only_for_as_long_as_there_is_patience(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(timing, "wait_for_threads", lambda: None)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def ours(k):
        now[0] += 1.0
        return 1.0 + 0.2 * (k % 2)

    turns = [len(timing.interleaved({"ours": ours, "peer": lambda k: 1.0}, 3, 1.1, patience)["ours"])
             for patience in (0.5, 3.5, 7.0, 100.0)]  # fmt: skip
    assert turns == [6, 9, 12, 18]


def test_the_interval_holds_the_median_nine_times_in_ten():
    rng = np.random.default_rng(0)
    for n in (12, 48):
        draws = rng.exponential(size=(4000, n))
        inside = np.mean([low <= np.log(2) <= high for low, high in map(timing.interval, draws)])
        assert 0.88 < inside < 0.97


def test_bounds_become_limits_of_ours_over_peer():
    assert [limit_of(bound) for bound in ("<= 1.10", ">= 20", "")] == [1.10, 0.05, None]


def test_a_turn_begins_when_no_thread_of_the_one_before_is_at_work(monkeypatch):
    class Clock:
        """Threads are at work until the tenth second."""

        now = used = 0.0

        def perf_counter(self):
            return self.now

        def process_time(self):
            return min(self.now, 10.0)

        def sleep(self, seconds):
            self.now += 1.0

    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    timing.wait_for_threads(at_most=100.0)
    assert clock.now == 11.0
    clock.now = 0.0
    timing.wait_for_threads(at_most=5.0)  # those that never end are not waited for
    assert clock.now == 5.0


def test_first_time_is_that_of_the_first_point_good_enough():
    points = [(1.0, 0.5), (2.0, 0.1), (3.0, 0.01)]
    assert timing.first_time(points, 0.1) == 2.0
    assert math.isinf(timing.first_time(points, 1e-3))


@pytest.mark.parametrize(
    ("bound", "ours", "peer", "ratio", "verdict"),
    [
        (">= 5", 2.0, 12.0, 6.0, "ok"),
        (">= 5", 2.0, 8.0, 4.0, "NOT"),
        (">= 5", 2.0, math.inf, 10.0, "ok"),  # given up after 20 seconds
        (">= 5", 5.0, math.inf, 4.0, "open"),
        (">= 5", math.inf, 8.0, math.nan, "NOT"),
        ("<= 1.10", 2.1, 2.0, 1.05, "ok"),
        ("<= 1.10", 2.3, 2.0, 1.15, "NOT"),
        ("<= 3", 2.5, None, 2.5, "ok"),
        ("<= 3", 3.5, None, 3.5, "NOT"),
        ("", 2.0, 4.0, 2.0, "-"),
    ],
)
def test_verdicts(bound, ours, peer, ratio, verdict):
    row = Row("copt", "", "", "" if peer is None else "copt", bound, "ms", lambda: {}, cap=20.0)
    found = suite.judge(row, {"ours": [ours], **({} if peer is None else {"peer": [peer]})})
    assert found["verdict"] == verdict
    assert found["ratio"] == pytest.approx(ratio, nan_ok=True)


def test_every_row_of_the_table_runs(capsys, no_peers, monkeypatch, tmp_path):
    monkeypatch.setattr(data, "mushrooms", lambda sizes: data.rcv1_like(sizes, 20.0))
    monkeypatch.setattr(data, "has_news20", lambda: False)
    chosen = [row for row in rows(TINY) if row.family not in ("cold-start", "memory")]
    table = suite.run(chosen)
    printed = capsys.readouterr().out
    assert not any(row.get("failed") for row in table)
    assert {row["family"] for row in table} == set(suite.FAMILIES) - {"cold-start", "memory", "corrective"}
    for row in table:
        if row["peer"].startswith("copt"):
            assert row["verdict"] == "copt not installed"
        else:
            assert math.isfinite(row["ratio"])
    assert "copt not installed" in printed
    report = tmp_path / "report.json"
    write_json(report, {"rows": table, "given up": math.inf})
    assert json.loads(report.read_text(), parse_constant=pytest.fail)["given up"] is None  # strict JSON


def test_rows_in_processes_of_their_own_run():
    families = {"cold-start": 3, "memory": 10}
    assert {f: sum(row.family == f for row in rows(TINY)) for f in families} == families
    memory = next(row for row in rows(TINY) if row.family == "memory")
    assert suite.judge(memory, memory.measure())["ratio"] > 1  # x and the estimate, at least


def test_a_row_that_fails_is_named_and_gives_an_exit_code(capsys, monkeypatch):
    def broken() -> timing.Samples:
        raise ZeroDivisionError

    row = Row("copt", "nowhere", "ours", "copt", ">= 5", "us", broken)
    monkeypatch.setattr(suite, "rows", lambda sizes: iter([row]))
    assert suite.main(["--quick", "--only", "copt"]) == 1
    assert "error: ZeroDivisionError" in capsys.readouterr().out


def test_unknown_family_is_refused(capsys):
    with pytest.raises(SystemExit):
        suite.main(["--only", "nothing"])
    assert "unknown family nothing" in capsys.readouterr().err


def test_curves_draw_what_is_installed_and_name_the_first(tmp_path, monkeypatch, capsys, no_peers, problem):
    monkeypatch.setattr(curves, "problems", lambda sizes: [problem])
    text = curves.main(["--out", str(tmp_path / "figure.png"), "--json", str(tmp_path / "times.json")], TINY)
    assert (tmp_path / "figure.png").stat().st_size > 5000
    assert "copt SAG: not installed" in capsys.readouterr().out
    known = json.loads((tmp_path / "times.json").read_text())
    assert set(known["seconds"][problem.name]) == {
        "bsfw corrective", "bsfw boosted SAGA", "bsfw boosted SAG", "bsfw vanilla SAG", "liblinear",
        "scikit-learn saga",
    }  # fmt: skip
    assert "first is" in text
    assert "given to them for nothing" in text


def test_problem_is_the_logistic_loss(problem):
    x = np.linspace(-1, 1, 200)
    assert isinstance(problem, Problem)
    assert problem.value(x) == pytest.approx(problem.objective.value(x), rel=1e-12)
