"""Choosing the radius by held-out ratings, and the example of the spectraplex."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from bsfw.factored.path import completion_path
from bsfw.lowrank import LowRank
from bsfw.objectives.completion import MatrixCompletion


@pytest.fixture
def objective(rng):
    """Half of the entries of a noisy matrix of rank two, and the other half held out."""
    shape = (40, 30)
    true = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    rows, cols = (part.ravel() for part in np.indices(shape))
    values = (true + rng.standard_normal(shape)).ravel()
    seen = rng.random(values.size) < 0.5
    test = (rows[~seen], cols[~seen], values[~seen])
    return MatrixCompletion((rows[seen], cols[seen], values[seen], shape), "squared", test=test)


def test_the_best_radius_is_the_one_with_the_lowest_held_out_error(objective):
    path = completion_path(objective, [300.0, 5.0, 60.0, 60.0], step="line-search", max_iter=40)
    assert path.radii.tolist() == [5.0, 60.0, 300.0]
    assert path.best_radius == 60.0
    assert path.best.x is path.results[1].x
    for result, rmse in zip(path.results, path.test_rmse, strict=True):
        assert rmse == pytest.approx(objective.metrics(result.x)["test_rmse"])
    assert path.test_rmse.min() < path.test_rmse[0]
    assert path.test_rmse.min() < path.test_rmse[2]


def test_each_run_starts_where_the_one_before_ended(objective):
    path = completion_path(objective, [5.0, 6.0], step="line-search", max_iter=20)
    assert path.results[1].trace["value"][0] == pytest.approx(path.results[0].fun)


def test_bad_paths_are_refused_in_a_sentence(objective):
    with pytest.raises(TypeError, match="MatrixCompletion"):
        completion_path(None, [1.0])
    with pytest.raises(ValueError, match="held-out"):
        completion_path(MatrixCompletion((np.array([0]), np.array([0]), np.ones(1), (2, 2))), [1.0])
    with pytest.raises(ValueError, match="radius"):
        completion_path(objective, [1.0, 0.0])
    with pytest.raises(ValueError, match="no radii"):
        completion_path(objective, [])
    with pytest.raises(ValueError, match="x0"):
        completion_path(objective, [1.0], x0=np.zeros((40, 30)))


def test_the_max_cut_example_cuts_more_than_chance_and_stays_low_rank(capsys):
    script = Path(__file__).parents[2] / "examples" / "max_cut.py"
    result, size, signs, edges = runpy.run_path(str(script))["main"](nodes=120, max_iter=80)
    assert isinstance(result.x, LowRank)
    assert result.x.hermitian
    assert np.isclose(result.x.trace(), 120)
    assert size == np.count_nonzero(signs[edges[:, 0]] != signs[edges[:, 1]])
    assert size > 0.68 * len(edges)  # half of them by lot
    assert "edges are cut" in capsys.readouterr().out
