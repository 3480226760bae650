"""Bounds of spectral norms are never below the truth, and close to it once x is settled."""

import numpy as np
import pytest

from bsfw.constraints._certificates import norm_bound


def spectrum(rng, size, kind):
    """Singular values, the hard way and the easy one."""
    if kind == "cluster":
        return 1.0 - 1e-6 * rng.random(size)
    if kind == "equal":
        return np.ones(size)
    if kind == "block":  # several leading ones that are equal, as at an optimum, and others just below
        return np.concatenate((np.ones(size // 2), 1.0 - 1e-4 * rng.random(size - size // 2)))
    if kind == "gap":
        return np.concatenate(([1.0], 0.1 * rng.random(size - 1)))
    return rng.random(size) ** 3


def matrix(rng, kind, rows, columns):
    size = min(rows, columns)
    u, v = (np.linalg.qr(rng.standard_normal((n, size)))[0] for n in (rows, columns))
    values = np.sort(spectrum(rng, size, kind))[::-1]
    return (u * values) @ v.T, u, values, v


def bounds(rng, g, left, right, enough=lambda reached, upper: upper <= 1.3 * reached, **options):
    spans = left, right, g @ right, g.T @ left
    return norm_bound(lambda v: g @ v, lambda u: g.T @ u, g.shape, spans, rng, enough, **options)


KINDS = ("cluster", "equal", "block", "gap", "random")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [0, 3, "rough"])
def test_a_bound_is_never_below_the_norm(kind, known):
    rng = np.random.default_rng(5)
    for _ in range(14):  # 210 matrices in all
        rows, columns = rng.integers(5, 90, 2)
        g, u, values, v = matrix(rng, kind, rows, columns)
        count = 2 if known == "rough" else min(known, len(values))
        left, right = u[:, :count], v[:, :count]
        if known == "rough":  # spans that have nothing to do with the singular vectors
            left, right = (np.linalg.qr(rng.standard_normal((n, count)))[0] for n in (rows, columns))
        found = bounds(rng, g, left, right)
        assert found.upper >= values[0]
        assert found.lower <= values[0] * (1 + 1e-12)
        if known != "rough":
            assert found.upper <= 1.31 * values[0]


def test_more_steps_close_the_bound_on_a_cluster():
    rng = np.random.default_rng(0)
    g, _, values, _ = matrix(rng, "cluster", 400, 300)
    none = np.empty((400, 0)), np.empty((300, 0))
    loose = bounds(rng, g, *none, lambda reached, upper: upper <= 1.3 * reached)
    tight = bounds(rng, g, *none, lambda reached, upper: upper <= (1 + 1e-8) * reached)
    assert tight.steps > loose.steps
    assert values[0] <= loose.upper <= (1 + 1e-5) * values[0]  # all values are close to the Ritz values, and so is it
    assert values[0] <= tight.upper <= (1 + 2e-8) * values[0]


def test_a_bound_fails_no_more_often_than_stated():
    """Over 400 starts on one matrix, from three steps: the worst that is still allowed is one in five."""
    values = np.concatenate(([1.0], np.linspace(0.3, 0.99, 39)))
    none, failures = np.empty((40, 0)), 0
    for seed in range(400):
        found = norm_bound(
            lambda v: values * v, lambda u: values * u, (40, 40), (none, none, none, none), np.random.default_rng(seed),
            lambda reached, upper: True, failure=0.2, least_steps=3,
        )  # fmt: skip
        failures += found.upper < 1.0
        assert found.upper < 1.5
    assert failures <= 80


def test_an_exhausted_krylov_space_is_not_taken_for_all_of_it():
    """Of a cluster a few parts in ten million wide Lanczos sees nothing more after some steps; it begins anew."""
    rng = np.random.default_rng(7)
    for _ in range(30):
        left, right = (np.linalg.qr(rng.standard_normal((n, 20)))[0] for n in (30, 20))
        values = 1.0 + 2e-7 * rng.random(20)
        g, none = (left * values) @ right.T, (np.empty((30, 0)), np.empty((20, 0)))
        for share in (0.3, 1e-12):
            found = bounds(rng, g, *none, lambda reached, upper, share=share: upper <= (1 + share) * reached)
            assert values.max() <= found.upper <= (1 + 1e-5) * values.max()
    assert found.steps == 20
    assert found.upper <= (1 + 1e-12) * values.max()


def test_the_rest_need_only_be_below_what_is_known():
    """With the leading vectors given, a rest of 0.9 needs few steps, and the bound is exact."""
    rng = np.random.default_rng(1)
    size = 300
    u, v = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    values = np.concatenate((np.ones(20), np.full(size - 20, 0.9)))
    g = (u * values) @ v.T
    found = bounds(rng, g, u[:, :20], v[:, :20], lambda reached, upper: upper <= 1.0 + 1e-9)
    assert found.upper * (1 + 1e-13) >= 1.0
    assert found.upper <= 1.0 + 1e-9
    assert found.steps < 60


def test_pairs_are_singular_pairs_of_the_rest():
    rng = np.random.default_rng(2)
    for shape in ((60, 40), (40, 60)):
        g, u, values, v = matrix(rng, "random", *shape)
        found = bounds(rng, g, u[:, :2], v[:, :2], wanted=3, least_steps=38)
        assert np.allclose(found.values, values[2:5], rtol=1e-8)
        assert np.allclose(np.abs(found.right.T @ v[:, 2:5]), np.eye(3), atol=1e-6)


def test_small_and_empty_cases():
    rng = np.random.default_rng(3)
    for shape in ((1, 1), (1, 7), (7, 1), (3, 3)):
        g = rng.standard_normal(shape)
        none = np.empty((shape[0], 0)), np.empty((shape[1], 0))
        found = bounds(rng, g, *none)
        assert np.isclose(found.upper, np.linalg.norm(g, 2), rtol=1e-10)
    zero = bounds(rng, np.zeros((4, 6)), np.empty((4, 0)), np.empty((6, 0)))
    assert zero.upper == 0.0
    g = rng.standard_normal((5, 3))
    whole = bounds(rng, g, np.eye(5), np.eye(3))  # nothing is left over
    assert np.isclose(whole.upper, np.linalg.norm(g, 2), rtol=1e-12)
