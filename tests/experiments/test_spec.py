"""Specifications: what they expand to, and that nothing unknown gets through."""

import pickle
from importlib import resources

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bsfw.experiments import problems, spec
from bsfw.experiments.schema import checked
from bsfw.experiments.sweeps import SolveSweep
from bsfw.experiments.tasks import AnyTask, Cost

SHORTEST = """\
estimators = ["saga", "heavy-ball"]
batch_size = 404
[[panel]]
[panel.problem]
data = "mushrooms"
objective = "logistic"
set = "l1"
radius = 50
"""


@pytest.fixture(autouse=True)
def _no_data_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("BSFW_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BSFW_DATA", raising=False)


@pytest.fixture
def planned(tmp_path):
    """planned(text) plans a specification file of a user."""

    def plan(text, **options):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return spec.plan(str(path), **options)

    return plan


def keys(experiment):
    return {task.key for panel in experiment.panels for task in panel.tasks}


def test_every_built_in_file_is_listed_and_every_listed_one_is_there():
    folder = resources.files("bsfw.experiments") / "specs"
    assert sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir()) == sorted(spec.BUILT_IN)


@pytest.mark.parametrize("name", spec.BUILT_IN)
def test_built_in_specifications_plan_and_their_quick_runs_are_some_of_all_runs(name):
    full, quick = spec.plan(name), spec.plan(name, quick=True)
    assert full.title
    assert full.claim
    assert full.tasks
    if name != "when-to-boost":  # its quick form measures less often, which is another record
        assert keys(quick) <= keys(full)


def test_figures_of_the_same_runs_share_their_records():
    three = set().union(*(keys(spec.plan(name)) for name in ("rcv1", "mushrooms", "breast-cancer")))
    assert keys(spec.plan("expected-loss")) == three
    assert keys(spec.plan("step-sizes")) < three
    # These record every iteration, which is another record.
    assert {task.record_every for task in spec.plan("oracle-calls").tasks} == {1}


def test_the_parameters_of_the_paper():
    task = spec.plan("rcv1").tasks[0]
    assert task.batch_size == 742
    assert task.problem.set.radius == 100.0
    assert (task.max_rounds, task.min_gain, task.iterations) == (10_000, 1e-4, 2000)
    gains = {task.min_gain for task in spec.plan("oracle-calls").tasks}
    assert gains == {1e-2, 1e-3, 1e-4, 1e-5}


def test_the_shortest_specification_has_eight_lines(planned):
    experiment = planned(SHORTEST)
    assert len(SHORTEST.splitlines()) == 8
    assert experiment.name == experiment.title == "mine"
    assert experiment.panels[0].title == "mushrooms"
    assert len(keys(experiment)) == len(experiment.panels[0].tasks) == 2 * 2 * 10
    assert {task.max_rounds for task in experiment.panels[0].tasks} == {1, 10_000}


def test_boosted_and_vanilla_differ_in_rounds_only(planned):
    boosted, vanilla = planned(SHORTEST, runs=1).tasks[:2]
    assert (boosted.max_rounds, vanilla.max_rounds) == (10_000, 1)
    assert replace(boosted, max_rounds=1) == vanilla


def test_lists_sweep_the_boosted_runs_and_leave_one_vanilla_run(planned):
    text = 'min_gain = [1e-2, 1e-3]\nmax_rounds = [5, 50]\ndecays = ["auto", "piecewise"]\nruns = 1\n' + SHORTEST
    tasks = planned(text).panels[0].tasks
    assert len(tasks) == 2 * (2 * 2 * 2 + 1)
    # ... which is the one of every other tolerance.
    assert {task.key for task in tasks if task.max_rounds == 1} < keys(planned(SHORTEST))


def test_panels_override_the_top_and_quick_tables_override_panels(planned):
    panel = SHORTEST[SHORTEST.index("[panel.problem]") :]
    text = (
        f"runs = 2\niterations = 100\n[[panel]]\niterations = 50\n{panel}[panel.quick]\nruns = 1\n"
        f"[[panel]]\n{panel}[quick]\nruns = 3\niterations = 7\n"
    )

    def of(experiment):
        return [(len({task.seed for task in p.tasks}), p.tasks[0].iterations) for p in experiment.panels]

    assert of(planned(text)) == [(2, 50), (2, 100)]
    assert of(planned(text, quick=True)) == [(1, 7), (3, 7)]
    assert of(planned(text, quick=True, runs=4)) == [(4, 7), (4, 7)]
    assert (planned(text).runs, planned(text).quick) == (2, False)
    assert (planned(text, quick=True).runs, planned(text, quick=True).quick) == (None, True)
    assert planned(text).panels[0].parameters["iterations"] == "50"


@pytest.mark.parametrize(
    ("text", "given_", "known"),
    [
        ("itrations = 5\n" + SHORTEST, "'itrations'", "iterations"),
        (SHORTEST.replace("[[panel]]", "[[panel]]\nradios = 1"), "'radios'", "problem"),
        (SHORTEST + "tau = 3\n", "'tau'", "radius"),
        (SHORTEST + "[quick]\nrun = 3\n", "'run'", "runs"),
        (SHORTEST + "[panel.quick]\ntitle = 'x'\n", "'title'", "runs"),
        (SHORTEST.replace('"mushrooms"', '"toadstools"'), "'toadstools'", "breast-cancer"),
        (SHORTEST.replace('"logistic"', '"logit"'), "'logit'", "logistic"),
        (SHORTEST.replace('"l1"', '"l7"'), "'l7'", "nuclear"),
        (SHORTEST.replace('"saga"', '"sgd"'), "'sgd'", "heavy-ball"),
        (SHORTEST + 'kind = "triangle"\n', "'triangle'", "linear-model"),
        ('decays = "fast"\n' + SHORTEST, "'fast'", "piecewise"),
        ('step = "giant"\n' + SHORTEST, "'giant'", "line-search"),
        ('view = "pie"\n' + SHORTEST, "'pie'", "convergence"),
        ('task = "dance"\n' + SHORTEST, "'dance'", "trajectory"),
        ('methods = ["plain"]\n' + SHORTEST, "'plain'", "vanilla"),
        ("estimators = []\n" + SHORTEST.partition("\n")[2], "estimators", "jaguar"),
        ("repeats = 3\n" + SHORTEST, "repeats", "min_gain"),
    ],
)
def test_unknown_keys_and_values_are_refused_with_what_is_known(planned, text, given_, known):
    with pytest.raises(ValueError, match=r"mine\.toml: ") as caught:
        planned(text)
    message = str(caught.value)
    assert given_ in message
    assert known in message.partition(given_)[2]
    assert "\n" not in message


@pytest.mark.parametrize(
    "line",
    [
        "runs = 0",
        "runs = 2.5",
        "iterations = -1",
        'iterations = "many"',
        "max_rounds = 0",
        "min_gain = 0.0",
        "min_gain = [1e-3, 2]",
        "min_gain = []",
        "coordinates = -1",
        "title = 3",
        "quick = 1",
    ],
)
def test_bad_values_at_the_top_are_refused(planned, line):
    with pytest.raises(ValueError, match=line.split()[0].split("_")[0]):
        planned(line + "\n" + SHORTEST)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("radius = 50", "radius = -50", "radius"),
        ("radius = 50", "", "the set l1 takes radius; missing: radius"),
        ("radius = 50", "radius = 50\nk = 3", "the set l1 takes radius; not its own: k"),
        ('objective = "logistic"', "", "has no objective; it needs data, objective, set"),
        ("batch_size = 404", "batch_size = -1", "batch_size"),
        ("batch_size = 404", "batch_size = 1.5", "fraction"),
        ("batch_size = 404", "batch_size = 9000", "8124"),  # found by putting the run together
        ("batch_size = 404", "coordinates = 1", "means nothing to the estimators"),
        ("objective", "intercept = 1\nobjective", "true or false"),
        ("[panel.problem]", "", "unknown key 'data'"),
        ("[[panel]]\n", "[panel]\n", r"must be \[\[panel\]\] tables"),
        ('"mushrooms"', '"news20', "line"),
    ],
)
def test_bad_values_elsewhere_are_refused(planned, old, new, words):
    with pytest.raises(ValueError, match=words):
        planned(SHORTEST.replace(old, new))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"runs = {10**9}\n" + SHORTEST,
            "runs in the specification of a task 'solve' must be a whole number from 1 to",
        ),
        (f"runs = {10**400}\n" + SHORTEST, "runs in the specification"),
        (f"runs = {'9' * 5000}\n" + SHORTEST, "a line of 5,007 characters"),
        (f"iterations = {10**10}\n" + SHORTEST, "iterations in the specification"),
        ("iterations = 1000000\nrecord_every = 1\n" + SHORTEST, "more than 100,000 rows"),
        (f"batch_size = {10**400}\n" + SHORTEST.replace("batch_size = 404\n", ""), "batch_size in the specification"),
        (SHORTEST.replace("50", "1" + "0" * 400), r"radius in \[panel.problem\] must be a positive finite number"),
        (SHORTEST.replace("50", "nan"), "positive finite number, got nan"),
        (SHORTEST.replace("50", "inf"), "positive finite number, got inf"),
        (SHORTEST.replace("50", "1e999"), "positive finite number, got inf"),
        ("x = " + "[\n" * 90_000, "nested too deeply"),
        ("x = " + "[" * 3_900, "nested too deeply"),
        ("x = " + "{a=" * 1_300, "nested too deeply"),
        ("title = " + "[" * 200 + "]" * 200 + "\n" + SHORTEST, "title in the specification must be text"),
        (f"title = '{'x' * 3000}'\n" + SHORTEST, "at most 2,000 characters"),
        ("title = '\\u001b'\n".replace("'", '"') + SHORTEST, "text of one line"),
        (
            "runs = 10000\n" + SHORTEST.replace("404\n", "404\nmin_gain = [0.1, 0.2, 0.3, 0.4, 0.5]\n"),
            "more than 100,000",
        ),
        (SHORTEST + SHORTEST[SHORTEST.index("[[panel]]") :] * 100, "1 to 100 of them"),
        ("# x\n" * 50_001, "at most 200,000 are read"),
        (".".join("a" * 90_000) + " = 1", "a line of 180,003 characters; at most 4,000"),
        ("\n".join(f"x{k} = 1" for k in range(10_000)), "unknown key|has no panel"),
        (".".join("a" * 1_900) + " = 1", "unknown key|has no panel"),
    ],
)
def test_what_would_fill_the_memory_is_refused_with_the_limit(planned, text, words):
    with pytest.raises(ValueError, match=words) as caught:
        planned(text)
    assert "mine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_problems_that_are_made_are_bounded():
    for table, words in (
        ({"kind": "least-squares", "samples": 10**6, "shape": [10**4], "set": "l1", "radius": 1}, "at most 50,000,000"),
        ({"kind": "plane", "corners": [[0, 0], [1, 0], [0, 1]], "target": [0, 0], "samples": 10**9}, "25,000,000"),
        ({"kind": "tomography", "noise": 0.1, "radius": 1, "qubits": 7}, "at most 6"),
    ):
        with pytest.raises(ValueError, match=words):
            problems.resolve(table, None)


def test_a_file_may_not_have_the_name_of_a_built_in_experiment(tmp_path):
    (tmp_path / "mushrooms.toml").write_text(SHORTEST)
    with pytest.raises(ValueError, match="rename"):
        spec.plan(str(tmp_path / "mushrooms.toml"))


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'mushroom'.*mushrooms.*\.toml"):
        spec.plan("mushroom")


def test_rcv1_without_its_file_is_called_synthetic_everywhere():
    experiment = spec.plan("rcv1")
    assert experiment.name == "rcv1-like-synthetic"
    assert "rcv1-like (synthetic)" in experiment.title
    assert [panel.title for panel in experiment.panels] == ["rcv1-like (synthetic)"]
    assert {(task.problem.data.name, task.problem.stand_in) for task in experiment.tasks} == {("rcv1-like", "rcv1")}
    assert [panel.stand_in for panel in experiment.panels] == ["rcv1"]
    assert spec.missing_data(experiment) == []
    for name in ("expected-loss", "step-sizes", "piecewise", "data-parameters", "when-to-boost"):
        assert "rcv1-like (synthetic)" in [panel.title for panel in spec.plan(name).panels]


def test_rcv1_with_its_file_is_the_published_set(tmp_path, monkeypatch):
    (tmp_path / "rcv1_train.binary").mkdir()
    (tmp_path / "rcv1_train.binary" / "rcv1_train.binary").write_text("only looked for, not read")
    monkeypatch.setenv("BSFW_DATA", str(tmp_path))
    experiment = spec.plan("rcv1")
    assert experiment.name == "rcv1"
    assert [panel.title for panel in experiment.panels] == ["rcv1"]
    assert {(task.problem.data.name, task.problem.stand_in) for task in experiment.tasks} == {
        ("rcv1_train.binary", None)
    }


def test_data_that_would_be_downloaded_is_known_while_planning():
    assert spec.missing_data(spec.plan("news20")) == ["news20-halves"]
    assert spec.missing_data(spec.plan("mushrooms")) == []


def test_a_file_of_samples_is_found_beside_the_specification_and_its_content_is_part_of_the_key(planned, tmp_path):
    text = SHORTEST.replace("404", "2").replace("mushrooms", "train.svm")
    seen = []
    for value in ("1.5", "2.5"):
        (tmp_path / "train.svm").write_text(f"-1 1:{value}\n1 2:3\n1 1:1 2:1\n")
        experiment = planned(text)
        assert experiment.panels[0].title == "train"
        seen.append(keys(experiment))
    assert not seen[0] & seen[1]


def test_labels_that_do_not_fit_the_loss_are_refused_before_anything_runs(planned, tmp_path):
    (tmp_path / "train.svm").write_text("1 1:1\n2 1:2\n3 1:3\n")
    with pytest.raises(ValueError, match=r"mine\.toml: .*[Ll]ogistic"):
        planned(SHORTEST.replace("404", "2").replace("mushrooms", "train.svm"))


def test_problem_tables_say_what_they_need():
    for table, words in (
        ({"kind": "plane", "corners": [[0, 0]], "target": [0, 0]}, "three points"),
        ({"kind": "plane", "corners": [[0, 0], [1, 0], [0, "x"]], "target": [0, 0]}, "three points"),
        ({"kind": "plane", "corners": [[0, 0], [1, 0], [0, 1]], "target": [0, 0], "curvature": [1, -1]}, "positive"),
        ({"kind": "least-squares", "samples": 3, "shape": [2, 2, 2], "set": "l1", "radius": 1}, "shape"),
    ):
        with pytest.raises(ValueError, match=words):
            problems.resolve(table, None)


PROBLEM = problems.resolve({"data": "mushrooms", "objective": "logistic", "set": "l1", "radius": 50}, None)


@given(*[st.tuples(st.integers(1, 3), st.sampled_from([None, 1, 2, 0.5, 1.0])) for _ in range(2)])
def test_keys_are_equal_exactly_if_the_settings_are(first, second):
    one, two = (Cost(problem=PROBLEM, repeats=repeats, batch_size=size) for repeats, size in (first, second))
    assert (one.key == two.key) == (repr(first) == repr(second))  # one sample is not all of them: 1 is not 1.0


@pytest.mark.parametrize("name", spec.BUILT_IN)
def test_a_key_is_the_same_in_another_process_and_after_a_round_trip_through_a_file(name):
    for task in spec.plan(name, runs=1).tasks:
        assert pickle.loads(pickle.dumps(task)).key == task.key
        assert msgspec.json.decode(msgspec.json.encode(task), type=AnyTask).key == task.key


@given(
    st.sampled_from(["iterations", "max_rounds", "batch_size", "radius", "min_gain"]),
    st.integers(1, 400),
    st.integers(1, 400),
)
def test_changing_a_number_of_the_specification_changes_every_key_it_matters_to(name, first, second):
    def plan(number):
        table = {"data": "mushrooms", "objective": "logistic", "set": "l1", "radius": 50}
        values = {"estimators": ["saga"], "runs": 2}
        if name == "radius":
            table["radius"] = number
        else:
            values[name] = number / 400 if name == "min_gain" else number
        tasks = checked(values, SolveSweep, "it").tasks(problems.resolve(table, None))
        boosted_only = name in ("max_rounds", "min_gain")
        return {task.key for task in tasks if task.max_rounds > 1 or not boosted_only}

    if name == "max_rounds":  # one round is vanilla
        first, second = first + 1, second + 1
    assert (plan(first) == plan(second)) == (first == second)
    if first != second:
        assert not plan(first) & plan(second)
