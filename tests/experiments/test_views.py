"""Views: what the curves, tables and notes say of hand-made records."""

import math

import pytest
from made_records import (
    PROBLEM,
    STAND_IN,
    boosting_step,
    experiment,
    failed,
    pair,
    record,
    solved,
    task,
    trajectory,
)
from msgspec.structs import replace

from bsfw.experiments import claims
from bsfw.experiments.tasks import ConstantRows, Constants, Cost, Costs, Facts, Parameters
from bsfw.experiments.tasks.tables import EstimatorConstants
from bsfw.experiments.views import VIEWS, make_view


def view_of(view, *panels, **options):
    return make_view(*experiment(view, *panels, **options))


def test_suboptimality_is_measured_between_the_extremes_of_all_runs():
    view = view_of("convergence", pair([9.0, 3.0, 1.0], [9.0, 5.0, 11.0]))
    boosted, vanilla = view.plots[0].series
    assert boosted.y[:2] == [0.8, 0.2]
    assert vanilla.y == [0.8, 0.4, 1.0]
    assert view.plots[0].log_y


def test_the_run_that_attains_the_minimum_has_a_gap_there_and_a_note_says_so():
    view = view_of("convergence", pair([9.0, 3.0, 1.0], [9.0, 5.0, 2.0]))
    assert math.isnan(view.plots[0].series[0].y[2])
    assert any("f_min has no place" in note for note in view.notes)


def test_panels_have_extremes_of_their_own():
    first = pair([9.0, 3.0, 1.0], [9.0, 5.0, 2.0])
    second = [replace(one, task=replace(one.task, iterations=9))
              for one in pair([900.0, 300.0, 200.0], [900.0, 500.0, 100.0])]  # fmt: skip
    plots = view_of("convergence", first, second).plots
    assert plots[0].series[1].y == [1.0, 0.5, 0.125]
    assert plots[1].series[0].y == [1.0, 0.25, 0.125]


def test_a_curve_is_the_median_of_the_runs_against_the_medians_of_the_costs_within_their_range():
    runs = [
        solved(task(seed=seed), values, sample_gradients=costs)
        for seed, (values, costs) in enumerate(
            [([10.0, 4.0, 0.0], [1, 5, 9]), ([10.0, 6.0, 2.0], [2, 6, 30]), ([10.0, 8.0, 1.0], [3, 9, 12])]
        )
    ]
    (series,) = view_of("convergence", runs).plots[0].series
    assert series.y == [1.0, 0.6, 0.1]
    assert series.x["sample_gradients"] == [2.0, 6.0, 12.0]
    assert series.low == [1.0, 0.4, 0.1]  # the zero of the first run is cut at the smallest positive value
    assert series.high == [1.0, 0.8, 0.2]


def test_one_run_has_no_band():
    (series, _) = view_of("convergence", pair([2.0, 1.5], [2.0, 1.0])).plots[0].series
    assert series.low is None
    assert series.high is None


def test_runs_are_aligned_on_the_iterations_that_all_recorded():
    long = solved(task(seed=0), [8.0, 6.0, 4.0, 0.0], iteration=[0, 2, 4, 6])
    early = solved(task(seed=1), [8.0, 4.0, 2.0], iteration=[0, 4, 5])
    view = view_of("convergence", [long, early])
    (series,) = view.plots[0].series
    assert series.x["iteration"] == [0.0, 4.0]
    assert series.y == [1.0, 0.5]
    assert any("ended before others" in note for note in view.notes)


def test_axes_are_those_whose_gradients_the_iterations_asked():
    # The start of a coordinate method may take a full gradient: 683 samples, and none after.
    costs = {"sample_gradients": [683] * 3, "coordinate_gradients": [0, 11, 12]}
    plot = view_of("convergence", pair([9.0, 3.0, 1.0], [9.0, 5.0, 2.0], estimator="sega", **costs)).plots[0]
    assert list(plot.axes) == ["coordinate_gradients", "seconds", "lmo_calls", "iteration"]
    assert all(set(series.x) == set(plot.axes) for series in plot.series)
    assert plot.series[0].x["coordinate_gradients"] == [0.0, 11.0, 12.0]


@pytest.mark.parametrize(("most", "logarithmic"), [(40, False), (41, True)])
def test_costs_far_apart_are_drawn_on_a_logarithmic_axis(most, logarithmic):
    cheap = solved(task("saga"), [9.0, 1.0], sample_gradients=[0, 2])
    dear = solved(task("full"), [9.0, 2.0], sample_gradients=[0, most])
    assert view_of("convergence", [cheap, dear]).plots[0].log_x is logarithmic


def test_methods_are_told_apart_by_what_differs_and_by_nothing_else():
    records = [
        solved(task(decay="auto"), [3.0, 1.0]),
        solved(task(decay="piecewise"), [3.0, 2.0]),
        solved(task(boosted=False), [3.0, 2.5]),
        solved(task("sag"), [3.0, 2.5]),
    ]
    names = [series.name for series in view_of("comparison", records).plots[0].series]
    assert names == ["SAGA boosted, default decay", "SAGA boosted, piecewise decay", "SAGA vanilla", "SAG boosted"]


def test_the_piecewise_view_has_one_plot_a_decay_with_the_same_baseline_and_scale():
    records = [
        solved(task(decay="piecewise"), [5.0, 3.0]),
        solved(task(decay="auto"), [5.0, 1.0]),
        solved(task(boosted=False), [5.0, 4.0]),
    ]
    piecewise, any_time = view_of("piecewise", records).plots
    assert piecewise.title == "made, piecewise decay"
    assert [series.y for series in piecewise.series] == [[1.0, 0.5], [1.0, 0.75]]
    assert any_time.series[0].y[0] == 1.0
    assert any_time.series[1].y == [1.0, 0.75]


def test_expected_loss_is_the_mean_above_the_best_value_with_one_standard_deviation():
    records = [solved(task(seed=seed), values) for seed, values in enumerate([[10.0, 4.0], [14.0, 8.0]])]
    records.append(solved(task(boosted=False), [12.0, 2.0]))
    boosted, vanilla = view_of("expected-loss", records).plots[0].series
    assert boosted.y == [10.0, 4.0]
    assert boosted.low == pytest.approx([10 - 8**0.5, 4 - 8**0.5])
    assert boosted.high == pytest.approx([10 + 8**0.5, 4 + 8**0.5])
    assert vanilla.y[0] == 10.0
    assert vanilla.low is None
    assert boosted.x == {"iteration": [0.0, 1.0]}


def test_rounds_are_shown_and_summed_up_without_the_last_iterate():
    records = [
        solved(task(min_gain=gain, seed=seed), [3.0, 2.0, 1.0], rounds=[*rounds, 0])
        for gain, seed, rounds in ((1e-2, 0, (2, 4)), (1e-2, 1, (4, 8)), (1e-3, 0, (6, 10)))
    ]
    view = view_of("oracle-calls", records)
    assert [plot.title for plot in view.plots] == ["made, δ = 0.01", "made, δ = 0.001"]
    assert view.plots[0].series[0].y == [3.0, 6.0]
    assert view.plots[0].series[0].x["iteration"] == [0.0, 1.0]
    assert view.tables[0].rows == (("made", "SAGA", 1e-2, 2, 4.5, 8), ("made", "SAGA", 1e-3, 6, 8.0, 10))


def test_sparse_records_of_rounds_are_said_to_be_sparse():
    assert view_of("oracle-calls", [solved(task(), [2.0, 1.0])]).notes == ()
    (note,) = view_of("oracle-calls", [solved(task(record_every=7), [2.0, 1.0])]).notes
    assert "every 7 iterations" in note


def test_step_sizes_show_the_boosted_runs_beside_one_and_their_percentages():
    steps = [0.5, 0.25, None]
    records = [
        solved(task(seed=0), [3.0, 2.0, 1.0], gamma=steps, percentage=100.0),
        solved(task(seed=1), [3.0, 2.0, 1.0], gamma=steps, percentage=98.0),
        solved(task(boosted=False), [3.0, 2.0, 1.0]),
    ]
    view = view_of("step-sizes", records)
    (series,) = view.plots[0].series
    assert series.y == [0.5, 0.25]
    assert view.plots[0].lines == {"γ = 1": 1.0}
    assert view.tables[0].rows == (("made", "SAGA", 99.0, 98.0, 100.0),)


def test_a_comparison_shows_the_objective_and_every_metric():
    records = pair([400.0, 2.0], [400.0, 3.0], metrics={"fidelity": [0.1, 0.9]})
    value, fidelity = view_of("comparison", records).plots
    assert value.log_y
    assert value.series[0].y == [400.0, 2.0]
    assert not fidelity.log_y
    assert fidelity.y_label == "fidelity"
    assert fidelity.series[1].y == [0.1, 0.9]


@pytest.mark.parametrize("gone", ["missing", "failed"])
def test_runs_that_are_missing_or_failed_are_left_out_noted_and_nothing_is_judged(gone):
    records = pair([9.0, 3.0], [9.0, 5.0])
    lost = task("sag")
    if gone == "missing":
        view = view_of("convergence", records, missing=[lost])
        assert view.notes[0] == "Of 3 runs 1 are missing."
    else:
        view = view_of("convergence", [*records, failed(lost)])
        assert view.notes[0] == "Of 3 runs 1 failed (ArithmeticError: not finite)."
    assert {verdict.outcome for verdict in view.verdicts} == {"not evaluated"}
    assert len(view.plots[0].series) == 2


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_every_view_can_be_made_before_anything_has_run(view):
    made = view_of(view, [], missing=[task()])
    assert made.plots == ()
    assert all(verdict.outcome == "not evaluated" for verdict in made.verdicts)


def test_a_synthetic_stand_in_is_named_in_a_note():
    view = view_of("convergence", pair([9.0, 3.0], [9.0, 5.0], problem=STAND_IN))
    assert view.plots[0].title == "rcv1-like (synthetic)"
    assert all(row[0] == "rcv1-like (synthetic)" for row in view.tables[0].rows)
    assert any(note.startswith("rcv1-like (synthetic) is a seeded synthetic set") for note in view.notes)


def test_seconds_of_runs_that_shared_the_machine_are_marked_where_seconds_are_shown():
    records = pair([9.0, 3.0], [9.0, 5.0], jobs=2)
    assert any("2 runs shared the machine" in note for note in view_of("convergence", records).notes)
    assert not any("shared" in note for note in view_of("expected-loss", records).notes)


def test_tables_of_facts_constants_and_costs_are_the_records():
    facts = record(Facts(problem=PROBLEM, batch_size=2), Parameters(n=3, m=7))
    (table,) = view_of("facts", [facts]).tables
    assert table.rows == (("made", 3, 7, "-", 2, "-", 5.0),)
    row = EstimatorConstants(estimator="l-svrg", smoothness=2.0, rho1=1.0, rho2=0.5, A=1, B=2, C=0, E=3)
    of = Constants(problem=PROBLEM, estimators=("l-svrg",), iterations=5)
    (table,) = view_of("constants", [record(of, ConstantRows(rows=(row,), smoothness=1.0))]).tables
    assert table.rows == (("L-SVRG", 2.0, 1.0, 0.5, 1, 2, 0, 3),)
    costs = Costs(case="an LMO", lmo_seconds=1.0, gradient_seconds=4.0)
    (table,) = view_of("costs", [record(Cost(problem=PROBLEM, repeats=3), costs)]).tables
    assert table.rows == (("made", "an LMO", 1.0, 4.0, 0.25),)


def test_drawings_hold_what_is_drawn():
    points = ((0.0, 2.0), (0.5, 1.0))
    view = view_of("trajectories", [trajectory(points, True, 0.25), trajectory(points, False, 0.5)])
    (drawing,) = view.drawings
    assert [(path.name, path.points) for path in drawing.paths] == [("BFW", points), ("FW", points)]
    assert [row[3] for row in view.tables[0].rows] == [0.25, 0.5]
    (step,) = view_of("boosting-step", [boosting_step()]).drawings
    assert step.step.direction == (2 / 3, 2.0)


def test_an_unknown_view_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match=r"no view 'pie'; known are boosting-step, .*trajectories"):
        view_of("pie", pair([2.0, 1.0], [2.0, 1.5]))


def test_claims_are_made_of_views_that_exist():
    assert set(claims.CLAIMS) <= set(VIEWS)
