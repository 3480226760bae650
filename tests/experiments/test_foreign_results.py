"""`bsfw report` on a folder from somewhere else: damage is named and left out, and nothing is written outside."""

import json
import os
from pathlib import Path

import made_records as made
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bsfw.cli import main
from bsfw.experiments import limits, records
from bsfw.experiments.model import Experiment, Panel
from bsfw.experiments.page.curves import controls_key, group_data
from bsfw.experiments.views import VIEWS, make_view


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch):
    """Files are written, but what Matplotlib and Plotly put into them takes seconds and says nothing here."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, file, **options: file.write(b"a picture"))
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "var Plotly;")


def write(folder, view, *panels, name="trial"):
    experiment, found = made.experiment(view, *panels, name=name)
    records.write_manifest(folder, experiment)
    for record in found.values():
        records.write_record(folder, record)
    return experiment


@pytest.fixture
def folder(tmp_path):
    """Two experiments: "good" stays as it is, "trial" is to be damaged."""
    place = tmp_path / "results"
    write(place, "trajectories", [made.trajectory([[0, 2], [0, 1]], True, 0.1)], name="good")
    write(place, "convergence", made.pair([9.0, 3.0, 1.0], [9.0, 5.0, 2.0]))
    return place


def manifest(folder):
    return folder / "experiments" / "trial.json"


def record(folder):
    return next(iter(sorted((folder / "runs").glob("solve-*.json"))))


def edit(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def report(folder, capsys):
    """Exit code, what was said on stderr, and the page."""
    code = main(["report", str(folder)])
    page = folder / "index.html"
    return code, capsys.readouterr().err, page.read_text() if page.exists() else ""


def everything(folder):
    return {path for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", "..", "a/b", "a b", "", "x" * 300, "trial\n"])
def test_a_name_that_is_no_slug_is_refused_and_nothing_is_written_outside(folder, capsys, tmp_path, name):
    edit(manifest(folder), lambda content: content.update(name=name))
    before = everything(tmp_path)
    code, errors, page = report(folder, capsys)
    assert code == 1
    assert "left out: " in errors
    assert "trial.json" in errors
    assert "experiment-good" in page
    written = everything(tmp_path) - before
    assert written
    assert all(path.parent in (folder, folder / "figures") for path in written)
    assert not Path("/tmp/escaped.png").exists()


def test_a_name_that_is_not_that_of_its_file_cannot_replace_another_experiment(folder, capsys):
    edit(manifest(folder), lambda content: content.update(name="good"))
    code, errors, _ = report(folder, capsys)
    assert code == 1
    assert "whose file has another name" in errors


@pytest.mark.parametrize("kind", ["../../../etc/passwd", "/etc/passwd", "", None, ["solve"]])
def test_a_kind_is_a_word_and_no_path(folder, capsys, kind):
    edit(manifest(folder), lambda content: content["panels"][0]["tasks"][0].update(kind=kind))
    code, errors, page = report(folder, capsys)
    assert code == 1
    assert "trial.json" in errors
    assert "experiment-good" in page


def no_trace(content):
    del content["data"]["trace"]


def a_list_for_an_object(content):
    content["data"]["trace"] = [1, 2, 3]


def columns_of_unequal_length(content):
    content["data"]["trace"]["value"].append(0.5)


def no_rows(content):
    content["data"]["trace"] = {name: [] for name in content["data"]["trace"]}


def text_for_a_number(content):
    content["data"]["trace"]["value"][0] = "1.0"


def a_value_of_none(content):
    content["data"]["trace"]["value"][0] = None


def iterations_that_go_back(content):
    content["data"]["trace"]["iteration"][0] = 99


def another_task(content):
    content["task"]["seed"] = 7


def data_of_another_kind(content):
    content["data"] = {"kind": "facts", "n": 3, "m": 4, "nonzeros": 5}


def data_and_an_error(content):
    content["error"] = "ValueError: x"


def an_unknown_key(content):
    content["command"] = "rm -rf /"


def a_metric_of_another_length(content):
    content["data"]["metrics"] = {"fidelity": [0.5]}


def a_title_for_the_terminal(content):
    content["error"], content["data"] = "\x1b[2J", None


@pytest.mark.parametrize(
    "damage",
    [
        no_trace, a_list_for_an_object, columns_of_unequal_length, no_rows, text_for_a_number, a_value_of_none,
        iterations_that_go_back, another_task, data_of_another_kind, data_and_an_error, an_unknown_key,
        a_metric_of_another_length, a_title_for_the_terminal,
    ],
)  # fmt: skip
def test_a_damaged_record_is_named_and_left_out_and_the_rest_is_drawn(folder, capsys, damage):
    edit(record(folder), damage)
    code, errors, page = report(folder, capsys)
    assert code == 1
    assert errors.count("\n") == 1
    assert record(folder).name in errors
    assert "\x1b" not in errors
    assert "Traceback" not in errors
    assert "experiment-trial" in page
    assert "Of 2 runs 1 are missing" in page
    assert "experiment-good" in page


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"null", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b'{"task": NaN}',
        b'{"seconds": ' + b"9" * 400 + b"}", b'{"seconds": 1e999}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("which", [manifest, record])
def test_a_file_that_is_something_else_is_named_and_left_out(folder, capsys, which, content):
    path = which(folder)
    path.write_bytes(content)
    code, errors, page = report(folder, capsys)
    assert code == 1
    assert errors.count("\n") == 1
    assert path.name in errors
    assert "experiment-good" in page


def test_nan_in_a_record_is_named_and_left_out(folder, capsys):
    path = record(folder)
    path.write_text(path.read_text().replace("9.0", "NaN", 1))
    code, errors, _ = report(folder, capsys)
    assert code == 1
    assert path.name in errors


def test_a_file_larger_than_the_limit_is_not_read(folder, capsys, monkeypatch):
    monkeypatch.setattr(limits, "RECORD_BYTES", record(folder).stat().st_size - 1)
    code, errors, _ = report(folder, capsys)
    assert code == 1
    assert "bytes; at most" in errors


def test_a_pipe_in_the_place_of_a_record_does_not_hang(folder, capsys):
    path = record(folder)
    path.unlink()
    os.mkfifo(path)
    code, errors, _ = report(folder, capsys)
    assert code == 1
    assert "is not a file" in errors


def test_a_folder_in_which_nothing_can_be_read_gives_one_sentence(folder, capsys):
    for path in (folder / "experiments").glob("*.json"):
        path.write_text("[]")
    code, errors, page = report(folder, capsys)
    assert code == 2
    assert "no experiment in" in errors
    assert errors.count("\n") == 1
    assert page == ""


@pytest.mark.parametrize("name", ["index.html", "figures", "figures/trial.png"])
def test_a_link_that_leads_out_is_not_followed(folder, capsys, tmp_path, name):
    outside = tmp_path / "outside"
    if name == "figures":
        outside.mkdir()
    else:
        outside.write_text("precious")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(outside)
    before = everything(tmp_path) - everything(folder)
    code, errors, _ = report(folder, capsys)
    assert code == 2
    assert "leads out of the folder" in errors
    assert everything(tmp_path) - everything(folder) == before
    assert name == "figures" or outside.read_text() == "precious"


# --- any damage ------------------------------------------------------------------------------------------------------

SAMPLES = {
    "convergence": made.pair([9.0, 3.0, 1.0], [9.0, 5.0, 2.0], metrics={"fidelity": [0.1, 0.2, 0.3]}),
    "trajectories": [made.trajectory([[0, 2], [1, 1], [0, 1]], boosted, 0.1) for boosted in (True, False)],
    "boosting-step": [made.boosting_step()],
}
HOSTILE = [
    None,
    True,
    0,
    -1,
    1,
    2**70,
    1e-300,
    1e99,
    -1e99,
    "",
    "x",
    "../x",
    [],
    {},
    [0],
    [[0.0, 0.0]],
    {"kind": "solve"},
]


def places(value, path=()):
    """Every place in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(document, path, value):
    if not path:
        return value
    key, *rest = path
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[key] = changed(document[key], rest, value)
    return copy


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sample=st.sampled_from(sorted(SAMPLES)),
    view=st.sampled_from(sorted(VIEWS)),
    which=st.integers(0, 2),
    place=st.integers(0, 10_000),
    value=st.sampled_from(HOSTILE),
)
def test_whatever_is_changed_in_a_file_it_is_refused_or_shown(tmp_path, sample, view, which, place, value):
    experiment, found = made.experiment(view, *[SAMPLES[sample]])
    documents = [json.loads(msgspec.json.encode(part)) for part in (experiment, *found.values())]
    document = documents[which % len(documents)]
    spots = list(places(document))
    documents[which % len(documents)] = changed(document, spots[place % len(spots)], value)
    (tmp_path / "experiments").mkdir(exist_ok=True)
    (tmp_path / "experiments" / "trial.json").write_text(json.dumps(documents[0]))
    (tmp_path / "runs").mkdir(exist_ok=True)
    for key, content in zip(found, documents[1:], strict=True):
        (tmp_path / "runs" / f"{key}.json").write_text(json.dumps(content))
    try:
        results = records.load_results(tmp_path)
    except ValueError:
        return
    for read, kept in results.experiments:
        made_view = make_view(read, kept)
        for plot in made_view.plots:
            controls_key(plot)
            json.dumps(group_data([plot]), allow_nan=False)


def test_more_tasks_than_the_limit_are_refused(tmp_path, monkeypatch):
    tasks = tuple(made.task(seed=seed) for seed in range(3))
    experiment = Experiment(name="trial", title="x", view="convergence", panels=(Panel(title="x", tasks=tasks),) * 101)
    records.write_manifest(tmp_path, experiment)
    with pytest.raises(ValueError, match=r"no experiment in .* can be read"):
        records.load_results(tmp_path)
