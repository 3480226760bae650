"""Specifications of one's own: tables with a label, methods with the exact gradient, sets with more than a radius."""

import numpy as np
import pytest

from bsfw.experiments import spec
from bsfw.experiments.methods import PanelRecords
from bsfw.experiments.model import Record
from bsfw.experiments.views import make_view

TABLE = """
methods = ["boosted", "vanilla", "corrective", "pairwise"]
iterations = 30
runs = 1
[[panel]]
[panel.problem]
data = "train.csv"
label = "kind"
objective = "logistic"
set = "l1"
radius = 3
"""


@pytest.fixture
def planned(tmp_path):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 3))
    kinds = np.where(A[:, 0] + 0.5 * rng.standard_normal(40) > 0, "good", "bad")
    rows = [",".join([*map(repr, map(float, row)), kind]) for row, kind in zip(A, kinds, strict=True)]
    (tmp_path / "train.csv").write_text("\n".join(["a,b,c,kind", *rows]) + "\n")

    def plan(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return spec.plan(str(path))

    return plan


def test_every_method_runs_on_a_table_and_is_called_by_its_name(planned):
    experiment = planned(TABLE)
    records = {task.key: Record(task=task, data=task.run(), seconds=1.0) for task in experiment.tasks}
    panel = PanelRecords.of(experiment.panels[0], records)
    names = [method.name for method in panel.methods]
    assert names == ["exact boosted", "exact vanilla", "corrective", "pairwise"]
    ends = {method.name: method.runs[0].result.fun for method in panel.methods}
    assert ends["corrective"] == pytest.approx(panel.minimum.value, rel=1e-8)
    assert ends["pairwise"] <= ends["exact vanilla"]
    # Only the paper's two methods are compared by its claims.
    assert [(one.name, other.name) for one, other in panel.pairs()] == [("exact boosted", "exact vanilla")]
    (plot, *_) = make_view(experiment, records).plots
    assert {curve.group for curve in plot.series} == {"full", "corrective", "pairwise"}


def test_sets_with_more_than_a_radius_are_taken(planned):
    for parameters in ('set = "k-sparse"\nk = 2\nradius = 1', 'set = "box"\nlower = -1\nupper = 2'):
        experiment = planned(
            TABLE.replace(', "corrective", "pairwise"', "").replace('set = "l1"\nradius = 3', parameters)
        )
        problem, _ = experiment.panels[0].tasks[0].parts()
        assert problem.facts["n"] == 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('label = "kind"\n', ""), r"'train.csv' is a table: say which column is the label"),
        (('"train.csv"', '"mushrooms"'), "label names a column of a table"),
        (('label = "kind"', 'label = "sort"'), "no column 'sort'"),
        (
            ("iterations = 30", 'estimators = ["saga"]'),
            "corrective needs the exact gradient, but the estimators are saga",
        ),
        (('"pairwise"]', '"newton"]'), "known are away, blended-pairwise, boosted"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(planned, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        planned(TABLE.replace(*change))
