"""The competitors of the completion benchmark compute what they are compared for, and its tables are printed."""

import json
from itertools import islice

import numpy as np
import pytest

import bsfw
from benchmarks import completion, recommenders
from benchmarks.completion_errors import Contender, show_errors, show_outcome
from bsfw.datasets.ratings import Ratings
from bsfw.datasets.synthetic import ratings_like


def made(rows, cols, values, shape):
    return Ratings(rows, cols, values, shape, np.arange(shape[0]), np.arange(shape[1]), "made", "here", "none", "none")


@pytest.fixture
def ratings():
    return made(*ratings_like((60, 50), 1_000))


def test_the_transcription_and_bsfw_make_the_same_first_steps(ratings):
    objective = bsfw.MatrixCompletion(ratings)
    losses, seconds = completion.dense_run(objective, completion.FIRST, seed=3, radius=200.0)
    trace = completion.our_run(objective, completion.FIRST, 3, 200.0, tolerance=1e-6).trace
    np.testing.assert_allclose(trace["value"], losses, rtol=1e-5)
    assert len(losses) == completion.FIRST + 1
    assert seconds > 0.0


@pytest.fixture
def parts(rng):
    """Seven tenths of a matrix of rank two with biases, and the rest."""
    shape = (40, 30)
    true = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30)) + rng.standard_normal((40, 1)) + 3.0
    rows, cols = (part.ravel() for part in np.indices(shape))
    seen = rng.random(rows.size) < 0.7
    return tuple(made(rows[part], cols[part], true[rows, cols][part], shape) for part in (seen, ~seen))


def test_alternating_least_squares_find_a_matrix_of_low_rank_with_biases(parts):
    points = list(islice(recommenders.least_squares(*parts, 2, 1e-3, 0.5, bias=1e-3), 60))
    assert points[-1][1] < 0.05 * np.std(parts[1].values)
    assert (np.diff([seconds for seconds, _ in points]) > 0).all()


def test_soft_impute_ends_where_the_corrective_method_does(parts):
    objective = bsfw.MatrixCompletion(parts[0], "squared", intercepts=True)
    result = bsfw.minimize(objective, bsfw.NuclearBall(15.0), method="corrective", gap_tol=1e-7, rng=0)
    _, x = next(islice(recommenders.soft_impute(objective, result.multiplier, result.x.rank + 2), 2000, None))
    assert x.nuclear_norm() == pytest.approx(15.0, rel=1e-3)
    assert objective.value(x) == pytest.approx(result.fun, rel=1e-3)


def test_a_budget_takes_the_settings_that_did_best_within_it():
    curves = {"fast": [(0.5, 0.9), (2.0, 0.85)], "slow": [(1.5, 0.8)], "never": [(9.0, 0.1)]}
    contender = Contender("peer", lambda train, test, limit, name: curves[name], [{"name": name} for name in curves])
    found = contender.at_budgets((None, None), (None, None), (0.1, 1.0, 2.0), 2.0)
    assert found["rmse"] == {"0.1 s": None, "1 s": 0.9, "2 s": 0.8}
    assert found["chosen"]["2 s"] == {"name": "slow"}


def test_seconds_to_an_accuracy_are_those_of_the_first_point_there():
    assert completion.reached([(1.0, 0.5), (2.0, 0.01), (3.0, 0.02)], (0.1, 0.001)) == {"0.1": 2.0, "0.001": None}


def test_every_part_prints_its_table_and_the_limits_of_the_project(ratings, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bsfw.datasets, "load", lambda name: ratings)
    monkeypatch.setattr(completion, "_elsewhere", lambda name, *arguments: getattr(completion, name)(*arguments))
    monkeypatch.setattr(completion, "ratings_like", lambda shape, count: ratings_like((30, 20), 100))
    found = completion.main(["--quick", "--json", str(tmp_path / "found.json")])
    output = capsys.readouterr().out
    assert list(found) == list(completion.PARTS)
    assert all(name in output for name in completion.LIMITS)
    assert found["large"][1]["observations"] == 2_500_000
    errors = {row["method"]: list(row["rmse"].values()) for row in found["rmse"]["ml-100k"]}
    assert {"mean", "bsfw, defaults, implicit", "ALS, joint biases, n^alpha, CG"} <= set(errors)
    assert all(rmse is None or rmse > 0.5 for row in errors.values() for rmse in row)
    assert "bsfw, corrective" in found["gap"]["ml-100k"]["seconds"]  # how far it comes here is up to the machine
    written = json.loads((tmp_path / "found.json").read_text())
    assert written["dense"] == found["dense"]
    assert "cpu" in written["machine"]


def test_the_lowest_error_of_each_budget_is_told(capsys):
    rows = {"means": [0.9, 0.9], "peer": [None, 0.7], "bsfw": [0.8, 0.8]}
    table = [
        {"method": method, "settings": 3, "rmse": dict(zip(("1 s", "2 s"), errors, strict=True))}
        for method, errors in rows.items()
    ]
    show_errors("title", table)
    show_outcome(table)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "  lowest within 1 s: bsfw, 0.8000", "  lowest within 2 s: peer, 0.7000",
    ]  # fmt: skip


def test_an_unknown_part_is_refused_with_those_that_are_known(capsys):
    with pytest.raises(SystemExit):
        completion.main(["sparse"])
    assert "known are dense, ml-1m, large, gap, newton, rmse" in capsys.readouterr().err
