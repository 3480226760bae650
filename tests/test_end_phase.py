"""end_phase: the rule that decides the switch, runs that end certified, and the same bits on resume."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import bsfw
from bsfw.checkpoints import Saver
from bsfw.objectives.completion import MatrixCompletion
from bsfw.phases import WINDOW, Check, Switch, default_gap_every, reason_to_switch
from bsfw.results import COLUMNS, PHASE_COLUMNS, Result, Status, Trace
from bsfw.solver import Solver
from bsfw.state import Limits, Schedule

FAR = 10**9
"""A max_iter of which no run here uses half."""


def problem(m: int = 300, n: int = 40, seed: int = 1, kind: Any = bsfw.Logistic) -> Any:
    """A fresh objective each time, as in another process."""
    rng = np.random.default_rng(seed)
    A = sp.random(m, n, density=0.3, random_state=seed, format="csr")
    scores = A @ (rng.standard_normal(n) * (rng.random(n) < 0.3)) + 0.2 * rng.standard_normal(m)
    return kind(A, np.where(scores > 0, 1.0, -1.0))


def why(gaps: Any, errors: Any = None, iteration: int = 0) -> str | None:
    """The answer after the last of these checks, with the memory of a run."""
    gaps = list(gaps)
    errors = [0.0] * len(gaps) if errors is None else list(errors)
    checks = [Check(float(gap), float(error)) for gap, error in zip(gaps, errors, strict=True)]
    answer = reason_to_switch(checks, iteration, FAR)
    assert reason_to_switch(checks[-2 * WINDOW :], iteration, FAR) == answer
    return answer


# The rule.


def test_an_error_beyond_the_gap_is_a_reason_of_its_own() -> None:
    halving = 2.0 ** -np.arange(40)
    for count in range(1, 40):
        gaps = halving[:count]
        assert why(gaps) is None
        assert why(gaps, gaps) is None
        assert why(gaps, 1.01 * gaps) == ("error" if count >= WINDOW else None)


def test_one_bad_draw_is_no_error_that_dominates() -> None:
    gaps = 0.7 ** np.arange(2 * WINDOW)
    for k in range(len(gaps)):
        errors = 0.1 * gaps
        errors[k] = 1.5 * gaps[k]
        assert why(gaps, errors) is None
    assert why(gaps, 1.5 * gaps) == "error"


def test_old_errors_are_forgotten() -> None:
    gaps = 0.7 ** np.arange(3 * WINDOW)
    errors = np.where(np.arange(len(gaps)) < WINDOW, 100.0 * gaps, 0.0)
    assert why(gaps[:WINDOW], errors[:WINDOW]) == "error"
    assert why(gaps, errors) is None


def test_a_gap_that_no_longer_halves_is_a_reason_of_its_own() -> None:
    for count in range(1, 40):
        assert why([1.0] * count) == ("stalled" if count >= 2 * WINDOW else None)
    falls = 2.0 ** -(np.arange(40) / WINDOW)
    assert all(why(falls[:count] ** 1.01) is None for count in range(1, 40))
    assert all(why(falls[:count] ** 0.99) == "stalled" for count in range(2 * WINDOW, 40))


@given(st.integers(0, 10**6), st.integers(2 * WINDOW, 40))
def test_noise_and_the_first_checks_do_not_pass_for_a_stall(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    gaps = 0.6 ** np.arange(count) * rng.uniform(0.5, 2.0, count)  # 0.6**WINDOW is 0.08
    assert why(gaps) is None
    lucky = gaps.copy()
    lucky[rng.integers(count)] *= 1e-3
    assert why(lucky) is None
    assert why([1e-9, *gaps]) is None  # a start near the optimum, which the first steps leave
    assert why([1e9, *gaps]) is None


@given(st.floats(0.0, 50.0))
def test_a_sublinear_rate_stalls_sooner_or_later(shift: float) -> None:
    gaps = 1.0 / (1.0 + shift + np.arange(60))
    assert why(gaps) == "stalled"


def test_half_of_the_iterations_are_for_the_end_phase() -> None:
    one = [Check(1.0, 0.0)]
    assert [reason_to_switch(one, t, 100) for t in (0, 49, 50, 99)] == [None, None, "halfway", "halfway"]
    assert reason_to_switch(one, 49, 99) is None
    assert reason_to_switch([Check(1.0, 2.0)] * WINDOW, 50, 100) == "error"
    assert reason_to_switch([Check(1.0, 0.0)] * 2 * WINDOW, 50, 100) == "stalled"


def test_checks_come_once_a_pass_and_often_enough() -> None:
    def every(estimator: Any, max_iter: int) -> int:
        return default_gap_every(estimator, 1000, 60, max_iter)

    assert every(bsfw.SAGA(batch_size=100), 10**6) == 10
    assert every(bsfw.SAGA(batch_size=0.003), 10**6) == 334
    assert every(bsfw.SAGA(batch_size=0.003), 2000) == 100
    assert every(bsfw.JAGUAR(coordinates=7), 10**6) == 9
    assert every(bsfw.SAGA(batch_size=100), 5) == 1


@pytest.mark.parametrize("constraint", [bsfw.L1Ball(3.0), bsfw.Simplex(3.0), bsfw.KSparse(3, 1.0)], ids=str)
@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_the_error_is_what_the_vertex_of_the_estimate_loses(engine: str, constraint: Any) -> None:
    objective = problem()
    solver = Solver(objective, constraint, bsfw.SAGA(5), engine=engine, end_phase="corrective")
    state = solver.init(rng=0)
    lost = []
    for _ in range(20):
        solver.step(state)
        direction = solver.engine(state).look(state)
        assert direction is not None
        solver.engine(state).publish(state)
        check = solver.engine(state).check(state, direction.vertex)
        m, g = solver.engine(state).estimate(state), objective.gradient(state.x)
        s, best = constraint.lmo(m).dense(), constraint.lmo(g).dense()
        assert check.gap == pytest.approx(g @ (state.x - best))
        assert check.error == pytest.approx(g @ (s - best), abs=1e-12)
        assert -1e-12 <= check.error <= (g - m) @ (s - best) + 1e-9
        lost.append(check.error)
        solver.engine(state).advance(state, direction)
    assert max(lost) > 0


# Runs.

SETS = {"l1": lambda: bsfw.L1Ball(5.0), "simplex": lambda: bsfw.Simplex(5.0), "k-sparse": lambda: bsfw.KSparse(3, 1.0)}
OPTIONS: dict[str, Any] = {"gap_tol": 1e-9, "max_iter": 600, "gap_every": 10, "record_every": 1, "rng": 3}


def go(constraint: Any, engine: str = "auto", objective: Any = None, estimator: Any = None, **options: Any) -> Result:
    """`minimize` with an end phase, and with a choice of the engine."""
    settings = {**OPTIONS, **options}
    solver = Solver(
        objective or problem(), constraint, estimator or bsfw.SAGA(20), horizon=settings["max_iter"],
        end_phase="corrective", engine=engine,
    )  # fmt: skip
    return solver.run(
        solver.init(rng=settings["rng"]),
        Limits(settings["max_iter"], gap_tol=settings["gap_tol"]),
        Schedule(settings["record_every"], settings["gap_every"]),
    )


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("name", list(SETS))
def test_it_ends_with_a_tiny_exact_gap_where_the_estimator_alone_does_not(name: str, engine: str) -> None:
    constraint, objective = SETS[name](), problem()
    alone = bsfw.minimize(objective, constraint, estimator=bsfw.SAGA(20), **OPTIONS)
    assert alone.status is Status.ITERATIONS
    assert alone.gap > 1e-5
    result = go(constraint, engine)
    assert result.status is Status.GAP_REACHED
    assert result.success
    assert result.gap_exact
    gradient = objective.gradient(result.x)
    assert gradient @ result.x - constraint.lmo(gradient).inner(gradient) <= 2e-9
    assert constraint.contains(result.x, 1e-9)


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_the_trace_shows_both_phases_the_switch_and_its_reason(engine: str) -> None:
    result = go(bsfw.L1Ball(5.0), engine)
    alone = bsfw.minimize(problem(), bsfw.L1Ball(5.0), estimator=bsfw.SAGA(20), **OPTIONS)
    switch, trace = result.switch, result.trace
    assert isinstance(switch, Switch)
    assert switch.reason in ("error", "stalled")
    assert 0 < switch.iteration < result.nit < OPTIONS["max_iter"]
    t = trace["iteration"]
    np.testing.assert_array_equal(t, np.arange(result.nit + 1))  # x^t of the switch has one row, too
    np.testing.assert_array_equal(trace["phase"], np.where(t < switch.iteration, "boosted", "corrective"))
    np.testing.assert_array_equal(trace["switch"], np.where(t == switch.iteration, switch.reason, ""))
    checked = (t <= switch.iteration) & (t % 10 == 0)
    np.testing.assert_array_equal(np.isfinite(trace["error"]), checked)
    np.testing.assert_array_equal(trace["gap_exact"], checked | (t >= switch.iteration))
    assert trace["error"][switch.iteration] == switch.error
    assert trace["gap"][switch.iteration] == pytest.approx(switch.gap)
    assert trace["error"][0] == 0.0  # SAGA begins with the exact gradient
    # Up to the switch it is the run that it would have been without one.
    if engine == "auto":
        for name in ("value", "gap", "gamma", "rounds", "sample_gradients", "lmo_calls"):
            np.testing.assert_array_equal(trace[name][: switch.iteration], alone.trace[name][: switch.iteration])
    assert trace["value"][switch.iteration] == pytest.approx(alone.trace["value"][switch.iteration], rel=1e-9)
    # The rule speaks at the first check where it has a reason, and at no earlier one.
    checks = [Check(*pair) for pair in zip(trace["gap"][checked], trace["error"][checked], strict=True)]
    reasons = [reason_to_switch(checks[: k + 1], 10 * k, OPTIONS["max_iter"]) for k in range(len(checks))]
    assert reasons == [None] * (len(checks) - 1) + [switch.reason]
    # And all the rest of the result is in its place.
    boosted = trace["boosted"][: switch.iteration]
    assert not trace["boosted"][switch.iteration :].any()
    assert result.boosting_percentage == pytest.approx(100 * boosted.mean())
    assert result.multiplier > 0
    assert (np.diff(trace["sample_gradients"]) >= 0).all()
    assert (np.diff(trace["lmo_calls"]) > 0).all()


def test_both_engines_switch_at_the_same_iteration_to_the_same_optimum() -> None:
    one, other = go(bsfw.L1Ball(5.0), "reference"), go(bsfw.L1Ball(5.0), "compiled")
    assert (one.switch.iteration, one.switch.reason) == (other.switch.iteration, other.switch.reason)
    assert one.switch.gap == pytest.approx(other.switch.gap)
    np.testing.assert_allclose(one.x, other.x, atol=1e-6)


def test_mushrooms_ends_certified_as_the_front_door_promises() -> None:
    A, y = bsfw.datasets.load("mushrooms")
    options: dict[str, Any] = dict(estimator=bsfw.SAGA(batch_size=404), gap_tol=1e-8, max_iter=1000, rng=0)
    result = bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(50.0), end_phase="corrective", **options)
    assert result.status is Status.GAP_REACHED
    assert result.switch.reason in ("error", "stalled")
    alone = bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(50.0), **options)
    assert alone.status is Status.ITERATIONS
    assert result.fun < alone.fun


@pytest.mark.parametrize(
    "estimator",
    [bsfw.SAG(20), bsfw.LSVRG(20), bsfw.SARAH(20), bsfw.HeavyBall(20), bsfw.SEGA(2), bsfw.JAGUAR(), bsfw.ZOJA()],
    ids=lambda estimator: estimator.name,
)
def test_every_stochastic_estimator_can_have_an_end_phase(estimator: Any) -> None:
    result = bsfw.minimize(
        problem(), bsfw.L1Ball(5.0), estimator=estimator, end_phase="corrective", gap_tol=1e-9, max_iter=300, rng=0
    )
    assert result.status is Status.GAP_REACHED
    assert 0 < result.switch.iteration <= 150


def test_a_gap_that_keeps_falling_is_left_halfway() -> None:
    result = go(bsfw.L1Ball(5.0), gap_every=100)  # too few checks for another reason
    assert result.switch.iteration == 300
    assert result.switch.reason == "halfway"
    assert result.status is Status.GAP_REACHED


def test_limits_are_for_both_phases_together() -> None:
    endless = go(bsfw.L1Ball(5.0), max_iter=100, gap_tol=None)
    assert endless.status is Status.ITERATIONS
    assert endless.nit == 100
    assert endless.switch.iteration <= 50
    settings = {**OPTIONS, "estimator": bsfw.SAGA(20), "end_phase": "corrective"}
    whole = bsfw.minimize(problem(), bsfw.L1Ball(5.0), **settings)
    before = bsfw.minimize(problem(), bsfw.L1Ball(5.0), max_lmo_calls=50, **settings)
    assert before.status is Status.LMO_CALLS
    assert before.switch is None
    assert "multiplier" not in before
    spent = int(whole.trace["sample_gradients"][whole.switch.iteration + 1])
    after = bsfw.minimize(problem(), bsfw.L1Ball(5.0), max_gradients=spent, **settings)
    assert after.status is Status.GRADIENTS
    assert after.nit == whole.switch.iteration + 1
    assert after.switch == whole.switch
    assert after.gap_exact
    assert after.gap > OPTIONS["gap_tol"]


def test_a_gap_reached_at_a_check_ends_the_run_before_any_switch() -> None:
    result = go(bsfw.L1Ball(5.0), gap_tol=1e-2)
    assert result.status is Status.GAP_REACHED
    assert result.switch is None
    assert set(result.trace["phase"]) == {"boosted"}


def test_runs_without_an_end_phase_are_as_before() -> None:
    result = bsfw.minimize(problem(), bsfw.L1Ball(5.0), estimator=bsfw.SAGA(20), max_iter=20, rng=0)
    assert "switch" not in result
    assert set(result.trace.columns()) == set(COLUMNS)


def test_the_callback_sees_every_row_once_and_the_progress_line_the_phase(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[int, bool]] = []
    settings = {**OPTIONS, "estimator": bsfw.SAGA(20), "end_phase": "corrective"}
    result = bsfw.minimize(
        problem(), bsfw.L1Ball(5.0), verbose=True, callback=lambda r: seen.append((r.nit, r.switch is None)), **settings
    )
    assert seen == [(t, t < result.switch.iteration) for t in range(result.nit)]
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith("boosted   iteration 0/600 ")
    assert last.startswith(f"corrective   iteration {result.nit}/600 ")
    bsfw.minimize(problem(), bsfw.L1Ball(5.0), verbose=True, max_iter=2)
    assert capsys.readouterr().err.startswith("iteration 0/2 ")


def test_trace_files_hold_the_phases(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    trace = go(bsfw.L1Ball(5.0)).trace
    trace.save(tmp_path / "trace.npz")
    trace.save(tmp_path / "trace.csv")
    again = Trace.load(tmp_path / "trace.npz")
    table = pandas.read_csv(tmp_path / "trace.csv", keep_default_na=False, na_values={"error": "nan"})
    assert set(PHASE_COLUMNS) <= set(trace.columns())
    for name in PHASE_COLUMNS:
        np.testing.assert_array_equal(again[name], trace[name])
        np.testing.assert_array_equal(table[name], trace[name])


# The same bits on resume.


class Interrupted(Exception):
    pass


def assert_same_run(one: Result, other: Result) -> None:
    np.testing.assert_array_equal(one.x, other.x)
    for name in ("fun", "gap", "nit", "nfev", "njev", "sample_gradients", "coordinate_gradients", "lmo_calls", "status",
                 "check_lmo_calls"):  # fmt: skip
        assert one[name] == other[name], name
    assert one.get("switch") == other.get("switch")
    assert one.get("multiplier") == other.get("multiplier")
    assert dataclasses.asdict(one.check_counts) == dataclasses.asdict(other.check_counts)
    assert set(one.trace.columns()) == set(other.trace.columns())
    for name in set(one.trace.columns()) - {"seconds"}:
        np.testing.assert_array_equal(one.trace[name], other.trace[name], err_msg=name)


@pytest.mark.parametrize("cached", [False, True], ids=["fresh", "with columns"])
@pytest.mark.parametrize(("name", "engine"), [("l1", "auto"), ("l1", "reference"), ("k-sparse", "auto")])
def test_a_run_cut_off_before_at_and_after_the_switch_ends_in_the_same_bits(
    name: str, engine: str, cached: bool, tmp_path: Path
) -> None:
    """`cached`: what the first process had asked of its objective is no part of the run."""
    constraint, path = SETS[name](), tmp_path / "run.npz"
    limits, gap_every = Limits(600, gap_tol=1e-11), 10

    def solver() -> Solver:
        objective = problem()
        if cached:
            _ = objective.columns
        return Solver(objective, constraint, bsfw.SAGA(20), end_phase="corrective", engine=engine)

    one = solver()
    whole = one.run(one.init(rng=3), limits, Schedule(1, gap_every))
    switch = whole.switch.iteration
    assert whole.status is Status.GAP_REACHED
    assert switch + 1 < whole.nit
    for stop in {switch - 3, switch, switch + 1, whole.nit - 1}:

        def callback(result: Result, stop: int = stop) -> None:
            if result.nit == stop:
                raise Interrupted

        path.unlink(missing_ok=True)
        one, schedule = solver(), Schedule(1, gap_every, stop)
        with pytest.raises(Interrupted):
            one.run(one.init(rng=3), limits, schedule, callback=callback, save=Saver(path, one, limits, schedule))
        with np.load(path) as file:
            meta = json.loads(str(file["meta"]))
        assert meta["state"]["iteration"] == stop
        assert (meta["switch"] is None) == (stop <= switch)
        assert_same_run(bsfw.resume(path, problem(), SETS[name]()), whole)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("name", list(SETS))
def test_a_corrective_run_resumes_from_its_file_to_the_same_bits(name: str, by_columns: bool, tmp_path: Path) -> None:
    def fresh() -> Any:
        objective = problem(seed=4)
        if by_columns:
            _ = objective.columns
        return objective

    settings: dict[str, Any] = dict(method="corrective", max_iter=30, record_every=1, gap_tol=1e-12)
    whole = bsfw.minimize(fresh(), SETS[name](), **settings)
    assert whole.nit > 3

    for stop in range(1, whole.nit):

        def callback(result: Result, stop: int = stop) -> None:
            if result.nit == stop:
                raise Interrupted

        path = tmp_path / f"{stop}.npz"
        with pytest.raises(Interrupted):
            bsfw.minimize(fresh(), SETS[name](), checkpoint=path, every=stop, callback=callback, **settings)
        assert_same_run(bsfw.resume(path, problem(seed=4), SETS[name]()), whole)


def test_a_run_whose_iterations_are_used_up_goes_on_with_more_of_them(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    cut = bsfw.minimize(
        problem(), bsfw.L1Ball(5.0), estimator=bsfw.SAGA(20), end_phase="corrective", gap_tol=1e-9, max_iter=40,
        gap_every=50, rng=3, checkpoint=path,
    )  # fmt: skip
    assert cut.status is Status.ITERATIONS
    assert cut.switch is None
    more = bsfw.resume(path, problem(), bsfw.L1Ball(5.0), max_iter=600)
    assert more.status is Status.GAP_REACHED
    assert more.switch.iteration > 40


def _rewrite(path: Path, change: Any) -> None:
    with np.load(path) as file:
        contents = {name: file[name] for name in file.files}
    meta = json.loads(str(contents.pop("meta")))
    change(meta)
    np.savez(path, meta=np.array(json.dumps(meta)), **contents)


def test_other_formats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    bsfw.minimize(problem(), bsfw.L1Ball(5.0), max_iter=4, checkpoint=path)
    _rewrite(path, lambda meta: meta.update(format="bsfw checkpoint 9"))
    with pytest.raises(ValueError, match="'bsfw checkpoint 9'; this version of bsfw reads 'bsfw checkpoint 4'"):
        bsfw.resume(path, problem(), bsfw.L1Ball(5.0))


# The start of the corrective method.


@pytest.mark.parametrize("make", [bsfw.L1Ball, lambda r: bsfw.Simplex(r, equality=False), lambda r: bsfw.KSparse(2, r)])
def test_the_corrective_method_starts_at_the_origin_where_that_is_feasible(make: Any) -> None:
    starts: list[np.ndarray] = []
    result = bsfw.minimize(
        problem(), make(2.0), method="corrective", gap_tol=1e-8, record_every=1, callback=lambda r: starts.append(r.x)
    )
    assert not starts[0].any()
    assert result.trace["lmo_calls"][0] == result.trace["sample_gradients"][0] == 0
    assert result.status is Status.GAP_REACHED


def test_it_starts_at_a_vertex_elsewhere_and_at_x0_where_given() -> None:
    starts: list[np.ndarray] = []

    def run(constraint: Any, **options: Any) -> Result:
        starts.clear()
        return bsfw.minimize(
            problem(), constraint, method="corrective", gap_tol=1e-8, record_every=1,
            callback=lambda r: starts.append(r.x), **options,
        )  # fmt: skip

    result = run(bsfw.Simplex(2.0))
    assert np.count_nonzero(starts[0]) == 1
    assert result.trace["lmo_calls"][0] == 2
    run(bsfw.L1Ball(2.0), x0=np.full(40, 0.01))
    np.testing.assert_array_equal(starts[0], np.full(40, 0.01))


# Refusals, all before the run.


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (dict(end_phase="newton"), "end_phase must be one of corrective, or None, got 'newton'"),
        (dict(method="away", estimator=None), "an end phase follows method='boosted', but method is 'away'"),
        (dict(method="corrective", estimator=None), "follows method='boosted', but method is 'corrective'"),
        (dict(method="corrective", end_phase=None), "method 'corrective' needs the exact gradient.* end_phase='corr"),
        (
            dict(method="pairwise", end_phase=None),
            "method 'pairwise' needs the exact gradient, but the estimator is S",
        ),
        (dict(estimator=None), "FullGradient; with the exact gradient use method='corrective' from the start"),
    ],
)
def test_what_has_no_end_phase_is_said(options: dict[str, Any], sentence: str) -> None:
    settings = {"estimator": bsfw.SAGA(20), "end_phase": "corrective", **options}
    with pytest.raises(ValueError, match=sentence):
        bsfw.minimize(problem(), bsfw.L1Ball(5.0), **settings)


def test_problems_that_the_end_phase_cannot_solve_are_refused() -> None:
    objective, values = problem(), bsfw.Function(lambda x: float(x @ x), shape=(3,))
    with pytest.raises(ValueError, match=r"end_phase='corrective' does not fit this problem: .* but Function has none"):
        bsfw.minimize(values, bsfw.L1Ball(5.0), estimator=bsfw.ZOJA(1), end_phase="corrective")
    rng = np.random.default_rng(0)
    rows, cols = np.divmod(rng.permutation(30)[:20], 6)
    completion = MatrixCompletion((rows, cols, rng.standard_normal(20), (5, 6)))
    with pytest.raises(ValueError, match="keeps x in factored form"):
        bsfw.minimize(completion, bsfw.NuclearBall(3.0), estimator=bsfw.SAGA(5), end_phase="corrective")
    solver = Solver(objective, bsfw.L1Ball(5.0), bsfw.SAGA(20), end_phase="corrective")
    with pytest.raises(ValueError, match="give gap_every to the Schedule"):
        solver.run(solver.init(rng=0), Limits(10), Schedule(1))


def test_what_has_a_gradient_ends_with_it_though_it_has_no_samples() -> None:
    rng = np.random.default_rng(0)
    B = rng.standard_normal((12, 12))
    quadratic = bsfw.Quadratic(B @ B.T / 12 + np.eye(12), rng.standard_normal(12))
    result = bsfw.minimize(
        quadratic, bsfw.L1Ball(2.0), estimator=bsfw.JAGUAR(1), end_phase="corrective", gap_tol=1e-9, gap_every=20,
        max_iter=FAR, rng=0,
    )  # fmt: skip
    assert result.status is Status.GAP_REACHED
    assert result.switch is not None
    g = quadratic.gradient(result.x)
    assert g @ result.x + 2.0 * np.abs(g).max() <= 1.1e-9


def test_several_classes_end_with_the_exact_gradient_too() -> None:
    objective = bsfw.Multinomial(problem().A, np.arange(300) % 3, intercept=True)
    result = bsfw.minimize(
        objective, bsfw.L1Ball(5.0), estimator=bsfw.SAGA(50), end_phase="corrective", gap_tol=1e-9, max_iter=400, rng=0
    )
    assert result.status is Status.GAP_REACHED
    assert result.switch is not None


def test_a_check_that_is_not_finite_ends_the_run_as_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = problem()
    monkeypatch.setattr(objective, "_gradient", lambda x: np.full(40, math.nan))
    solver = Solver(objective, bsfw.L1Ball(5.0), bsfw.SAGA(20), end_phase="corrective")
    result = solver.run(solver.init(np.zeros(40), 0), Limits(50), Schedule(1, 10))
    assert result.status is Status.NUMERICAL_FAILURE
    assert result.switch is None
