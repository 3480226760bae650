"""f_min of convex panels is a certified minimum, not the best run's value."""

import math

import made_records as made
import msgspec
import numpy as np

from bsfw.experiments import spec
from bsfw.experiments.methods import PanelRecords
from bsfw.experiments.model import Record
from bsfw.experiments.statistics import Scale
from bsfw.experiments.tasks import Minimum, Solve
from bsfw.experiments.views import make_view

SHORT = """
iterations = 30
runs = 2
estimators = ["heavy-ball"]
[[panel]]
[panel.problem]
data = "{data}"
objective = "{objective}"
set = "l1"
radius = 5
"""


def planned(tmp_path, objective="logistic", data="breast-cancer"):
    path = tmp_path / "short.toml"
    path.write_text(SHORT.format(objective=objective, data=data))
    return spec.plan(str(path))


def recorded(experiment):
    return {task.key: Record(task=task, data=task.run(), seconds=1.0) for task in experiment.tasks}


def test_suboptimality_is_measured_from_the_minimum(tmp_path):
    experiment = planned(tmp_path)
    records = recorded(experiment)
    panel = PanelRecords.of(experiment.panels[0], records)
    best_run = min(run.column("value").min() for method in panel.methods for run in method.runs)
    assert panel.minimum.value < best_run
    assert 0.0 <= panel.minimum.gap <= 1e-9 * panel.minimum.value
    assert Scale.of(panel).lowest == panel.minimum.value
    view = make_view(experiment, records)
    heights = [height for series in view.plots[0].series for height in series.y]
    assert all(math.isfinite(height) and height > 0 for height in heights)  # no run is its own yardstick
    assert any("certified" in note for note in view.notes)


def test_a_nonconvex_panel_has_the_best_run_and_says_so(tmp_path):
    (tmp_path / "unit.svm").write_text("0 1:1 2:0.5\n1 1:-1 2:2\n1 2:1\n0 1:0.5\n" * 10)
    experiment = planned(tmp_path, "sigmoid-squared", "unit.svm")
    assert not any(isinstance(task, Minimum) for task in experiment.tasks)
    view = make_view(experiment, recorded(experiment))
    assert any("lowest and highest value of all runs" in note for note in view.notes)


def test_one_run_certifies_the_minimum_of_each_convex_panel():
    experiment = spec.plan("mushrooms")
    found = [task for task in experiment.tasks if isinstance(task, Minimum)]
    assert len(found) == len(experiment.panels) == 1
    assert len([task for task in experiment.tasks if isinstance(task, Solve)]) == 100
    again = msgspec.json.decode(msgspec.json.encode(found[0]), type=Minimum)
    assert again.key == found[0].key


def test_without_its_record_nothing_is_judged(tmp_path):
    experiment = planned(tmp_path)
    records = {key: record for key, record in recorded(experiment).items() if not isinstance(record.task, Minimum)}
    view = make_view(experiment, records)
    assert {verdict.outcome for verdict in view.verdicts} == {"not evaluated"}


def test_oracle_calls_are_drawn_as_medians_and_percentiles_not_as_a_block():
    rounds = [*(np.random.default_rng(0).integers(2, 60, 400).tolist()), 0]
    iterations = {"iteration": range(401), "rounds": rounds}
    record = made.solved(made.task(iterations=400), [1.0] * 401, **iterations)
    experiment, records = made.experiment("oracle-calls", [record])
    (curve,) = make_view(experiment, records).plots[0].series
    assert len(curve.y) == 40
    for place, (low, middle, high) in enumerate(zip(curve.low, curve.y, curve.high, strict=True)):
        part = rounds[10 * place : 10 * place + 10]
        assert middle == np.median(part)
        assert (low, high) == (np.percentile(part, 10), np.percentile(part, 90))
