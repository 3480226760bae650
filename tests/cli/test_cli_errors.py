"""Bad input is one sentence on stderr and exit code 2, before any file is written."""

import os
import subprocess
import sys

import numpy as np
import pytest

import bsfw
from bsfw.cli import main

L1 = "--loss logistic --constraint l1 --radius 5"


@pytest.fixture
def files(train, samples, write_svm, tmp_path):
    write_svm("two.svm", np.where(samples[1] > 0, 2, 1))
    write_svm("three.svm", np.digitize(samples[1], [-1.0, 1.0]))
    (tmp_path / "broken.svm").write_text("1 1:2\n1 1:x\n")
    (tmp_path / "empty.svm").write_text("")
    (tmp_path / "not-a-checkpoint.npz").write_text("hello")
    return {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (f"missing.svm {L1}", "there is no file missing.svm, nor a data set of that name; known are mushrooms"),
        (f". {L1}", ". holds no blocks: there is no manifest.json"),
        (f"broken.svm {L1}", "broken.svm, line 2: '1:x'"),
        (f"empty.svm {L1}", "empty.svm has no rows"),
        (f"ml-100k {L1}", "holds ratings"),
        ("train.svm --loss logistic --constraint l1 --radius -5", "radius must be a positive finite number, got -5.0"),
        ("train.svm --loss logistic --constraint l1 --radius nan", "radius must be a positive finite number, got nan"),
        (f"train.svm {L1} --label edible", "--label names a column of a table (.csv, .tsv, .parquet)"),
        (
            f"three.svm {L1}",
            "holds 0, 1, 2; choose the one that counts as +1, for example --positive 2, or take --loss",
        ),
        (f"two.svm {L1} --positive 7", "--positive 7: no row has that label; the data holds 1, 2."),
        (
            "two.svm --loss sigmoid-squared --constraint l1 --radius 5",
            "takes targets in [0, 1], but the data holds 1, 2",
        ),
        ("two.svm --loss huber --constraint l1 --radius 5 --positive 2", "the loss huber takes the labels as they are"),
        (f"train.svm {L1} --estimator saga --step short", "the step rule 'short' needs the exact gradient"),
        (f"train.svm {L1} --estimator saga --batch-size 41", "between 1 and the number of samples, 40, got 41"),
        (f"train.svm {L1} --estimator saga --batch-size 0", "between 1 and the number of samples, 40, got 0"),
        (f"train.svm {L1} --estimator saga --batch-size 1.5", "as a fraction must lie in ]0, 1], got 1.5"),
        (f"train.svm {L1} --estimator sega --batch-size 4", "--batch-size belongs to the estimators sag, saga, l-svrg"),
        (f"train.svm {L1} --coordinates 4", "--coordinates belongs to the estimators sega, jaguar, zoja, not to full"),
        (f"train.svm {L1} --end-phase corrective", "with the exact gradient use method='corrective' from the start"),
        (f"train.svm {L1} --estimator saga --method away", "method 'away' needs the exact gradient"),
        (f"train.svm {L1} --min-gain 0", "min_gain (delta of the paper) must lie in ]0, 1], got 0.0"),
        (f"train.svm {L1} --gap-tol -1", "gap_tol must be"),
        (f"train.svm {L1} --seconds 0", "max_seconds must be"),
        (f"train.svm {L1} --k 2", "k-sparse needs --k"),
        ("train.svm --loss logistic --constraint k-sparse --radius 1", "k-sparse needs --k"),
        ("train.svm --loss logistic --constraint k-sparse --radius 1 --k 9", "choose a smaller k"),
        ("train.svm --loss logistic --constraint nuclear --radius 1", "holds matrices"),
        (f"train.svm {L1} --every 5", "give --checkpoint as well"),
        (f"train.svm {L1} --checkpoint not-a-checkpoint.npz", "is no .npz archive, or it is damaged"),
        (f"train.svm {L1} --out nowhere/m.npz", "--out nowhere/m.npz: the folder nowhere does not exist"),
        (f"train.svm {L1} --trace nowhere/t.csv", "--trace nowhere/t.csv: the folder nowhere does not exist"),
        (f"train.svm {L1} --plot nowhere/p.png", "--plot nowhere/p.png: the folder nowhere does not exist"),
        (f"train.svm {L1} --checkpoint nowhere/r.npz", "--checkpoint nowhere/r.npz: the folder nowhere does not exist"),
        (f"train.svm {L1} --out m.txt", "--out must end in .npz, got 'm.txt'"),
        (f"train.svm {L1} --trace t.xls", "--trace must end in .csv or .npz, got 't.xls'"),
        (f"train.svm {L1} --plot p.gif", "--plot must end in .png or .pdf or .svg, got 'p.gif'"),
        (f"train.svm {L1} --out a.npz --checkpoint ./a.npz", "--out and --checkpoint name the same file"),
    ],
)
def test_bad_input_of_solve(files, capsys, tmp_path, arguments, sentence):
    assert main(["solve", *arguments.split()]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("bsfw: ")
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert {path.name for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "required: COMMAND"),
        ("polish", "invalid choice: 'polish'"),
        (f"solve train.svm {L1} --fast", "unrecognized arguments: --fast"),
        (f"solve train.svm {L1} --estim saga", "unrecognized arguments: --estim"),
        (f"solve train.svm {L1} --estimator newton", "invalid choice: 'newton'"),
        (f"solve train.svm {L1} --batch-size few", "'few' is neither a count such as 404 nor a fraction"),
        (f"solve train.svm {L1} --iterations 0", "--iterations: '0' is not a whole number of at least 1"),
        (f"solve train.svm {L1} --max-rounds 2.5", "--max-rounds: '2.5' is not a whole number of at least 1"),
        (f"solve train.svm {L1} --seed -1", "--seed: '-1' is not a whole number of at least 0"),
        ("solve train.svm --loss logistic --constraint l1", "required: --radius"),
        ("demo --iterations 0", "--iterations: '0' is not a whole number of at least 1"),
    ],
)
def test_options_are_refused_by_name(capsys, arguments, sentence):
    with pytest.raises(SystemExit) as stop:
        main(arguments.split())
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err


def test_folder_that_does_not_exist_is_refused_before_the_demo_runs(capsys, monkeypatch):
    def fail(*args, **kwargs):
        raise AssertionError("the demo has started")

    monkeypatch.setattr("bsfw._minimize.minimize", fail)
    assert main(["demo", "--out", "nowhere/demo.png"]) == 2
    assert "the folder nowhere does not exist" in capsys.readouterr().err


def test_plot_that_fails_leaves_no_part_of_itself(train, capsys, tmp_path, monkeypatch):
    def break_off(figure, file, **options):
        file.write(b"half a picture")
        raise OSError(28, "No space left on device", "p.png")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", break_off)
    command = ["solve", train, *L1.split(), "--quiet", "--iterations", "5", "--out", "m.npz", "--plot", "p.png"]
    assert main(command) == 2
    assert capsys.readouterr().err == "bsfw: p.png: No space left on device.\n"
    assert {path.name for path in tmp_path.iterdir()} == {train, "m.npz"}


def python(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "bsfw", *arguments], text=True, timeout=120, **options)


def test_module_runs_as_the_command():
    done = python("--version", capture_output=True)
    assert (done.returncode, done.stdout) == (0, f"bsfw {bsfw.__version__}\n")
    done = python("solve", "missing.svm", *L1.split(), capture_output=True)
    assert done.returncode == 2
    assert done.stderr.startswith("bsfw: there is no file missing.svm")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["datasets"], ["datasets", "breast-cancer"]])
def test_closed_pipe_is_silent(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = python(*arguments, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 1


def test_help_needs_neither_rich_nor_matplotlib_nor_scipy():
    code = (
        "import sys; from bsfw.cli import main\n"
        "try: main(['solve', '--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('rich', 'matplotlib', 'scipy', 'pooch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "[]"
