"""`bsfw solve` does what the library does, writes what it says, and goes on where it was."""

import bz2
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import bsfw
from bsfw.cli import main
from bsfw.plan import Plan
from bsfw.results import Trace

LOGISTIC = ["--loss", "logistic", "--constraint", "l1", "--radius", "5", "--quiet"]


def model_of(path):
    model = bsfw.load_model(path)
    return {"x": model.coef, "classes": model.classes, "settings": model.settings, **model.settings}


@pytest.mark.parametrize(
    ("options", "estimator"),
    [
        ("", bsfw.FullGradient()),
        ("--estimator sag --batch-size 8", bsfw.SAG(8)),
        ("--estimator saga --batch-size 0.2", bsfw.SAGA(0.2)),
        ("--estimator l-svrg", bsfw.LSVRG()),
        ("--estimator sarah --batch-size 4", bsfw.SARAH(4)),
        ("--estimator heavy-ball --batch-size 10", bsfw.HeavyBall(10)),
        ("--estimator sega --coordinates 2", bsfw.SEGA(2)),
        ("--estimator jaguar --coordinates 0.5", bsfw.JAGUAR(0.5)),
        ("--estimator zoja", bsfw.ZOJA()),
    ],
)
def test_model_equals_a_direct_call_with_the_same_seed(train, options, estimator):
    command = ["solve", train, *LOGISTIC, *options.split(), "--iterations", "40", "--seed", "3", "--out", "model.npz"]
    assert main(command) == 0
    A, y = bsfw.datasets.read_libsvm(train)
    direct = bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(5.0), estimator=estimator, max_iter=40, rng=3)
    model = model_of("model.npz")
    np.testing.assert_array_equal(model["x"], direct.x)
    assert model["fun"] == direct.fun
    assert model["gap"] == direct.gap
    assert model["gap_exact"] == direct.gap_exact
    assert model["seed"] == 3
    assert model["solver"]["estimator"]["type"] == type(estimator).__name__


@pytest.mark.parametrize(
    ("options", "objective", "constraint"),
    [
        ("--loss least-squares --constraint l2 --radius 2", bsfw.LeastSquares, bsfw.L2Ball(2.0)),
        ("--loss huber --constraint linf --radius 1", bsfw.Huber, bsfw.LinfBall(1.0)),
        ("--loss tukey --constraint simplex --radius 3", bsfw.Tukey, bsfw.Simplex(3.0)),
        ("--loss least-squares --constraint solid-simplex --radius 3", bsfw.LeastSquares, bsfw.Simplex(3.0, False)),
        ("--loss least-squares --constraint k-sparse --k 2 --radius 1.5", bsfw.LeastSquares, bsfw.KSparse(2, 1.5)),
    ],
)
def test_losses_and_sets_are_the_ones_named(samples, write_svm, options, objective, constraint):
    scores = samples[1]
    data = write_svm("scores.svm", scores)
    assert (
        main(["solve", data, *options.split(), "--iterations", "30", "--intercept", "--quiet", "--out", "m.npz"]) == 0
    )
    direct = bsfw.minimize(
        objective(bsfw.datasets.read_libsvm(data)[0], scores, intercept=True), constraint, max_iter=30, rng=0
    )
    np.testing.assert_array_equal(model_of("m.npz")["x"], direct.x)
    assert direct.x.shape == (6,)
    assert bsfw.load_model("m.npz").intercept == direct.intercept


@pytest.mark.parametrize(("name", "kind"), [("nuclear", bsfw.NuclearBall), ("spectral", bsfw.SpectralBall)])
def test_multinomial_has_a_matrix_and_its_classes(samples, write_svm, capsys, name, kind):
    labels = np.digitize(samples[1], [-1.0, 1.0]) * 10
    data = write_svm("classes.svm", labels)
    command = f"solve {data} --loss multinomial --constraint {name} --radius 4 --iterations 15 --out m.npz --quiet"
    assert main(command.split()) == 0
    A, y = bsfw.datasets.read_libsvm(data)
    direct = bsfw.minimize(bsfw.Multinomial(A, y), kind(4.0), max_iter=15, rng=0)
    model = model_of("m.npz")
    np.testing.assert_array_equal(model["x"], direct.x)
    np.testing.assert_array_equal(model["classes"], [0, 10, 20])
    assert "rank of x" in capsys.readouterr().out


@pytest.mark.parametrize(("loss", "rest"), [("logistic", -1.0), ("sigmoid-squared", 0.0)])
def test_positive_label_against_the_rest(samples, write_svm, loss, rest):
    labels = np.digitize(samples[1], [-1.0, 1.0])
    data = write_svm("classes.svm", labels)
    options = f"--loss {loss} --constraint l1 --radius 5 --iterations 20 --quiet --out m.npz --positive 2"
    assert main(["solve", data, *options.split()]) == 0
    objective = bsfw.Logistic if loss == "logistic" else bsfw.SigmoidSquared
    A = bsfw.datasets.read_libsvm(data)[0]
    direct = bsfw.minimize(objective(A, np.where(labels == 2, 1.0, rest)), bsfw.L1Ball(5.0), max_iter=20, rng=0)
    np.testing.assert_array_equal(model_of("m.npz")["x"], direct.x)


def test_method_options_reach_the_solver(train):
    options = "--max-rounds 3 --min-gain 0.01 --decay inverse-sqrt --step paper --iterations 25 --out m.npz"
    assert main(["solve", train, *LOGISTIC, *options.split()]) == 0
    A, y = bsfw.datasets.read_libsvm(train)
    direct = bsfw.minimize(
        bsfw.Logistic(A, y), bsfw.L1Ball(5.0), max_rounds=3, min_gain=0.01, decay="inverse-sqrt", max_iter=25
    )
    np.testing.assert_array_equal(model_of("m.npz")["x"], direct.x)


@pytest.mark.parametrize("method", ["corrective", "away", "pairwise", "blended-pairwise"])
def test_other_methods_are_those_of_the_library(train, capsys, method):
    options = ["--method", method, "--gap-tol", "1e-7", "--iterations", "3000", "--out", "m.npz"]
    assert main(["solve", train, *LOGISTIC, *options]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The exact Frank-Wolfe gap is at most gap_tol.")
    assert "boosted steps" not in out
    assert ("\n  multiplier " in out) == (method == "corrective")
    A, y = bsfw.datasets.read_libsvm(train)
    direct = bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(5.0), method=method, gap_tol=1e-7, max_iter=3000)
    model = model_of("m.npz")
    np.testing.assert_array_equal(model["x"], direct.x)
    assert model["solver"]["method"] == method


def test_a_stochastic_run_ends_certified_with_an_end_phase(train, capsys):
    command = ["solve", train, *LOGISTIC, "--estimator", "saga", "--seed", "2", "--gap-tol", "1e-9"]
    end = ["--end-phase", "corrective", "--iterations", "400", "--trace", "t.csv"]
    assert main([*command, *end, "--out", "m.npz"]) == 0
    A, y = bsfw.datasets.read_libsvm(train)
    direct = bsfw.minimize(
        bsfw.Logistic(A, y), bsfw.L1Ball(5.0), estimator=bsfw.SAGA(), end_phase="corrective", gap_tol=1e-9,
        max_iter=400, rng=2,
    )  # fmt: skip
    np.testing.assert_array_equal(model_of("m.npz")["x"], direct.x)
    out = capsys.readouterr().out
    assert out.startswith("The exact Frank-Wolfe gap is at most gap_tol.")
    assert f"from iteration {direct.switch.iteration} on ({direct.switch.reason})" in out
    assert "\n  boosted steps " in out
    with open("t.csv") as file:
        header, *rows = file.read().splitlines()
    place = header.split(",").index("switch")
    assert [row.split(",")[place] for row in rows if row.split(",")[place]] == [direct.switch.reason]
    assert main([*command, "--end-phase", "corrective", "--iterations", "1"]) == 3  # the gap was not reached
    assert "\n  end phase             none\n" in capsys.readouterr().out


def test_interrupted_end_phase_goes_on_to_the_same_bits(train, monkeypatch, capsys):
    from bsfw.engines.corrective.engine import CorrectiveEngine

    command = ["solve", train, *LOGISTIC, "--estimator", "saga", "--end-phase", "corrective", "--gap-tol", "1e-9"]
    assert main([*command, "--out", "whole.npz"]) == 0
    saved = ["--checkpoint", "run.npz", "--every", "1", "--out", "parts.npz"]

    def interrupt(engine, state, direction):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CorrectiveEngine, "advance", interrupt)
        assert main([*command, *saved]) == 130
    assert main([*command, *saved]) == 0
    whole, parts = model_of("whole.npz"), model_of("parts.npz")
    np.testing.assert_array_equal(whole["x"], parts["x"])
    assert whole["gap"] == parts["gap"] <= 1e-9


def test_reads_compressed_files_and_known_names(train):
    with open(train, "rb") as plain, open("train.svm.bz2", "wb") as packed:
        packed.write(bz2.compress(plain.read()))
    for data, out in ((train, "a.npz"), ("train.svm.bz2", "b.npz")):
        assert main(["solve", data, *LOGISTIC, "--iterations", "10", "--out", out]) == 0
    np.testing.assert_array_equal(model_of("a.npz")["x"], model_of("b.npz")["x"])
    assert main(["solve", "breast-cancer", *LOGISTIC, "--iterations", "3", "--out", "c.npz"]) == 0
    assert model_of("c.npz")["x"].shape == (10,)


def test_stops_at_the_gap_and_says_so(train, capsys):
    assert main(["solve", train, *LOGISTIC, "--iterations", "5000", "--step", "line-search", "--gap-tol", "0.01"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The exact Frank-Wolfe gap is at most gap_tol.")
    for row in ("objective", "exact gap", "nonzeros of x", "sample gradients", "LMO calls", "seconds", "boosted steps"):
        assert f"\n  {row} " in out


def test_vanilla_run_claims_no_boosting(train, capsys):
    assert main(["solve", train, *LOGISTIC, "--iterations", "5", "--max-rounds", "1"]) == 0
    assert "boosted" not in capsys.readouterr().out


def test_progress_is_on_stderr_unless_quiet(train, capsys):
    assert main(["solve", train, *LOGISTIC, "--iterations", "5", "--method", "boosted"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["solve", train, *LOGISTIC[:-1], "--iterations", "5", "--method", "boosted"]) == 0
    assert "iteration 5/5" in capsys.readouterr().err


def test_trace_and_plot_are_written(train, tmp_path):
    options = "--iterations 20 --record-every 5 --estimator saga --trace t.npz --plot p.png"
    assert main(["solve", train, *LOGISTIC, *options.split()]) == 0
    np.testing.assert_array_equal(Trace.load("t.npz")["iteration"], [0, 5, 10, 15, 20])
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert main(["solve", train, *LOGISTIC, "--iterations", "4", "--method", "boosted", "--trace", "t.csv"]) == 0
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 6


def test_nothing_but_the_named_files_is_left_behind(train, tmp_path):
    options = "--iterations 20 --out m.npz --trace t.csv --plot p.png --checkpoint run.npz --estimator saga"
    assert main(["solve", train, *LOGISTIC, *options.split()]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {train, "m.npz", "t.csv", "p.png", "run.npz"}


SARAH = ["--estimator", "sarah", "--seed", "4"]


def test_interrupted_run_goes_on_to_the_same_bits(train, monkeypatch, capsys):
    command = ["solve", train, *LOGISTIC, *SARAH, "--iterations", "60"]
    assert main([*command, "--out", "whole.npz"]) == 0
    etas = Plan.etas

    def interrupt(solver, first, count):
        if first + count > 37:
            raise KeyboardInterrupt
        return etas(solver, first, count)

    with monkeypatch.context() as patch:
        patch.setattr(Plan, "etas", interrupt)
        assert main([*command, "--checkpoint", "run.npz", "--every", "10", "--out", "parts.npz"]) == 130
    captured = capsys.readouterr()
    assert captured.err.strip() == "bsfw: interrupted; the same command goes on from run.npz."
    assert main([*command, "--checkpoint", "run.npz", "--every", "10", "--out", "parts.npz"]) == 0
    assert "run.npz exists: going on from iteration 30." in capsys.readouterr().err
    whole, parts = model_of("whole.npz"), model_of("parts.npz")
    np.testing.assert_array_equal(whole["x"], parts["x"])
    assert whole["fun"] == parts["fun"]
    assert parts["seed"] is None  # the checkpoint knows the state only


def test_interrupt_without_a_checkpoint_says_how_to_have_one(train, monkeypatch, capsys, tmp_path):
    def interrupt(solver, first, count):
        raise KeyboardInterrupt

    monkeypatch.setattr(Plan, "etas", interrupt)
    assert main(["solve", train, *LOGISTIC, *SARAH, "--out", "m.npz"]) == 130
    assert "with --checkpoint FILE.npz a run can be resumed" in capsys.readouterr().err
    assert main(["solve", train, *LOGISTIC, *SARAH, "--checkpoint", "run.npz"]) == 130
    assert "before the first checkpoint" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {train}


def test_finished_run_can_be_prolonged(train):
    command = ["solve", train, *LOGISTIC, *SARAH, "--decay", "anytime", "--out", "m.npz", "--force"]
    assert main([*command, "--iterations", "50"]) == 0
    whole = model_of("m.npz")["x"]
    assert main([*command, "--iterations", "20", "--checkpoint", "run.npz"]) == 0
    assert main([*command, "--iterations", "50", "--checkpoint", "run.npz"]) == 0
    np.testing.assert_array_equal(model_of("m.npz")["x"], whole)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--estimator saga", "--estimator SARAH(batch_size=0.05, probability=None), not SAGA(batch_size=0.05)"),
        ("--estimator sarah --batch-size 7", "not SARAH(batch_size=7, probability=None)"),
        ("--estimator sarah --min-gain 0.5", "--min-gain 0.0001, not 0.5"),
        ("--estimator sarah --max-rounds 7", "--max-rounds 10000, not 7"),
        ("--method corrective", "--method boosted, not corrective"),
        ("--estimator sarah --end-phase corrective", "--end-phase unset, not corrective"),
        ("--estimator sarah --decay inverse-sqrt", "--decay AnytimeDecay, not InverseSqrtDecay"),
        ("--estimator sarah --seconds 9", "--seconds unset, not 9.0"),
        ("--estimator sarah --every 3", "--every 2, not 3"),
        ("--estimator sarah --radius 6", "written for another constraint: it has L1Ball(radius=5.0"),
        ("--estimator sarah --intercept", "written for another objective"),
    ],
)
def test_checkpoint_of_another_run_is_refused_and_kept(train, capsys, tmp_path, options, sentence):
    command = ["solve", train, *LOGISTIC, "--iterations", "20", "--checkpoint", "run.npz"]
    assert main([*command, "--estimator", "sarah"]) == 0
    before = (tmp_path / "run.npz").read_bytes()
    capsys.readouterr()
    assert main([*command, *options.split()]) == 2
    (error,) = capsys.readouterr().err.splitlines()  # what differs, and nothing of going on before it
    assert sentence in error
    assert (tmp_path / "run.npz").read_bytes() == before


def test_numerical_failure_is_exit_code_1_without_a_model(capsys, tmp_path):
    (tmp_path / "huge.svm").write_text("1 1:1e200 2:1\n-1 1:-1e200 2:3\n")
    command = "solve huge.svm --loss least-squares --constraint l1 --radius 5 --method boosted --out m.npz --quiet"
    assert main(command.split()) == 1
    out = capsys.readouterr().out
    assert "not finite" in out
    assert "No model is written to m.npz." in out
    assert not (tmp_path / "m.npz").exists()


# Data as people have them.


@pytest.fixture
def table(samples):
    A, scores = samples
    lines = ["size,weight,age,height,count,odour,edible"]
    lines += [
        ",".join(map(repr, row)) + ("," + ("p" if s > 0 else "e")) for row, s in zip(A.tolist(), scores, strict=True)
    ]
    with open("train.csv", "w") as file:
        file.write("\n".join(lines) + "\n")
    return "train.csv"


def test_a_table_is_fitted_and_predicted(table, samples, capsys):
    command = ["solve", table, "--label", "edible", *LOGISTIC, "--intercept", "--out", "m.npz"]
    assert main(command) == 0
    A, scores = samples
    direct = bsfw.minimize(bsfw.Logistic(A, np.where(scores > 0, "p", "e"), intercept=True), bsfw.L1Ball(5.0))
    model = bsfw.load_model("m.npz")
    np.testing.assert_array_equal(model.coef, direct.x)
    assert model.feature_names == ("size", "weight", "age", "height", "count", "odour")
    assert model.classes.tolist() == ["e", "p"]
    capsys.readouterr()
    assert main(["predict", "m.npz", table, "--label", "edible"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == ["prediction", *model.predict(A)]
    assert "right in " in err
    assert main(["predict", "m.npz", table, "--label", "edible", "--proba", "--out", "p.csv"]) == 0
    with open("p.csv") as file:
        header, *rows = file.read().splitlines()
    assert header == "e,p"
    np.testing.assert_array_equal(np.array([row.split(",") for row in rows], float), model.predict_proba(A))
    assert main(["predict", "m.npz", table, "--label", "edible", "--proba", "--out", "p.csv"]) == 2
    assert "p.csv exists; give --force" in capsys.readouterr().err


def test_positive_takes_text(table):
    options = ["--label", "edible", "--positive", "e", *LOGISTIC, "--out", "m.npz"]
    assert main(["solve", table, *options]) == 0
    assert bsfw.load_model("m.npz").classes.tolist() == ["p", "e"]


def test_zero_based_files_are_told_by_themselves_or_by_the_option(samples, train):
    with open(train) as file, open("zero.svm", "w") as shifted, open("shifted.svm", "w") as later:
        for line in file:
            label, *pairs = line.split()
            moved = [f"{int(j) - 1}:{v}" for j, v in (pair.split(":") for pair in pairs)]
            shifted.write(" ".join([label, *moved]) + "\n")
            later.write(" ".join([label, *moved[1:]]) + "\n")
    one, zero = bsfw.datasets.read_libsvm(train), bsfw.datasets.read_libsvm("zero.svm")
    np.testing.assert_array_equal(one[0].toarray(), zero[0].toarray())
    assert bsfw.datasets.read_libsvm("shifted.svm", zero_based=True)[0].shape == (40, 6)
    assert bsfw.datasets.read_libsvm("shifted.svm")[0].shape == (40, 5)
    assert main(["solve", "shifted.svm", "--zero-based", *LOGISTIC, "--out", "m.npz"]) == 0
    assert bsfw.load_model("m.npz").coef.shape == (6,)


def test_solve_and_predict_tell_zero_based_files_by_themselves(train):
    with open(train) as file, open("zero.svm", "w") as zero:
        for line in file:
            label, *pairs = line.split()
            zero.write(" ".join([label, *(f"{int(j) - 1}:{v}" for j, v in (pair.split(":") for pair in pairs))]) + "\n")
    for name in (train, "zero.svm"):
        assert main(["solve", name, *LOGISTIC, "--out", f"{name}.npz"]) == 0
    np.testing.assert_array_equal(bsfw.load_model("zero.svm.npz").coef, bsfw.load_model(f"{train}.npz").coef)
    Path("rows.svm").write_text("1 2:3.0\n")  # the index 0 does not occur, but it does where the model comes from
    assert main(["predict", "zero.svm.npz", "rows.svm", "--scores", "--out", "scores.csv"]) == 0
    expected = 3.0 * bsfw.load_model("zero.svm.npz").coef[2]
    assert float(Path("scores.csv").read_text().split()[1]) == pytest.approx(expected)


def test_predict_on_a_table_with_its_label_column_names_the_option(table, capsys):
    assert main(["solve", table, "--label", "edible", *LOGISTIC, "--out", "m.npz"]) == 0
    assert main(["predict", "m.npz", table]) == 2
    assert "--label edible" in capsys.readouterr().err
    assert main(["predict", "m.npz", table, "--label", "edible"]) == 0


# Nothing typed is lost.


def test_outputs_that_exist_are_not_replaced_silently(train, capsys, tmp_path):
    (tmp_path / "m.npz").write_text("precious")
    assert main(["solve", train, *LOGISTIC, "--out", "m.npz"]) == 2
    assert "--out m.npz exists; give --force to replace it" in capsys.readouterr().err
    assert (tmp_path / "m.npz").read_text() == "precious"
    assert main(["solve", train, *LOGISTIC, "--out", "m.npz", "--force"]) == 0


def test_a_missed_gap_has_its_own_exit_code(train):
    assert main(["solve", train, *LOGISTIC, "--method", "boosted", "--iterations", "3", "--gap-tol", "1e-9"]) == 3
    assert main(["solve", train, *LOGISTIC, "--gap-tol", "1e-6"]) == 0


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGTERM in the background"])
def test_a_signal_leaves_model_trace_plot_and_checkpoint(train, tmp_path, name):
    command = [
        sys.executable, "-m", "bsfw", "solve", train, *LOGISTIC, *SARAH, "--iterations", "1000000000", "--record-every",
        "1000000", "--out", "m.npz", "--trace", "t.csv", "--plot", "p.png", "--checkpoint", "run.npz",
    ]  # fmt: skip
    if "background" in name:  # as a shell starts `bsfw solve ... &`: SIGINT is ignored
        command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    deadline = time.monotonic() + 120
    while not (tmp_path / ".run.npz.lock").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(3)
    process.send_signal(getattr(signal, name.split()[0]))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    assert "goes on from run.npz" in err
    assert {"m.npz", "t.csv", "p.png", "run.npz"} <= {path.name for path in tmp_path.iterdir()}
    assert bsfw.load_model(tmp_path / "m.npz").coef.shape == (6,)
