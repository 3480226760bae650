"""`bsfw reproduce movielens`: its plan, its stand-in data, its view and its claims."""

import numpy as np
import pytest

from bsfw.datasets.synthetic import ratings_like
from bsfw.experiments import problems, runner, spec, views

TINY = """
view = "filtering"
runs = 1
iterations = 12
record_every = 2
estimators = ["saga", "heavy-ball"]
batch_size = 0.2
max_rounds = 3
decays = "horizon"
[[panel]]
title = "{data}, tiny"
[panel.problem]
kind = "completion"
data = "movielens"
radius = 50
"""


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("BSFW_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BSFW_CACHE", str(tmp_path / "cache"))
    problems._build.cache_clear()


def test_without_the_published_file_every_title_says_synthetic():
    experiment = spec.plan("movielens")
    assert experiment.name == "ml-100k-like-synthetic"
    assert spec.built_in_order(experiment.name)[0] == spec.BUILT_IN.index("movielens")
    assert "synthetic" in experiment.title
    assert len(experiment.panels) == 2
    assert all("synthetic" in panel.title for panel in experiment.panels)
    assert spec.missing_data(experiment) == []


def test_with_the_published_file_it_is_ml_100k(tmp_path):
    from bsfw.datasets.registry import ENTRIES

    for file in ENTRIES["ml-100k"].files:
        place = tmp_path / "data" / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("only looked for, not read")
    experiment = spec.plan("movielens")
    assert experiment.name == "movielens"
    assert experiment.panels[0].title == "ml-100k, batches of 10 %"


def test_the_settings_are_those_of_the_paper():
    tasks = spec.plan("movielens", runs=1).tasks
    assert {task.estimator for task in tasks} == {"l-svrg", "saga", "heavy-ball"}
    assert {task.max_rounds for task in tasks} == {1, 5}
    assert {task.iterations for task in tasks} == {400}
    assert {task.batch_size for task in tasks} == {0.1, 0.5}
    assert {task.problem.radius for task in tasks} == {5000.0}
    for task in tasks:
        boosted_horizon = task.max_rounds == 5 and task.estimator != "heavy-ball"
        assert task.decay == ("stochastic-horizon" if boosted_horizon else "auto")


def test_a_small_run_gives_curves_tables_and_verdicts(tmp_path, monkeypatch):
    monkeypatch.setattr("bsfw.datasets.synthetic.ratings_like", lambda: ratings_like((40, 30), 300))
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    experiment = spec.plan(str(path))
    results = {task.key: runner._record(task, 1) for task in experiment.tasks}
    assert [record.error for record in results.values()] == [None] * 4
    view = views.make_view(experiment, results)
    assert [next(iter(plot.axes)) for plot in view.plots] == ["sample_gradients", "seconds"]
    assert all("synthetic" in plot.title for plot in view.plots)
    assert len(view.plots[0].series) == 4
    assert [verdict.outcome for verdict in view.verdicts] == ["not evaluated"] * 3
    assert all("stand-in for" in verdict.finding for verdict in view.verdicts)
    assert any("synthetic" in note for note in view.notes)


def test_the_stand_in_has_the_size_of_ml_100k_and_ratings_from_one_to_five():
    rows, cols, values, shape = ratings_like()
    assert shape == (943, 1682)
    assert len(values) == len(np.unique(rows * shape[1] + cols)) == 100_000
    assert set(np.unique(values)) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert rows.max() < 943
    assert cols.max() < 1682


def test_an_unknown_set_of_ratings_is_refused(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY.replace('"movielens"', '"mushrooms"'))
    with pytest.raises(ValueError, match="set of ratings"):
        spec.plan(str(path))
