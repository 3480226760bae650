"""Paths over radii, and the choice of a radius by cross-validation."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw
from bsfw.paths import choose_radius, radius_path
from bsfw.results import Status

RADII = np.geomspace(0.1, 8.0, 8)


def data(m: int = 80, n: int = 15, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    return A, A @ np.where(np.arange(n) < 4, 1.0, 0.0) + 0.5 * rng.standard_normal(m)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_point_is_the_penalised_solution_at_its_multiplier(sparse: bool, order: int) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    A, y = data()
    problem = bsfw.LeastSquares(sp.csr_array(A) if sparse else A, y)
    path = radius_path(problem, bsfw.L1Ball, RADII[::order], gap_tol=1e-11)
    assert path.success
    np.testing.assert_array_equal(path.radii, RADII[::order])
    for radius, x, multiplier in zip(path.radii, path.x, path.multiplier, strict=True):
        if multiplier > 1e-6:
            model = linear_model.Lasso(alpha=multiplier, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(A, y)
            np.testing.assert_allclose(x, model.coef_, atol=1e-6)
            assert np.abs(x).sum() == pytest.approx(radius, rel=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        bsfw.L1Ball,
        bsfw.Simplex,
        partial(bsfw.Simplex, equality=False),
        partial(bsfw.L1Ball, weights=np.linspace(0.5, 2.0, 15)),
        partial(bsfw.KSparse, 3),
    ],
    ids=["l1", "simplex", "solid simplex", "weighted l1", "k-sparse"],
)
@pytest.mark.parametrize("order", [1, -1])
def test_gaps_are_exact_and_points_feasible_on_every_set(make: Any, order: int) -> None:
    A, y = data()
    problem = bsfw.Logistic(A, np.where(y > 0, 1.0, -1.0))
    path = radius_path(problem, make, RADII[::order], gap_tol=1e-9)
    for radius, x, value, gap, result in zip(path.radii, path.x, path.fun, path.gap, path.results, strict=True):
        constraint, gradient = make(radius), problem.gradient(x)
        assert constraint.contains(x, 1e-9)
        assert value == problem.value(x)
        assert gap == pytest.approx(gradient @ x - constraint.lmo(gradient).inner(gradient), abs=1e-13)
        assert result.status is Status.GAP_REACHED
        assert gap <= 1e-9
    assert (np.diff(order * path.fun) <= 1e-9).all() or make is bsfw.Simplex


def test_a_start_from_the_last_solution_saves_gradients() -> None:
    A, y = data(400, 60, seed=1)
    problem = bsfw.Logistic(A, np.where(y > 0, 1.0, -1.0))
    radii = np.linspace(2.0, 2.2, 6)
    warm = radius_path(problem, bsfw.L1Ball, radii, gap_tol=1e-9)
    cold = [radius_path(problem, bsfw.L1Ball, [radius], gap_tol=1e-9) for radius in radii]
    assert sum(r.sample_gradients for r in warm.results) < sum(c.results[0].sample_gradients for c in cold)
    np.testing.assert_allclose(warm.fun, [c.fun[0] for c in cold], atol=2e-9)


def test_beyond_the_unconstrained_optimum_nothing_moves() -> None:
    A, y = data()
    best = np.linalg.lstsq(A, y)[0]
    path = radius_path(
        bsfw.LeastSquares(A, y), bsfw.L1Ball, np.abs(best).sum() * np.array([1.5, 3.0, 10.0]), gap_tol=1e-12
    )
    np.testing.assert_allclose(path.x, np.stack([best] * 3), atol=1e-6)
    np.testing.assert_allclose(path.multiplier, 0.0, atol=1e-10)
    assert [result.nit for result in path.results[1:]] == [0, 0]


def test_a_gap_out_of_reach_is_no_success() -> None:
    A, y = data()
    path = radius_path(bsfw.Logistic(A, np.where(y > 0, 1.0, -1.0)), bsfw.L1Ball, [2.0, 3.0], gap_tol=1e-12, max_iter=1)
    assert not path.success
    assert path.gap.max() > 1e-12


@pytest.mark.parametrize("cv", [4, "splitter", "pairs"])
def test_the_chosen_radius_has_the_smallest_held_out_loss(cv: Any) -> None:
    A, y = data(60)
    which = np.arange(60) % 3
    pairs = [(np.flatnonzero(which != k), np.flatnonzero(which == k)) for k in range(3)]
    if cv == "splitter":
        cv = pytest.importorskip("sklearn.model_selection").KFold(3)
    elif cv == "pairs":
        cv = iter(pairs)
    choice = choose_radius(bsfw.LeastSquares, sp.csr_array(A), y, bsfw.L1Ball, RADII, cv=cv)
    assert choice.losses.shape == (len(RADII), 4 if cv == 4 else 3)
    best = int(choice.losses.mean(axis=1).argmin())
    assert choice.radius == RADII[best]
    np.testing.assert_array_equal(choice.x, choice.path.x[best])
    if cv != 4 and not hasattr(cv, "split"):
        train, test = pairs[1]
        x = radius_path(bsfw.LeastSquares(A[train], y[train]), bsfw.L1Ball, [RADII[2]]).x[0]
        assert choice.losses[2, 1] == pytest.approx(bsfw.LeastSquares(A[test], y[test]).value(x), rel=1e-4)


def test_folds_by_number_have_every_class() -> None:
    A, _y = data(30)
    labels = np.where(np.arange(30) < 6, 1.0, -1.0)  # sorted, as files often are
    seen: list[np.ndarray] = []

    def loss(rows: Any, targets: np.ndarray) -> bsfw.Logistic:
        seen.append(targets)
        return bsfw.Logistic(rows, targets)

    choose_radius(loss, A, labels, bsfw.L1Ball, [1.0], cv=3)
    assert [int((targets > 0).sum()) for targets in seen] == [6, 4, 2, 4, 2, 4, 2]


def test_bad_input_is_refused_in_a_sentence() -> None:
    A, y = data()
    problem = bsfw.LeastSquares(A, y)
    with pytest.raises(ValueError, match="radii is empty"):
        radius_path(problem, bsfw.L1Ball, [])
    with pytest.raises(ValueError, match="radius"):
        radius_path(problem, bsfw.L1Ball, [1.0, -1.0])
    with pytest.raises(TypeError, match="is for linear models"):
        radius_path(bsfw.Quadratic(np.eye(3)), bsfw.L1Ball, [1.0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"such as bsfw\.L1Ball itself"):
        radius_path(problem, bsfw.L1Ball(1.0), [1.0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"such as bsfw\.Logistic itself"):
        choose_radius(problem, A, y, bsfw.L1Ball, [1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shapes are \(80, 15\) and \(79,\)"):
        choose_radius(bsfw.LeastSquares, A, y[1:], bsfw.L1Ball, [1.0])
    with pytest.raises(ValueError, match="cv holds no folds"):
        choose_radius(bsfw.LeastSquares, A, y, bsfw.L1Ball, [1.0], cv=[])
    for cv in (1, 81):
        with pytest.raises(ValueError, match="number of folds"):
            choose_radius(bsfw.LeastSquares, A, y, bsfw.L1Ball, [1.0], cv=cv)


def test_a_path_prints_as_a_short_table_and_is_drawn() -> None:
    A, y = data()
    problem = bsfw.LeastSquares(A, y)
    path = radius_path(problem, bsfw.L1Ball, RADII)
    lines = repr(path).splitlines()
    assert lines[0] == "<RadiusPath of 8 radii>"
    assert lines[1].split() == ["radius", "f", "gap", "multiplier", "nonzeros"]
    assert len(lines) == 2 + len(RADII)
    np.testing.assert_array_equal(path.nonzeros, (path.x != 0).sum(axis=1))
    cells = np.array([line.split() for line in lines[2:]], dtype=float).T
    for column, exact in zip(cells, (RADII, path.fun, path.gap, path.multiplier, path.nonzeros), strict=True):
        np.testing.assert_allclose(column, exact, rtol=0.1, atol=1e-12)
    many = repr(radius_path(problem, bsfw.L1Ball, np.linspace(0.1, 1.0, 50)))
    assert len(many.splitlines()) == 23
    assert max(map(len, many.splitlines())) <= 80
    choice = choose_radius(bsfw.LeastSquares, A, y, bsfw.L1Ball, RADII)
    assert repr(choice).startswith(f"<RadiusChoice: {choice.radius:.6g} of 8 radii, mean loss ")
    assert len(repr(choice)) < 200
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = path.plot()
    assert len(axes.lines) == path.x.any(axis=0).sum()
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), RADII)
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == [str(j) for j in np.argsort(-np.abs(path.x[-1]), kind="stable")[:10]]
    drawn = choice.plot()
    assert f"chosen: {choice.radius:.4g}" in [text.get_text() for text in drawn.get_legend().get_texts()]


def test_names_of_a_table_name_the_lines() -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("Agg")
    A, y = data(n=3)
    path = radius_path(bsfw.LeastSquares(pd.DataFrame(A, columns=["a", "b", "c"]), y), bsfw.L1Ball, [1.0, 2.0])
    assert {text.get_text() for text in path.plot().get_legend().get_texts()} <= {"a", "b", "c"}


@pytest.mark.parametrize("make", [bsfw.L1Ball, partial(bsfw.KSparse, 3)], ids=["l1", "k-sparse"])
def test_automatic_radii_end_where_the_constraint_all_but_stops_to_bind(make: Any) -> None:
    A, y = data()
    problem = bsfw.LeastSquares(A, y)
    path = radius_path(problem, make, 12, gap_tol=1e-9)
    assert len(path.radii) == 12
    assert (np.diff(path.radii) > 0).all()
    gradients = [problem.gradient(x) for x in path.x]
    multipliers = [-float(g @ x) / r for g, x, r in zip(gradients, path.x, path.radii, strict=True)]
    assert multipliers[-1] <= 1e-2 * multipliers[0] + 1e-9
    assert multipliers[-3] > 1e-3 * multipliers[0]  # and not far beyond


def test_weights_count_in_training_and_on_held_out_samples() -> None:
    A, y = data(60)
    weight = np.where(np.arange(60) % 2, 1.0, 0.0)
    kept = weight > 0
    folds = np.arange(30) % 3
    half = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    whole = [(np.flatnonzero(kept)[train], np.flatnonzero(kept)[test]) for train, test in half]
    one = choose_radius(bsfw.LeastSquares, A, y, bsfw.L1Ball, RADII, cv=whole, sample_weight=weight, gap_tol=1e-10)
    other = choose_radius(bsfw.LeastSquares, A[kept], y[kept], bsfw.L1Ball, RADII, cv=half, gap_tol=1e-10)
    np.testing.assert_allclose(one.losses, other.losses, rtol=1e-6)
    np.testing.assert_allclose(one.path.fun, other.path.fun, rtol=1e-6)


def test_the_intercept_on_held_out_samples_is_that_of_the_training() -> None:
    A, y = data(60)
    loss, folds = partial(bsfw.LeastSquares, intercept=True), [(np.arange(40), np.arange(40, 60))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the best is does not matter here
        choice = choose_radius(loss, A, y + 5.0, bsfw.L1Ball, RADII, cv=folds)
    trained = radius_path(loss(A[:40], y[:40] + 5.0), bsfw.L1Ball, RADII).results[3]
    errors = A[40:] @ trained.x + trained.intercept - (y[40:] + 5.0)
    assert choice.losses[3, 0] == pytest.approx(0.5 * np.mean(errors**2), rel=1e-4)


def test_multinomial_and_tables_have_a_radius_too() -> None:
    pd = pytest.importorskip("pandas")
    A, y = data(90, 5)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [-1.0, 1.0])]
    frame = pd.DataFrame(A, columns=list("abcde"))
    with pytest.warns(UserWarning, match="of those tried"):
        choice = choose_radius(bsfw.Multinomial, frame, labels, bsfw.L1Ball, [0.1, 2.0], cv=3, gap_tol=1e-3)
    assert choice.x.shape == (5, 3)
    assert choice.path.feature_names == tuple("abcde")


def test_a_choice_at_the_edge_warns_and_the_cautious_rule_takes_a_smaller_radius() -> None:
    A, y = data()
    with pytest.warns(UserWarning, match="is the largest of those tried"):
        choose_radius(bsfw.LeastSquares, A, y, bsfw.L1Ball, [0.1, 0.5])
    with pytest.warns(UserWarning, match="is the smallest of those tried"):
        choose_radius(bsfw.LeastSquares, A, y - A @ np.linalg.lstsq(A, y)[0], bsfw.L1Ball, [0.01, 5.0])
    best = choose_radius(bsfw.LeastSquares, A, y, bsfw.L1Ball, RADII)
    careful = choose_radius(bsfw.LeastSquares, A, y, bsfw.L1Ball, RADII, rule="one-standard-error")
    k = int(np.argmax(careful.radii == careful.radius))
    assert careful.radius <= best.radius
    assert careful.mean[k] <= best.mean.min() + best.standard_error[int(best.mean.argmin())]
    with pytest.raises(ValueError, match="rule must be"):
        choose_radius(bsfw.LeastSquares, A, y, bsfw.L1Ball, RADII, rule="bold")


def test_matrix_completion_is_sent_to_its_own_path():
    objective = bsfw.MatrixCompletion(([0, 1], [1, 0], [1.0, 2.0], (2, 2)), "squared")
    with pytest.raises(TypeError, match="completion_path"):
        bsfw.radius_path(objective, bsfw.NuclearBall, [1.0, 2.0])
