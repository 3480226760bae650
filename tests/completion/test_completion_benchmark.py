"""The competitors of the completion benchmark compute what they are compared for, and its tables are printed."""

import json

import numpy as np
import pytest

import bsfw
from benchmarks import completion
from bsfw.datasets.ratings import Ratings
from bsfw.datasets.synthetic import ratings_like


@pytest.fixture
def ratings():
    rows, cols, values, shape = ratings_like((60, 50), 1_000)
    return Ratings(rows, cols, values, shape, np.arange(60), np.arange(50), "made", "here", "none", "none")


def test_the_transcription_and_bsfw_make_the_same_first_steps(ratings):
    objective = bsfw.MatrixCompletion(ratings)
    losses, seconds = completion.dense_run(objective, completion.FIRST, seed=3, radius=200.0)
    trace = completion.our_run(objective, completion.FIRST, 3, 200.0, tolerance=1e-6).trace
    np.testing.assert_allclose(trace["value"], losses, rtol=1e-5)
    assert len(losses) == completion.FIRST + 1
    assert seconds > 0.0


def test_alternating_least_squares_find_a_matrix_of_low_rank(rng):
    shape = (40, 30)
    true = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    rows, cols = (part.ravel() for part in np.indices(shape))
    seen = rng.random(rows.size) < 0.7
    train, test = ((rows[part], cols[part], true[rows, cols][part]) for part in (seen, ~seen))
    objective = bsfw.MatrixCompletion((*train, shape), "squared", test=test)
    sweeps = completion.least_squares(objective, 2, 1e-3)
    points = [next(sweeps) for _ in range(20)]
    assert points[-1][1] < 0.05 * objective.metrics(bsfw.LowRank.zeros(shape))["test_rmse"]
    assert (np.diff([seconds for seconds, _ in points]) > 0).all()


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
    assert len(errors) == 4
    assert all(rmse > 0.5 for row in errors.values() for rmse in row)
    written = json.loads((tmp_path / "found.json").read_text())
    assert written["dense"] == found["dense"]
    assert "cpu" in written["machine"]


def test_bsfw_wins_where_its_error_is_below_all_others(capsys):
    rows = {"means": [0.9, 0.9], "peer": [None, 0.7], "bsfw": [0.8, 0.8]}
    table = [
        {"method": method, "settings": "", "rmse": dict(zip(("1 s", "2 s"), errors, strict=True))}
        for method, errors in rows.items()
    ]
    completion.show_errors("title", table)
    assert capsys.readouterr().out.splitlines()[-1].split()[-2:] == ["won", "lost"]


def test_an_unknown_part_is_refused_with_those_that_are_known(capsys):
    with pytest.raises(SystemExit):
        completion.main(["sparse"])
    assert "known are dense, ml-1m, large, rmse" in capsys.readouterr().err
