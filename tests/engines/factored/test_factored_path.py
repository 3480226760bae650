"""Choosing the radius by held-out ratings, and the example of the spectraplex."""

import os
import runpy
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from bsfw.completion_path import completion_path
from bsfw.lowrank import LowRank
from bsfw.objectives.completion import MatrixCompletion
from bsfw.results import Interrupted, Status


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


def test_the_best_radius_is_the_one_with_the_lowest_error_on_the_validation_set(objective):
    held_out = objective.test
    path = completion_path(objective, [300.0, 5.0, 60.0, 60.0], validation=held_out)
    assert path.radii.tolist() == [5.0, 60.0, 300.0]
    assert path.best_radius == 60.0
    assert path.best is path.results[1]
    for result, rmse in zip(path.results, path.rmse, strict=True):
        assert rmse == pytest.approx(objective.metrics(result.x)["test_rmse"])
    assert path.test_rmse == pytest.approx(path.rmse[1])


def test_the_test_set_has_no_part_in_the_choice(objective):
    """Another test set, the same choice; and the best radius is run on all observations in the end."""
    rows, cols, values = objective.test
    other = MatrixCompletion(
        (objective.rows, objective.cols, objective.values, objective.size), "squared", test=(rows, cols, -values)
    )
    paths = [completion_path(o, [5.0, 60.0, 300.0], rng=3) for o in (objective, other)]
    assert np.array_equal(paths[0].rmse, paths[1].rmse)
    assert paths[0].test_rmse != paths[1].test_rmse
    assert paths[0].results[0].sample_gradients < paths[0].results[0].njev * objective.n_samples
    assert paths[0].best.sample_gradients == paths[0].best.njev * objective.n_samples
    assert paths[0].best.x.nuclear_norm() <= paths[0].best_radius * (1 + 1e-9)


def test_each_run_starts_where_the_one_before_ended(objective):
    path = completion_path(objective, [5.0, 60.0, 300.0], validation=objective.test, method="boosted", max_iter=20)
    assert path.results[1].trace["value"][0] == pytest.approx(path.results[0].fun)


def test_default_radii_surround_the_suggested_one_and_an_edge_is_told(objective, capsys):
    path = completion_path(objective, verbose=True)
    middle = objective.default_constraint().radius
    assert len(path.radii) == 7
    assert path.radii[3] == pytest.approx(middle)
    assert "validation RMSE" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="largest of those tried"):
        completion_path(objective, [1.0, 2.0])


def test_a_path_can_be_drawn(objective):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    path = completion_path(objective, [20.0, 60.0, 150.0])
    axes = path.plot()
    assert np.array_equal(axes.lines[0].get_xdata(), path.radii)
    assert np.array_equal(axes.lines[0].get_ydata(), path.rmse)
    assert axes.lines[1].get_xdata()[0] == path.best_radius


def test_bad_paths_are_refused_in_a_sentence(objective):
    with pytest.raises(TypeError, match="MatrixCompletion"):
        completion_path(None, [1.0])
    with pytest.raises(ValueError, match="part between"):
        completion_path(objective, [1.0], validation=1.5)
    with pytest.raises(ValueError, match="cannot be parted"):
        completion_path(MatrixCompletion((np.array([0]), np.array([0]), np.ones(1), (2, 2))), [1.0])
    with pytest.raises(ValueError, match="radius"):
        completion_path(objective, [1.0, 0.0])
    with pytest.raises(ValueError, match="no radii"):
        completion_path(objective, [])
    with pytest.raises(ValueError, match="x0"):
        completion_path(objective, [1.0], x0=np.zeros((40, 30)))


def test_the_max_cut_page_of_the_gallery_cuts_more_than_chance_and_keeps_factors(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    script = Path(__file__).parents[3] / "examples" / "gallery" / "plot_max_cut.py"
    page = runpy.run_path(str(script))
    x, edges, signs = page["result"].x, page["edges"], page["signs"]
    assert isinstance(x, LowRank)
    assert x.hermitian
    assert np.isclose(x.trace(), 200)
    np.testing.assert_array_equal(page["sizes"], [np.count_nonzero(s[edges[:, 0]] != s[edges[:, 1]]) for s in signs.T])
    assert page["sizes"].max() > 0.68 * len(edges)  # half of them by lot


def test_ctrl_c_keeps_the_radii_that_were_done(objective):
    seen = []

    def press(intermediate_result):
        seen.append(intermediate_result.nit)
        if intermediate_result.nit == 0 and seen.count(0) == 2:  # in the run of the second radius
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted) as caught:
        completion_path(objective, [5.0, 60.0, 300.0], callback=press)
    path = caught.value.path
    assert path.radii.tolist() == [5.0]
    assert path.best is path.results[0]
    assert np.isfinite(path.rmse).all()
    assert caught.value.result.status is Status.INTERRUPTED


def test_a_loss_that_is_not_convex_ends_when_its_predictions_settle(objective):
    """To the gap or 30 iterations it would take many times as long, and predict no better."""
    bounded = MatrixCompletion((objective.rows, objective.cols, objective.values, objective.size), "bounded")
    radii, held_out = [300.0], objective.test
    ended = completion_path(bounded, radii, validation=held_out)
    options = {"method": "corrective", "max_iter": 30, "gap_tol": 1e-6}
    whole = completion_path(bounded, radii, validation=held_out, **options)
    assert sum(result.nit for result in ended.results) < sum(result.nit for result in whole.results)
    assert ended.rmse.min() < 1.02 * whole.rmse.min()


def test_default_radii_end_where_larger_ones_predict_worse(objective, monkeypatch):
    module = sys.modules["bsfw.completion_path"]
    errors = iter([1.0, 0.9, 0.95, 0.96, 0.7])
    monkeypatch.setattr(module, "_rmse", lambda *_: next(errors))
    path = completion_path(objective, validation=objective.test, method="boosted", max_iter=1)
    assert len(path.radii) == 4
    assert path.best_index == 1


def test_rows_without_observations_are_predicted_by_what_is_known_of_the_others(objective):
    """A cold row gets the mean and the bias of the column, in the path as in a run of its own."""
    known = objective.rows > 0
    part = objective.rows[known], objective.cols[known], objective.values[known], objective.size
    model = completion_path(MatrixCompletion(part, "squared", implicit=True), [30.0]).best.model
    columns = np.arange(objective.size[1])
    predicted = model.predict(np.zeros_like(columns), columns)
    np.testing.assert_allclose(predicted, model.constant + model.item_bias)
    assert [item for item, _ in model.top(0, 5)] == np.argsort(-model.item_bias, kind="stable")[:5].tolist()
