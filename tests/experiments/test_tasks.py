"""What the tasks leave behind, checked against the solver's own words and closed forms."""

import json

import msgspec
import numpy as np
import pytest

import bsfw
from bsfw.experiments import problems
from bsfw.experiments.problems import Problem, ProblemSpec
from bsfw.experiments.problems.linear_model import LinearModel, Source
from bsfw.experiments.problems.plane import Plane
from bsfw.experiments.problems.sets import SetSpec
from bsfw.experiments.schema import checked
from bsfw.experiments.spec import plan
from bsfw.experiments.tasks import Cost, Facts, Solve, Solved
from bsfw.experiments.tasks.plane import minimiser_in_polygon
from bsfw.experiments.tasks.solve import Columns

CANCER = LinearModel(data=Source(name="breast-cancer"), objective="logistic", set=SetSpec(name="l1", radius=5.0))
PLANE = Plane(
    corners=((-1.0, 0.0), (1.0, 0.0), (0.0, 2.0)), target=(0.2, 0.1), curvature=(1.0, 2.0), samples=12, spread=0.5
)


def run_of(**changes):
    settings = {
        "problem": CANCER,
        "estimator": "jaguar",
        "coordinates": 1,
        "max_rounds": 10_000,
        "iterations": 30,
        "record_every": 4,
    }
    return Solve(**settings | changes)


def in_the_plane(**changes):
    return run_of(problem=PLANE, estimator="heavy-ball", coordinates=None, batch_size=3, **changes)


def exact(problem, **changes):
    return run_of(problem=problem, estimator="full", coordinates=None, **changes)


def task_of(name, place=0):
    return plan(name).tasks[place]


def test_a_run_leaves_its_trace_and_result_as_minimize_gives_them():
    data = run_of().run()
    objective = problems.build(CANCER, 0).objective
    result = bsfw.minimize(
        objective,
        bsfw.L1Ball(5.0),
        estimator=bsfw.JAGUAR(),
        method="boosted",
        max_rounds=10_000,
        max_iter=30,
        record_every=4,
        rng=problems.streams(0)["batches"],
    )
    for name in Columns.__struct_fields__:
        if name != "seconds":
            np.testing.assert_array_equal(data.column(name), result.trace[name].astype(float))
    assert data.trace.iteration == (0, 4, 8, 12, 16, 20, 24, 28, 30)
    assert data.result.fun == result.fun
    assert data.result.status == "ITERATIONS"
    assert data.trace.lmo_calls[-1] == result.lmo_calls
    assert checked(json.loads(msgspec.json.encode(data)), Solved, "the record") == data


def test_every_run_names_its_method(monkeypatch):
    seen = []
    solver = bsfw.Solver.__init__

    def watched(self, *arguments, **options):
        seen.append(options["method"])
        solver(self, *arguments, **options)

    monkeypatch.setattr(bsfw.Solver, "__init__", watched)
    run_of().run()
    in_the_plane(max_rounds=1).run()
    task_of("toy").run()
    task_of("boosting-step").run()
    assert seen == ["boosted"] * 4


def test_boosted_and_vanilla_runs_of_a_seed_draw_the_same_batches_from_the_same_start(monkeypatch):
    from bsfw.estimators import heavy_ball

    drawn, draw = [], heavy_ball.draw

    def watched(*arguments):
        drawn.append(draw(*arguments).tolist())
        return np.array(drawn[-1])

    monkeypatch.setattr(heavy_ball, "draw", watched)

    def run(**changes):
        drawn.clear()
        data = in_the_plane(record_every=1, **changes).run()
        return drawn[-30:], data.trace.value[0]  # the draws before are those of the warm-up

    boosted, vanilla, other = run(), run(max_rounds=1), run(seed=1)
    assert boosted == vanilla
    assert len(boosted[0]) == 30
    assert other[0] != boosted[0]


def test_the_three_streams_of_a_seed_are_different_and_repeatable():
    numbers = [problems.streams(seed)[name].random() for seed in (3, 4) for name in ("problem", "start", "batches")]
    assert len(set(numbers)) == 6
    assert numbers[0] == problems.streams(3)["problem"].random()


def test_random_problems_follow_the_seed_and_data_sets_do_not():
    assert problems.build(CANCER, 0) is problems.build(CANCER, 1)
    x = np.zeros(2)
    values = [problems.build(PLANE, seed).objective.value(x) for seed in (0, 1, 0)]
    assert values[0] == values[2] != values[1]


class Made(ProblemSpec, frozen=True, kw_only=True, tag="made"):
    """A problem that a test makes."""

    name: str

    @property
    def label(self):
        return self.name

    def build(self, rng):
        return MADE[self.name]


MADE = {}


def test_metrics_are_aligned_with_the_trace_and_the_start_has_its_own_stream():
    objective, ball = bsfw.Quadratic(np.ones(3), np.array([1.0, -2.0, 0.5])), bsfw.L2Ball(1.0)
    MADE["sphere"] = Problem(
        objective, ball, {"n": 3}, lambda rng: rng.uniform(-0.3, 0.3, 3), {"again": objective.value}
    )
    data, vanilla = (exact(Made(name="sphere"), seed=5, max_rounds=rounds).run() for rounds in (10_000, 1))
    assert data.metrics["again"] == data.trace.value
    assert data.trace.value[0] == objective.value(problems.streams(5)["start"].uniform(-0.3, 0.3, 3))
    assert data.trace.value[0] == vanilla.trace.value[0]


def test_what_is_done_once_is_done_before_the_run_that_counts():
    first = []

    class Prepared(bsfw.Quadratic):
        def _gradient(self, x):
            first.append(self.counts)
            return super()._gradient(x)

    MADE["prepared"] = Problem(Prepared(np.ones(2), np.ones(2)), bsfw.L2Ball(1.0), {})
    run = exact(Made(name="prepared"), iterations=20)
    data = run.run()
    assert first[0].sample_gradients < data.trace.sample_gradients[-1] == first[-2].sample_gradients == 21
    calls = len(first)
    assert run.run().trace.value == data.trace.value
    assert len(first) - calls < calls  # the second run of a kind needs no preparation


def test_a_run_that_breaks_down_is_an_error_and_no_result():
    # Finite at the start, infinite near the minimiser.
    fun = bsfw.Function(
        lambda x: float(np.sum(x**2)),
        lambda x: 2 * x if np.abs(x).max() > 0.4 else np.full(2, np.nan),
        shape=(2,),
    )
    MADE["broken"] = Problem(fun, bsfw.LinfBall(1.0), {}, lambda _: np.ones(2))
    with pytest.raises(ArithmeticError, match="not finite"):
        exact(Made(name="broken")).run()


def sides(point, corners):
    """Which side of each edge a point is on, for corners in counterclockwise order: negative is outside."""
    corners = np.array(corners)
    edges, away = np.roll(corners, -1, axis=0) - corners, np.array(point) - corners
    return edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]


def turns(points):
    steps = np.diff(np.array(points), axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    steps = steps[lengths > 1e-6 * lengths.max()]
    cosines = (steps[1:] * steps[:-1]).sum(1) / np.linalg.norm(steps[1:], axis=1) / np.linalg.norm(steps[:-1], axis=1)
    return np.degrees(np.arccos(np.clip(cosines, -1, 1)))


def test_in_the_toy_problem_frank_wolfe_zigzags_and_boosting_does_not():
    boosted, vanilla = (task_of("toy", place).run() for place in (0, 1))
    corners = task_of("toy").problem.corners
    assert boosted.points[0] == vanilla.points[0]
    for data in (boosted, vanilla):
        assert min(sides(point, corners).min() for point in data.points) > -1e-9
        assert len(data.points) == len(data.values) == 31
        assert data.values[-1] >= data.optimum
    assert np.median(turns(vanilla.points)) > 135
    assert np.median(turns(boosted.points)) < 45
    assert boosted.values[-1] - boosted.optimum < 0.05 * (vanilla.values[-1] - vanilla.optimum)
    # The minimiser lies on an edge: one side is zero, the others are not.
    assert sorted(np.abs(sides(boosted.minimiser, corners)) < 1e-12) == [False] * 5 + [True]


@pytest.mark.parametrize("target", [(0.2, 0.1), (0.3, -1.0), (2.0, 2.0), (-3.0, -0.5), (0.0, 0.0)])
def test_the_minimiser_over_a_polygon_is_that_of_a_solver(target):
    corners, c = np.array(PLANE.corners), np.array([1.0, 3.0])
    objective = bsfw.Quadratic(c, -c * target)
    found = minimiser_in_polygon(objective, corners)
    result = bsfw.minimize(
        objective, bsfw.ConvexHull(corners), method="boosted", step="line-search", max_iter=3000, gap_tol=1e-5
    )
    assert sides(found, corners).min() > -1e-12
    assert objective.value(found) <= result.fun + 1e-12
    assert objective.value(found) >= result.fun - result.gap - 1e-12


def test_the_boosting_step_is_one_of_heavy_ball_and_its_rounds_add_up():
    settings_ = task_of("boosting-step")
    data = {name: np.array(value) for name, value in msgspec.structs.asdict(settings_.run()).items()}
    x, m = data["x"], data["estimate"]
    rate = bsfw.HeavyBall(batch_size=3).rate(settings_.iterations, 1.0)
    mean = data["batch_gradients"].mean(axis=0)
    np.testing.assert_allclose(m, (1 - rate) * data["momentum_before"] + rate * mean)
    hull = bsfw.ConvexHull(data["corners"])
    direction = bsfw.boost(m, x, hull.lmo, settings_.max_rounds, settings_.min_gain)
    assert len(data["vertices"]) == direction.rounds == len(data["psi"]) + 1 == 3
    for vertex, residual in zip(data["vertices"], data["residuals"], strict=True):
        np.testing.assert_array_equal(vertex, hull.lmo(-residual).dense())
    np.testing.assert_allclose(data["direction"], direction.dense(x))
    np.testing.assert_allclose(data["direction"], data["psi"][-1] / data["lambdas"].sum())
    np.testing.assert_allclose(data["residuals"][1:], -m - data["psi"])
    assert (np.diff(data["alignments"]) > settings_.min_gain).all()
    assert data["alignments"][-1] == pytest.approx(direction.alignment)
    assert 0 < data["gamma"] < 1
    np.testing.assert_allclose(data["next"], x + data["gamma"] * data["direction"])
    assert hull.contains(data["next"])


def test_costs_are_measured_for_the_gradient_that_the_estimators_ask(monkeypatch):
    asked = []
    for name in ("batch_gradient", "partial_derivatives", "gradient"):
        method = getattr(bsfw.objectives.LinearModel, name)

        def watched(self, x, *rest, name=name, method=method):
            asked.append((name, *(len(part) for part in rest)))
            return method(self, x, *rest)

        monkeypatch.setattr(bsfw.objectives.LinearModel, name, watched)
    for sampling, call, words in (
        ({"batch_size": 20}, ("batch_gradient", 20), "20 of 683 samples"),
        ({"coordinates": 2}, ("partial_derivatives", 2), "2 of 10 partial"),
        ({}, ("gradient",), "a full gradient"),
    ):
        asked.clear()
        data = Cost(problem=CANCER, repeats=3, **sampling).run()
        assert asked[-1] == call
        assert words in data.case
        assert data.ratio == data.lmo_seconds / data.gradient_seconds > 0


def test_costs_of_matrices_are_those_of_the_nuclear_ball():
    table = {"kind": "least-squares", "samples": 8, "shape": [4, 3], "set": "nuclear", "radius": 1}
    problem = problems.resolve(table, None)
    data = Cost(problem=problem, repeats=2).run()
    assert problem.label == "least squares, 8 samples, 4 x 3"
    assert "nuclear" in data.case
    objective = problems.build(problem, 0).objective
    x, batch = np.ones((4, 3)), np.arange(8)
    np.testing.assert_allclose(objective.batch_gradient(x, batch), objective.gradient(x))


def test_data_parameters_are_those_of_the_data():
    data = Facts(problem=CANCER, coordinates=1).run()
    assert (data.n, data.m, data.nonzeros) == (10, 683, 6830)


def test_only_zoja_has_a_constant_c_and_all_are_those_of_the_estimators():
    data = task_of("estimator-constants", 1).run()
    rows = {row.estimator: row for row in data.rows}
    assert list(rows) == ["sega", "jaguar", "zoja"]
    assert {name for name, row in rows.items() if row.C != 0} == {"zoja"}
    stated = bsfw.SEGA().constants(n_samples=683, dimension=10, smoothness=data.smoothness)
    assert all(getattr(rows["sega"], name) == getattr(stated, name) for name in ("rho1", "rho2", "A", "B", "C", "E"))
    batch = task_of("estimator-constants", 0)
    smoothness = {row.estimator: row.smoothness for row in batch.run().rows}
    objective = problems.build(batch.problem, 0).objective
    assert smoothness["sag"] == objective.image_smoothness()
    assert smoothness["saga"] == smoothness["heavy-ball"] == objective.sample_smoothness()


def test_the_stand_in_for_rcv1_has_its_shape_and_sparsity():
    from bsfw.datasets.synthetic import rcv1_like

    A, y = rcv1_like()
    assert A.shape == (20_242, 47_236)
    assert 73 < A.nnz / A.shape[0] < 75.5
    np.testing.assert_allclose(np.sqrt(A.power(2).sum(axis=1)), 1.0)
    assert set(np.unique(y)) == {-1.0, 1.0}
