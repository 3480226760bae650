"""Sweeps: one record a run, resumed after any end, by several processes at once; and the command that starts them."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import made_records
import msgspec
import pytest

from bsfw.cli import main
from bsfw.experiments import records, runner, spec
from bsfw.experiments.tasks import Cost, Costs, Solve

TINY = """\
title = "Tiny, on {data}"
view = "comparison"
runs = 2
iterations = 6
estimators = ["jaguar", "sega"]
[[panel]]
[panel.problem]
data = "breast-cancer"
objective = "logistic"
set = "l1"
radius = 5
"""
RUNS = 2 * 2 * 2
REFERENCE = """\
runs = 40
iterations = 120
estimators = ["heavy-ball"]
batch_size = 3
[[panel]]
[panel.problem]
kind = "plane"
corners = [[-1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]
target = [0.2, 0.1]
samples = 12
"""
"""Eighty runs that need no compiled code, so that a process makes its first one soon."""


@pytest.fixture(autouse=True)
def _plain_surroundings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("BSFW_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BSFW_DATA", raising=False)
    Path("tiny.toml").write_text(TINY)
    Path("plane.toml").write_text(REFERENCE)


def contents(folder="results"):
    return {path.name: path.read_bytes() for path in sorted(Path(folder, "runs").glob("*.json"))}


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "bsfw", "reproduce", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that starts the tests in the background has them, and what they start, ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def made(output):
    """The numbers of runs made and found that the command reports."""
    found = re.search(r"(\d+) runs made, (\d+) were there already, 0 failed", output)
    assert found, output
    return int(found[1]), int(found[2])


def wait_for_records(process, count):
    deadline = time.monotonic() + 60
    while len(contents()) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_specification_end_to_end(capsys):
    assert main(["reproduce", "tiny.toml", "--jobs", "1"]) == 0
    assert made(capsys.readouterr().out) == (RUNS, 0)
    [(experiment, found)] = records.load_results("results").experiments
    assert (experiment.name, experiment.title) == ("tiny", "Tiny, on breast-cancer")
    assert experiment == spec.plan("tiny.toml")
    assert set(found) == {task.key for task in experiment.tasks}
    for record in found.values():
        assert record.error is None
        assert record.data.trace.iteration[-1] == 6
        assert record.data.trace.gamma[-1] is None  # nan: no step is taken from the last iterate
        assert all(msgspec.structs.asdict(record.environment).values())
        assert record.environment.jobs == 1
        assert record.seconds >= record.data.result.seconds > 0
    assert sorted(path.name for path in Path("results").iterdir()) == ["experiments", "runs"]
    assert not [path for path in Path("results/runs").iterdir() if path.suffix != ".json"]


def test_what_is_there_is_not_run_again_and_changed_settings_are(capsys):
    main(["reproduce", "tiny.toml", "--jobs", "1"])
    before = contents()
    capsys.readouterr()
    assert main(["reproduce", "tiny.toml", "--jobs", "1", "--runs", "3"]) == 0
    assert made(capsys.readouterr().out) == (RUNS // 2, RUNS)
    assert before.items() <= contents().items()
    Path("tiny.toml").write_text(TINY.replace("radius = 5", "radius = 4"))
    assert main(["reproduce", "tiny.toml", "--jobs", "1"]) == 0
    assert made(capsys.readouterr().out) == (RUNS, 0)


def test_runs_in_parallel_are_the_runs_in_turn():
    in_turn, parallel = start("tiny.toml", "--jobs", "1"), start("tiny.toml", "--jobs", "2", "--out", "parallel")
    for process in (in_turn, parallel):
        assert made(process.communicate(timeout=100)[0]) == (RUNS, 0)
    one, two = (records.load_results(folder).experiments[0][1] for folder in ("results", "parallel"))
    assert one.keys() == two.keys()
    for key, record in one.items():
        assert record.data.trace.value == two[key].data.trace.value
        assert two[key].environment.jobs == 2


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_sweep_goes_on_where_it_was(jobs, capsys):
    process = start("plane.toml", "--jobs", jobs)
    wait_for_records(process, 3)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = contents()
    assert 3 <= len(before) < 80
    for content in before.values():
        assert json.loads(content)["error"] is None
    assert main(["reproduce", "plane.toml", "--jobs", "1"]) == 0
    assert made(capsys.readouterr().out) == (80 - len(before), len(before))
    assert before.items() <= contents().items()
    assert len(contents()) == 80


def test_ctrl_c_ends_with_130_and_says_how_to_go_on():
    process = start("plane.toml", "--jobs", "2")
    wait_for_records(process, 1)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command goes on" in errors
    assert "Traceback" not in errors


def in_session(session):
    """The processes of a session that are not dead, by id."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, of = path.read_text().rpartition(")")[2].split()[:4]
            found |= {int(path.parent.name)} if int(of) == session and state not in "ZX" else set()
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_sweep_leaves_no_workers_behind(how):
    process = start("plane.toml", "--jobs", "2")
    wait_for_records(process, 3)
    assert len(in_session(process.pid)) >= 3  # itself and two workers
    process.send_signal(how)
    process.communicate()
    deadline = time.monotonic() + 20
    while left := in_session(process.pid):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def test_two_processes_on_one_folder_share_the_work():
    processes = [start("plane.toml", "--jobs", "1") for _ in range(2)]
    outputs = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    counts = [made(output) for output, _ in outputs]
    assert sum(count for count, _ in counts) == 80  # none is made twice
    assert all(count + found == 80 for count, found in counts)
    assert len(contents()) == 80


def plan_tiny():
    return [spec.plan("tiny.toml")]


def test_who_waits_for_another_process_takes_its_record(monkeypatch):
    task = plan_tiny()[0].tasks[0]
    entered, go = threading.Event(), threading.Event()

    def slow(task):
        entered.set()
        go.wait(30)
        return made_records.solved(task, [1.0]).data

    monkeypatch.setattr(Solve, "run", slow)
    Path("results/runs").mkdir(parents=True)
    other = threading.Thread(target=runner.execute, args=(task, Path("results"), 1, False))
    other.start()
    entered.wait(30)
    assert runner.execute(task, Path("results"), 1, wait=False).how == "busy"
    threading.Timer(0.2, go.set).start()
    ended = runner.execute(task, Path("results"), 1, wait=True)
    other.join()
    assert (ended.how, ended.error) == ("found", None)


def no_work(task):
    return made_records.solved(task, [1.0]).data


def fail_with_seed_one(task):
    if task.seed == 1:
        raise FloatingPointError("it went wrong")
    return no_work(task)


def test_a_failing_run_is_recorded_and_does_not_stop_the_rest(monkeypatch, capsys):
    monkeypatch.setattr(Solve, "run", fail_with_seed_one)
    assert main(["reproduce", "tiny.toml", "--jobs", "1"]) == 1
    output = capsys.readouterr().out
    assert "4 runs made, 0 were there already, 4 failed." in output
    assert "failed: solve, breast-cancer, jaguar, vanilla, seed 1: FloatingPointError: it went wrong" in output
    [(_, found)] = records.load_results("results").experiments
    errors = {record.task.seed: record.error for record in found.values()}
    assert errors == {0: None, 1: "FloatingPointError: it went wrong"}
    # The next time it is tried again, and only it.
    monkeypatch.setattr(Solve, "run", no_work)
    assert main(["reproduce", "tiny.toml", "--jobs", "1"]) == 0
    assert made(capsys.readouterr().out) == (4, 4)


def test_a_run_that_takes_its_process_with_it_is_recorded_and_does_not_stop_the_rest(tmp_path, monkeypatch):
    # Python imports this at its start, in the worker processes too.
    Path("sitecustomize.py").write_text(
        "import os, signal\n"
        "from bsfw.experiments.tasks import Solve\n"
        "def deadly(task, run=Solve.run):\n"
        "    if task.seed == 3 and task.max_rounds == 1:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return run(task)\n"
        "Solve.run = deadly\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    process = start("plane.toml", "--jobs", "2", "--runs", "5")
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 1
    # A run that ended just before is found when what was in flight is tried again.
    assert sum(map(int, re.search(r"(\d+) runs made, (\d+) were there already, 1 failed", output).groups())) == 9
    assert "heavy-ball, vanilla, seed 3: ChildProcessError" in output
    assert len(contents()) == 10


def test_files_that_are_no_records_are_run_again(monkeypatch):
    monkeypatch.setattr(Solve, "run", no_work)
    runner.run(plan_tiny(), "results", jobs=1)
    paths = sorted(Path("results/runs").glob("*.json"))
    paths[0].write_text("{")
    paths[1].write_bytes(paths[2].read_bytes())  # of another task
    outcome = runner.run(plan_tiny(), "results", jobs=1)
    assert (outcome.done, outcome.found) == (2, RUNS - 2)


def test_data_that_nobody_could_read_is_a_failure_and_is_not_run_for_ever(monkeypatch):
    monkeypatch.setattr(Solve, "run", lambda task: made_records.solved(task, [1e200]).data)
    outcome = runner.run(plan_tiny(), "results", jobs=1)
    assert outcome.done == 0
    assert {error for _, error in outcome.failures.values()} == {
        "ValueError: value in the data of the run must be a list, each of it a finite number, got (1e+200,)."
    }
    assert len(records.load_results("results").experiments[0][1]) == RUNS


def test_the_active_joblib_backend_is_respected(monkeypatch):
    import joblib

    threads = set()

    def note(task):
        threads.add(threading.current_thread())
        time.sleep(0.01)
        return no_work(task)

    monkeypatch.setattr(Solve, "run", note)  # seen by threads, not by other processes
    with joblib.parallel_config(backend="threading", n_jobs=2):
        outcome = runner.run(plan_tiny(), "results")
    assert outcome.done == RUNS
    assert threading.main_thread() not in threads
    assert {record.environment.jobs for record in records.load_results("results").experiments[0][1].values()} == {2}


def test_measured_costs_never_share_the_machine(monkeypatch):
    import joblib

    running, most = [], []

    def note(task):
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()
        return Costs(case="none", lmo_seconds=1.0, gradient_seconds=1.0)

    monkeypatch.setattr(Cost, "run", note)
    with joblib.parallel_config(backend="threading"):
        outcome = runner.run([spec.plan("when-to-boost")], "results", jobs=4)
    assert outcome.done == 5
    assert set(most) == {1}
    assert {record.environment.jobs for record in records.load_results("results").experiments[0][1].values()} == {1}


def test_results_come_in_the_order_of_the_paper_with_missing_runs_absent():
    for name in ("tiny.toml", "rcv1", "toy", "expected-loss"):
        records.write_manifest("results", spec.plan(name))
    found = records.load_results("results").experiments
    assert [experiment.name for experiment, _ in found] == ["toy", "rcv1-like-synthetic", "expected-loss", "tiny"]
    assert all(not of for _, of in found)


def test_a_folder_without_results_is_refused():
    with pytest.raises(FileNotFoundError, match="bsfw reproduce"):
        records.load_results("nowhere")


def test_the_list_names_every_experiment_with_its_place_in_the_paper(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["reproduce"]) == 0
    output = capsys.readouterr().out
    for name in spec.BUILT_IN:
        assert re.search(rf"^\s*{name}\s", output, re.MULTILINE), name
    assert re.search(r"^ *rcv1 .* Figure 3 +101 *$", output, re.MULTILINE)
    assert max(map(len, output.rstrip().splitlines())) <= 80
    assert not re.search(r"fig:|table:|subsec|_plots", output)  # labels of the paper's source


def test_all_leaves_out_what_would_be_downloaded_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(runner, "_record", lambda task, jobs: made_records.failed(task))
    assert main(["reproduce", "all", "--quick", "--jobs", "1"]) == 1
    errors = capsys.readouterr().err
    assert "news20 is left out" in errors
    assert "rcv1-small is left out" in errors
    names = {experiment.name for experiment, _ in records.load_results("results").experiments}
    assert names == (set(spec.BUILT_IN) - {"news20", "rcv1-small", "rcv1", "movielens"}) | {
        "rcv1-like-synthetic",
        "ml-100k-like-synthetic",
    }


def test_data_asked_for_by_name_is_loaded_before_anything_runs(monkeypatch, capsys):
    asked = []

    def load(name):
        asked.append(name)
        raise FileNotFoundError("no network here")

    monkeypatch.setattr("bsfw.datasets.load", load)
    assert main(["reproduce", "rcv1-small"]) == 2
    assert "no network here" in capsys.readouterr().err
    assert asked == ["rcv1-small"]
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mushroom"], "known are toy"),
        (["nowhere.toml"], "nowhere.toml"),
        (["toy", "--out", "tiny.toml"], "is a file"),
        (["bad.toml"], "bad.toml: unknown key 'itrations'"),
    ],
)
def test_bad_input_ends_with_2_and_one_sentence(arguments, words, capsys):
    Path("bad.toml").write_text("itrations = 5\n" + TINY)
    assert main(["reproduce", *arguments]) == 2
    errors = capsys.readouterr().err
    assert words in errors
    assert len(errors.splitlines()) == 1
    assert not Path("results").exists()
