"""Linear models on blocks: f, its gradient and the methods of the one loop are those of the data in memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import bsfw
from bsfw.blocks import from_arrays, open_blocks, write
from bsfw.blocks.local import Derived, Local

MODELS = [
    (bsfw.Logistic, {}),
    (bsfw.LeastSquares, {}),
    (bsfw.Huber, {"delta": 0.7}),
    (bsfw.Tukey, {"c": 3.0, "quasar_rho": 0.5}),
    (bsfw.SigmoidSquared, {}),
    (bsfw.Multinomial, {}),
]


def targets(kind, A, rng):
    """Labels or targets that the model takes."""
    z = A @ rng.standard_normal(A.shape[1]) + 0.3 * rng.standard_normal(A.shape[0])
    if kind is bsfw.Logistic:
        return np.where(z > 0, "yes", "no")
    if kind is bsfw.Multinomial:
        return np.digitize(z, [-0.5, 0.5]) + 7
    return 1.0 / (1.0 + np.exp(-z)) if kind is bsfw.SigmoidSquared else z


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("kind", "settings"), MODELS)
def test_value_gradient_and_lines_are_those_of_the_data_in_memory(problem, rng, kind, settings, intercept, weighted):
    A, w = problem[0], problem[2] if weighted else None
    y = targets(kind, A, rng)
    known = kind(A, y, intercept=intercept, sample_weight=w, **settings)
    f = kind(from_arrays(A, y, rows=130, sample_weight=w), intercept=intercept, **settings)
    assert (f.shape, f.n_samples, f.quasar_rho, f.link) == (known.shape, 400, known.quasar_rho, known.link)
    assert np.array_equal(f.classes, getattr(known, "classes", None))
    x, d = rng.standard_normal(f.shape), rng.standard_normal(f.shape)
    x[::3] = 0.0
    assert f.value(x) == pytest.approx(known.value(x), rel=1e-13)
    np.testing.assert_allclose(f.gradient(x), known.gradient(x), atol=1e-13)
    line, known_line = f.along(x, d), known.along(x, d)
    for gamma in (0.0, 0.3, 1.0):
        assert line.value(gamma) == pytest.approx(known_line.value(gamma), rel=1e-12)
        assert line.derivative(gamma) == pytest.approx(known_line.derivative(gamma), rel=1e-10, abs=1e-12)
    if intercept:
        np.testing.assert_allclose(f.fields(x)["intercept"], known.fields(x)["intercept"], rtol=1e-9, atol=1e-12)


def test_a_line_of_blocks_finds_the_minimum(problem, rng):
    A, y, _ = problem
    f = bsfw.Logistic(from_arrays(A, y, rows=100))
    x = np.zeros(60)
    d = -f.gradient(x)
    line, rounds = f.along(x, 500.0 * d), f.blocks.rounds
    best = line.minimiser()
    assert 0.0 < best < 1.0
    assert abs(line.derivative(best)) <= 1e-12 * abs(line.derivative(0.0))
    assert f.blocks.rounds - rounds <= 8
    assert f.along(x, d).zero(0.25) == 0.25  # still downhill there
    assert f.along(x, -d).minimiser() == 0.0


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"method": "boosted"},
        {"method": "boosted", "step": "line-search"},
        {"method": "boosted", "step": bsfw.LineSearch("backtracking")},
        {"method": "away"},
        {"method": "blended-pairwise"},
    ],
)
def test_the_methods_of_the_loop_go_the_same_way(problem, settings, dense):
    A, y, w = problem
    A = A.toarray() if dense else A
    run = {**settings, "max_iter": 15, "gap_tol": 0.0}
    f = bsfw.Logistic(from_arrays(A, y, rows=90, sample_weight=w), intercept=True)
    found = bsfw.minimize(f, bsfw.L1Ball(5.0), **run)
    known = bsfw.minimize(bsfw.Logistic(A, y, sample_weight=w, intercept=True), bsfw.L1Ball(5.0), **run)
    np.testing.assert_allclose(found.x, known.x, atol=1e-8)  # searches end at 1e-10 of the slope
    assert found.fun == pytest.approx(known.fun, rel=1e-12)
    assert found.nit == known.nit


@pytest.mark.parametrize("method", ["boosted", "pairwise"])
def test_bits_depend_on_the_cuts_only(problem, tmp_path, method):
    A, y, w = problem
    write(tmp_path / "train", A, y, rows=90, sample_weight=w)
    places = [
        from_arrays(A, y, rows=90, sample_weight=w, threads=1),
        from_arrays(A, y, rows=90, sample_weight=w, threads=3),
        open_blocks(tmp_path / "train", threads=1),
        open_blocks(tmp_path / "train", threads=4, budget=1),
    ]
    ends = [bsfw.minimize(bsfw.Logistic(blocks), bsfw.L1Ball(5.0), method=method, max_iter=10) for blocks in places]
    assert {(end.x.tobytes(), end.fun) for end in ends} == {(ends[0].x.tobytes(), ends[0].fun)}


@pytest.mark.parametrize("estimator", [bsfw.SAGA(), bsfw.HeavyBall(), bsfw.JAGUAR(), bsfw.ZOJA()])
def test_estimates_are_refused_with_the_reason(problem, estimator):
    f = bsfw.Logistic(from_arrays(*problem[:2], rows=90))
    with pytest.raises(ValueError, match=r"data in blocks take the exact gradient only.*leave estimator= out"):
        bsfw.minimize(f, bsfw.L1Ball(5.0), estimator=estimator)


def test_empty_and_tiny_blocks_change_nothing(problem):
    A, y, _ = problem
    cuts = [0, 0, 3, 250, 250, 399, 400]
    parts = [from_arrays(A[a:b], y[a:b])._sources[0] if b > a else None for a, b in pairwise(cuts)]
    empty = from_arrays(A[:1], y[:1])._sources[0]
    empty = type(empty)(60, empty.columns[:0], empty.starts[:1], empty.rows[:0], empty.data[:0], y[:0])
    f, known = bsfw.Logistic(Local([empty if part is None else part for part in parts])), bsfw.Logistic(A, y)
    x = np.linspace(-1, 1, 60)
    assert f.value(x) == pytest.approx(known.value(x), rel=1e-13)
    np.testing.assert_allclose(f.gradient(x), known.gradient(x), atol=1e-14)


def double(block):
    made = type(block)(block.n, block.columns, block.starts, block.rows, 2.0 * block.data, block.y)
    made.name = block.name
    return made


def test_derived_items_keep_to_the_budget(problem):
    A, y, _ = problem
    for budget, kept in ((1, 0), (2 * 90 * 60 * 12, 2), (1e9, 5)):
        blocks = from_arrays(A, y, rows=90, threads=2, budget=budget)
        doubled = blocks.derive(double)
        assert isinstance(doubled, Derived)
        f, known = bsfw.LeastSquares(doubled), bsfw.LeastSquares(2.0 * A, y)
        np.testing.assert_allclose(f.gradient(np.ones(60)), known.gradient(np.ones(60)), rtol=1e-12)
        assert kept <= len(doubled._kept) <= 5
        assert blocks.budget.used == sum(item.nbytes for item in doubled._kept.values()) <= budget
        doubled.release()
        assert blocks.budget.used == 0


def test_a_model_is_made_of_blocks(problem, tmp_path):
    A, y, _ = problem
    f = bsfw.Logistic(from_arrays(A, np.where(y > 0, "b", "a"), rows=90), intercept=True)
    result = bsfw.minimize(f, bsfw.L1Ball(5.0), max_iter=20)
    bsfw.Model.of(f, result).save(tmp_path / "model.npz")
    model = bsfw.load_model(tmp_path / "model.npz")
    z = A @ result.x + result.intercept
    assert np.array_equal(model.predict(A), np.where(z > 0, "b", "a"))
