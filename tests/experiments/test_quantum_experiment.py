"""``bsfw reproduce tomography`` in small: the problem, what is recorded, what is drawn, and when the claim holds."""

import numpy as np
import pytest

from bsfw.experiments import problems, spec
from bsfw.experiments.methods import Method
from bsfw.experiments.model import Experiment, Panel, Record
from bsfw.experiments.problems.tomography import Tomography
from bsfw.experiments.statistics import end_means
from bsfw.experiments.tasks import Solve, Solved
from bsfw.experiments.tasks.solve import Columns, Ending
from bsfw.experiments.views import make_view

SMALL = """
view = "fidelity"
iterations = 40
record_every = 1
methods = ["boosted"]
max_rounds = [1, 3]
decays = ["inverse-sqrt"]
runs = 2
[[panel]]
[panel.problem]
kind = "tomography"
qubits = 1
noise = 0.05
radius = 3
"""


def test_the_papers_experiment_is_planned_as_the_paper_says():
    experiment = spec.plan("tomography")
    found = [panel.tasks[0].problem for panel in experiment.panels]
    assert [problem.noise for problem in found] == [0.01, 0.05, 0.1, 0.2]
    assert {(problem.qubits, problem.radius, problem.penalty, problem.reduction) for problem in found} == {
        (3, 10.0, 0.05, "sum")
    }
    assert {task.max_rounds for task in experiment.tasks} == {1, 2, 3, 5, 10}
    # One decay for all K: with another, K = 1 would be another method and not boosting without rounds.
    assert {(task.decay, task.min_gain, task.iterations) for task in experiment.tasks} == {("inverse-sqrt", 1e-4, 1000)}


def test_a_small_experiment_is_run_drawn_and_judged(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    experiment = spec.plan(str(path))
    found = {task.key: Record(task=task, data=task.run(), seconds=1.0) for task in experiment.tasks}
    for record in found.values():
        metrics = record.data.metrics
        assert len(metrics["fidelity"]) == len(metrics["fidelity_normalised"]) == 41
        assert max(metrics["fidelity_normalised"]) <= 1 + 1e-12
        assert metrics["fidelity"] != metrics["fidelity_normalised"]
    starts = {record.task.seed: set() for record in found.values()}
    for record in found.values():
        starts[record.task.seed].add(record.data.metrics["fidelity"][0])
    assert all(len(seen) == 1 for seen in starts.values())  # every K starts from the same point
    assert len(set.union(*starts.values())) == 2  # and every seed from its own
    view = make_view(experiment, found)
    assert [next(iter(plot.axes)) for plot in view.plots] == ["seconds", "iteration", "iteration"]
    assert [curve.name for curve in view.plots[0].series] == ["K = 1", "K = 3"]
    assert [row[1] for row in view.tables[0].rows] == [1, 3]
    assert len(view.verdicts) == 4


def test_other_kinds_of_noise_give_the_same_truth_and_start():
    tables = [problems.resolve({"kind": "tomography", "noise": xi, "radius": 10}, None) for xi in (0.01, 0.2)]
    made = [problems.build(table, 3) for table in tables]
    np.testing.assert_array_equal(made[0].objective.truth, made[1].objective.truth)
    np.testing.assert_array_equal(*(problem.start(np.random.default_rng(0)) for problem in made))
    assert problems.build(tables[0], 4).objective.truth[0, 0, 0] != made[0].objective.truth[0, 0, 0]


def run(max_rounds, seed, fidelity, normalised=None):
    problem = Tomography(noise=0.1, radius=1.0)
    task = Solve(problem=problem, estimator="full", max_rounds=max_rounds, iterations=30, record_every=1, seed=seed)
    zeros = (0,) * 31
    trace = Columns(
        iteration=tuple(range(31)), value=(1.0,) * 31, gap=(None,) * 31, gap_exact=(True,) * 31, rounds=zeros,
        gamma=(None,) * 31, sample_gradients=zeros, coordinate_gradients=zeros, lmo_calls=(1,) * 31,
        seconds=tuple(0.01 * row for row in range(31)),
    )  # fmt: skip
    metrics = {"fidelity": tuple(fidelity), "fidelity_normalised": tuple(normalised or fidelity)}
    ending = Ending(
        fun=1.0, gap=None, gap_exact=True, nit=30, boosting_percentage=None, seconds=0.3, status="ITERATIONS"
    )
    return Record(task=task, data=Solved(trace=trace, metrics=metrics, result=ending), seconds=1.0)


def twice(max_rounds, fidelity, normalised=None):
    return [run(max_rounds, seed, fidelity, normalised) for seed in (0, 1)]


def outcomes(*runs):
    panel = Panel(title="made", tasks=tuple(record.task for record in runs))
    experiment = Experiment(name="trial", title="Trial", view="fidelity", panels=(panel,))
    return [verdict.outcome for verdict in make_view(experiment, {record.task.key: record for record in runs}).verdicts]


def test_the_claim_is_judged_by_the_last_tenth_and_not_by_the_last_iterate():
    low, high = [0.5] * 28 + [0.9, 0.9, 1.3], [0.1] * 28 + [1.2, 1.2, 0.8]
    # (1.2 + 1.2 + 0.8) / 3 > (0.9 + 0.9 + 1.3) / 3
    assert outcomes(*twice(1, low), *twice(3, high)) == ["supported"] * 4
    assert outcomes(*twice(1, high), *twice(3, low)) == ["not supported"] * 4


def test_one_run_has_no_standard_error_and_supports_nothing():
    assert outcomes(run(1, 0, [0.1] * 31), run(3, 0, [0.9] * 31)) == ["not evaluated"] * 4


def test_more_rounds_that_end_lower_than_higher_do_not_support_the_claim():
    ends = {1: 0.5, 2: 0.6, 3: 0.4, 5: 0.3}
    records = [record for rounds, end in ends.items() for record in twice(rounds, [end] * 31)]
    assert outcomes(*records) == ["not supported"] * 4


def test_the_two_conventions_are_judged_apart_and_chance_is_not_counted():
    flat = [0.9] * 31
    differing = [*twice(1, [0.9] * 31, flat), *twice(3, [0.95] * 31, flat)]
    assert outcomes(*differing) == ["supported", "supported", "not supported", "not supported"]
    noisy = [run(1, seed, flat) for seed in range(4)]
    noisy += [run(3, seed, [0.9 + gain] * 31) for seed, gain in enumerate((0.1, -0.1, 0.12, -0.08))]
    assert outcomes(*noisy) == ["not supported"] * 4  # higher by 0.01 in the mean, with a standard error of 0.06


def test_the_end_of_a_run_is_its_last_tenth_up_to_a_cost():
    record = run(3, 0, [float(row) for row in range(31)])
    method = Method(record.task, "", (record.data,), (0,))
    assert end_means(method, "fidelity", "iteration").tolist() == [29.0]
    assert end_means(method, "fidelity", "seconds", 0.2).tolist() == [19.5]
    assert end_means(method, "fidelity", "seconds", 0.0).tolist() == [0.0]


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        ('kind = "tomography"\nnoise = 0.1', "has no radius; it needs noise, radius"),
        (
            'kind = "tomography"\nnoise = 0.1\nradius = 1\nqubits = 0',
            "must be a whole number of at least 1 and at most 6",
        ),
        ('kind = "tomography"\nnoise = 0.1\nradius = 1\nreduction = "max"', "reduction"),
        ('kind = "tomography"\nnoise = 0.1\nradius = 1\nrank = 2', "unknown key 'rank'"),
    ],
)
def test_bad_specifications_are_refused(tmp_path, problem, sentence):
    path = tmp_path / "bad.toml"
    path.write_text(f'view = "fidelity"\n[[panel]]\n[panel.problem]\n{problem}\n')
    with pytest.raises(ValueError, match=sentence):
        spec.plan(str(path))
