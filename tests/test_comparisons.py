"""`bsfw.compare`: several methods on one problem, by what they cost."""

import numpy as np
import pytest

import bsfw

METHODS = {
    "vanilla": {"method": "boosted", "step": "line-search", "max_rounds": 1},
    "pairwise": {"method": "pairwise"},
    "SAGA": {"estimator": bsfw.SAGA(batch_size=10)},
}


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    return bsfw.LeastSquares(rng.standard_normal((40, 12)), rng.standard_normal(40)), bsfw.Simplex(1.0)


@pytest.fixture(scope="module")
def found(problem):
    return bsfw.compare(problem, METHODS, {"max_iter": 60}, seeds=3)


def test_only_what_draws_is_run_once_a_seed(found):
    assert {name: len(runs) for name, runs in found.results.items()} == {"vanilla": 1, "pairwise": 1, "SAGA": 3}
    assert len({run.fun for run in found.results["SAGA"]}) == 3


def test_runs_are_those_of_minimize_with_the_budgets(found, problem):
    alone = bsfw.minimize(*problem, estimator=bsfw.SAGA(batch_size=10), max_iter=60, rng=2)
    np.testing.assert_array_equal(found.results["SAGA"][2].x, alone.x)
    assert all(run.nit <= 60 for runs in found.results.values() for run in runs)


def test_every_row_has_an_exact_gap_also_of_an_estimate(found):
    for run in found.results["SAGA"]:
        assert run.trace["gap_exact"].all()


def test_the_table_has_medians_at_the_ends(found):
    rows = {row["method"]: row for row in found.table()}
    ends = [run.trace["sample_gradients"][-1] for run in found.results["SAGA"]]
    assert rows["SAGA"]["gradients"] == np.median(ends)
    assert rows["SAGA"]["suboptimality"] == pytest.approx(
        np.median([run.fun for run in found.results["SAGA"]]) - found.best
    )
    assert min(row["suboptimality"] for row in rows.values()) >= 0.0
    assert all(name in repr(found) for name in METHODS)


def test_the_table_at_a_gap_is_where_a_run_first_reached_it(found):
    row = next(row for row in found.table(gap=1e-3) if row["method"] == "pairwise")
    trace = found.results["pairwise"][0].trace
    first = np.flatnonzero(trace["gap"] <= 1e-3)[0]
    assert (row["iteration"], row["lmo_calls"], row["reached"]) == (first, trace["lmo_calls"][first], 1)
    assert trace["gap"][first - 1] > 1e-3
    out_of_reach = found.table(gap=-1.0)[0]
    assert out_of_reach["reached"] == 0
    assert np.isnan(out_of_reach["seconds"])


def test_names_of_methods_are_enough_and_an_objective_may_know_its_set(problem):
    assert list(bsfw.compare(problem, ["away", "corrective"], {"max_iter": 5}).results) == ["away", "corrective"]


def test_a_common_start_is_the_start_of_all(problem):
    x0 = np.full(12, 1 / 12)
    results = bsfw.compare(problem, METHODS, {"max_iter": 3}, x0=x0).results
    assert {runs[0].trace["value"][0] for runs in results.values()} == {problem[0].value(x0)}


def test_pandas_has_all_rows(found):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = found.to_pandas()
    assert len(frame) == sum(len(run.trace) for runs in found.results.values() for run in runs)
    assert set(frame["method"]) == set(METHODS)
    assert (frame["suboptimality"] >= 0.0).all()


def test_the_figure_has_a_curve_for_each_method_and_cost(found):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    figure = found.plot(costs=["lmo_calls", "gradients"])
    assert len(figure.axes) == 4
    for ax in figure.axes:
        labels = {line.get_label() for line in ax.lines if not line.get_label().startswith("_")}
        assert labels == set(METHODS)
        assert all(len(line.get_xdata()) > 0 for line in ax.lines)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": {}}, "empty"),
        ({"methods": {"a": 3}}, "settings of bsfw.minimize"),
        ({"methods": {"mine": {"method": "nope"}}}, "'mine': method must be one of"),
        ({"budgets": {"max_it": 3}}, "max_it"),
        ({"seeds": 0}, "at least one"),
    ],
)
def test_bad_input_gives_one_sentence(problem, change, words):
    with pytest.raises((TypeError, ValueError), match=words):
        bsfw.compare(problem, **{"methods": ["away"], **change})
