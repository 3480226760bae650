"""A results folder becomes figures and a page."""

import re

import made_records as made
import pytest

from bsfw.cli import main
from bsfw.experiments import records, runner, spec
from bsfw.experiments.model import Environment, Experiment, Panel, Record
from bsfw.experiments.report import _command, _environment, write_report


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """The results of the toy experiment, which takes no time."""
    folder = tmp_path_factory.mktemp("toy") / "results"
    runner.run([spec.plan("toy", quick=True)], folder, jobs=1)
    return folder


@pytest.fixture
def convergence(tmp_path):
    """Results of one estimator, boosted better than vanilla, in a folder; with the experiment."""
    boosted, vanilla = made.task(boosted=True), made.task(boosted=False)
    panel = Panel(title="made [x]", parameters={"radius": "5"}, tasks=(boosted, vanilla))
    experiment = Experiment(
        name="trial", title="A trial", view="convergence", claim="Boosting helps.", runs=1, panels=(panel,)
    )
    records.write_manifest(tmp_path, experiment)
    (tmp_path / "runs").mkdir()
    records.write_record(tmp_path, made.solved(boosted, [1.0, 0.2, 0.1]))
    records.write_record(tmp_path, made.solved(vanilla, [1.0, 0.8, 0.7]))
    return tmp_path, experiment


def test_writes_every_figure_twice_and_links_to_all(convergence):
    folder, _ = convergence
    report = write_report(folder)
    assert report.page == folder / "index.html"
    files = sorted(f"figures/{path.name}" for path in (folder / "figures").iterdir())
    assert files == sorted(f"figures/{path.name}" for path in report.figures)
    assert {"figures/trial.png", "figures/trial.pdf"} <= set(files)
    assert sorted(re.findall(r'href="(figures/[^"]*)"', report.page.read_text())) == files


def test_the_verdicts_are_those_of_the_records(convergence):
    folder, _ = convergence
    (view,) = write_report(folder).views
    assert [verdict.outcome for verdict in view.verdicts] == ["supported"] * len(view.verdicts)
    assert view.verdicts
    assert (
        "✓ supported" in (folder / "index.html").read_text() or "✓ 2 supported" in (folder / "index.html").read_text()
    )


def test_missing_runs_are_said_and_nothing_is_judged(convergence):
    folder, experiment = convergence
    records.record_path(folder, experiment.tasks[0]).unlink()
    (view,) = write_report(folder).views
    assert {verdict.outcome for verdict in view.verdicts} == {"not evaluated"}
    assert "Of 2 runs 1 are missing" in (folder / "index.html").read_text()


def test_no_run_at_all_still_makes_a_page(convergence):
    folder, experiment = convergence
    for task in experiment.tasks:
        records.record_path(folder, task).unlink()
    write_report(folder)
    assert "not evaluated" in (folder / "index.html").read_text()


def test_drawings_are_in_the_page_and_the_same_results_give_the_same_bytes(toy):
    first = write_report(toy).page.read_bytes()
    assert first.count(b'src="data:image/svg+xml;base64,') == 1
    assert write_report(toy).page.read_bytes() == first


def test_a_failure_leaves_the_old_page(convergence, monkeypatch):
    folder, _ = convergence
    (folder / "index.html").write_text("old")

    def fail(view, place):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bsfw.experiments.figures.write_figures", fail)
    with pytest.raises(OSError, match="No space"):
        write_report(folder)
    assert (folder / "index.html").read_text() == "old"


class TestEnvironment:
    def runs(self, *environments, error="ValueError: x"):
        return {
            str(k): Record(task=made.task(seed=k), error=error, environment=Environment(**e), seconds=1.5)
            for k, e in enumerate(environments)
        }

    def test_shows_what_runs_share_once_and_what_differs_in_full(self):
        shown = _environment(
            self.runs(
                {"numpy": "2.4", "jobs": 1, "ended": "2026-02-01"}, {"numpy": "2.4", "jobs": 2, "ended": "2026-01-01"}
            )
        )
        assert shown == {
            "runs": 2,
            "failed": 2,
            "seconds of all runs": 3.0,
            "ended": "2026-01-01 to 2026-02-01",
            "numpy": "2.4",
            "jobs": [1, 2],
        }

    def test_is_empty_without_runs(self):
        assert _environment({}) == {}


class TestCommand:
    def experiment(self, name, **parameters):
        return Experiment(name=name, title=name, view="convergence", **parameters)

    def test_puts_experiments_of_the_same_options_in_one_line(self, tmp_path):
        experiments = [
            self.experiment("rcv1-like-synthetic", runs=2, quick=True),
            self.experiment("mushrooms", runs=2, quick=True),
            self.experiment("data-parameters"),
            self.experiment("my-own", runs=10),
        ]
        assert _command(experiments, tmp_path / "my results").splitlines() == [
            "bsfw reproduce rcv1 mushrooms --quick --runs 2 --out 'my results'",
            "bsfw reproduce data-parameters --out 'my results'",
            "bsfw reproduce my-own.toml --runs 10 --out 'my results'",
            "bsfw report 'my results'",
        ]


class TestCommandLine:
    def test_prints_verdicts_and_paths(self, convergence, capsys):
        folder, _ = convergence
        assert main(["report", str(folder)]) == 0
        out = capsys.readouterr().out
        assert "trial" in out
        assert "✓ supported: " in out
        assert str(folder / "index.html") in out.replace("\n", "")

    def test_an_empty_folder_gives_one_sentence(self, tmp_path, capsys):
        assert main(["report", str(tmp_path)]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("bsfw: there are no results in ")
        assert captured.err.count("\n") == 1
        assert list(tmp_path.iterdir()) == []

    def test_so_does_a_folder_that_is_not_there(self, tmp_path, capsys):
        assert main(["report", str(tmp_path / "nowhere")]) == 2
        assert capsys.readouterr().err.count("\n") == 1
