"""Quadratic: every form of Q, real and complex, against the dense formula."""

import numpy as np
import pytest
import scipy.sparse as sp

from bsfw.objectives import Counts, Quadratic

N = 6


def hermitian(kind, size=N, seed=0):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((size, size))
    if kind == "complex":
        B = B + 1j * rng.standard_normal((size, size))
    return B + B.conj().T


def forms():
    Q = hermitian("real")
    diagonal = np.random.default_rng(1).standard_normal(N)
    complex_Q = hermitian("complex")
    return {
        "dense": (Q, Q),
        "sparse": (sp.coo_array(Q), Q),
        "diagonal": (diagonal, np.diag(diagonal)),
        "number": (1.5, 1.5 * np.eye(N)),
        "complex dense": (complex_Q, complex_Q),
        "complex sparse": (sp.csc_matrix(complex_Q), complex_Q),
        "real Q, complex b": (Q, Q),
    }


@pytest.fixture(params=forms())
def case(request):
    """An objective of a 2 x 3 variable, the dense Q, b, a point and a direction."""
    given, dense = forms()[request.param]
    rng = np.random.default_rng(2)
    b, x, d = (rng.standard_normal((2, 3)) for _ in range(3))
    if "complex" in request.param:
        b, x, d = (part + 1j * rng.standard_normal((2, 3)) for part in (b, x, d))
    return Quadratic(given, b, 0.7), dense, b, x, d


def formula(dense, b, x):
    flat = x.ravel()
    return (0.5 * np.vdot(flat, dense @ flat) + np.vdot(b, x)).real + 0.7


def test_value_is_the_formula_and_the_gradient_its_derivative(case):
    objective, dense, b, x, d = case
    assert objective.shape == (2, 3)
    assert objective.dtype == b.dtype
    assert objective.value(x) == pytest.approx(formula(dense, b, x), rel=1e-13)
    gradient = objective.gradient(x)
    assert gradient.shape == x.shape
    for direction in (d, 1j * d) if np.iscomplexobj(d) else (d,):
        h = 1e-5
        slope = (formula(dense, b, x + h * direction) - formula(dense, b, x - h * direction)) / (2 * h)
        assert np.vdot(gradient, direction).real == pytest.approx(slope, rel=1e-7, abs=1e-8)


def test_along_is_exact_and_counted(case):
    objective, dense, b, x, d = case
    counts = Counts()
    with objective.counting(counts):
        line = objective.along(x, d)
        assert counts == Counts()
        for gamma in (0.0, 0.4, -2.0):
            assert line.value(gamma) == pytest.approx(formula(dense, b, x + gamma * d), rel=1e-11, abs=1e-11)
            expected = np.vdot((dense @ (x + gamma * d).ravel()).reshape(2, 3) + b, d).real
            assert line.derivative(gamma) == pytest.approx(expected, rel=1e-11, abs=1e-11)
    assert counts == Counts(function_values=3, sample_gradients=3, full_gradients=3)


def test_smoothness_is_the_largest_magnitude_of_an_eigenvalue(case):
    objective, dense, *_ = case
    exact = np.abs(np.linalg.eigvalsh(dense)).max()
    assert exact <= objective.smoothness() <= exact * (1 + 1e-9)


def test_partial_derivatives_and_forward_differences_of_real_variables(case):
    objective, _, b, x, _ = case
    coordinates = np.array([4, 0, 4, 5])
    assert objective.has_partial_derivatives == (not np.iscomplexobj(b))
    if np.iscomplexobj(b):
        with pytest.raises(ValueError, match="this Quadratic is complex"):
            objective.partial_derivatives(x, coordinates)
    else:
        expected = objective.gradient(x).ravel()[coordinates]
        np.testing.assert_allclose(objective.partial_derivatives(x, coordinates), expected, rtol=1e-13)
    found = objective.forward_differences(x, coordinates, 0.25)
    assert found.dtype == np.float64
    for j, quotient in zip(coordinates, found, strict=True):
        moved = x.copy()
        moved.flat[j] += 0.25
        assert quotient == pytest.approx((objective.value(moved) - objective.value(x)) / 0.25, rel=1e-11, abs=1e-11)


def test_counts_are_exact():
    objective, x, counts = Quadratic(np.eye(3)), np.ones(3), Counts()
    with objective.counting(counts):
        objective.value(x)
        objective.gradient(x)
        objective.partial_derivatives(x, np.array([0, 2]))
        objective.forward_differences(x, np.array([0, 2]), 0.1)
    assert counts == Counts(sample_gradients=1, coordinate_gradients=4, function_values=4, full_gradients=1)
    assert objective.n_samples is None
    assert not objective.has_batches


@pytest.mark.parametrize(
    ("Q", "convex"),
    [
        (np.diag([1.0, 0.0, 2.0]), True),
        (np.diag([1.0, -1e-3, 2.0]), False),
        (np.array([1.0, 0.0]), True),
        (np.array([1.0, -1e-3]), False),
        (sp.diags_array([1.0, -1.0]), False),
        (np.array([[2.0, 1j], [-1j, 2.0]]), True),
        (np.array([[0.5, 1j], [-1j, 0.5]]), False),
    ],
)
def test_convexity_follows_from_the_eigenvalues(Q, convex):
    assert Quadratic(Q).quasar_rho == (1.0 if convex else None)


def test_a_rank_one_gram_matrix_counts_as_convex_in_spite_of_rounding():
    for dtype in (np.float32, np.float64):
        a = np.random.default_rng(0).standard_normal((3, 200)).astype(dtype)
        assert Quadratic(a.T @ a).quasar_rho == 1.0


def test_the_users_word_on_convexity_is_taken_and_asked_for_where_it_is_expensive():
    assert Quadratic(np.eye(2), convex=False).quasar_rho is None
    large = sp.eye_array(2001, format="csr") * 3.0
    with pytest.raises(ValueError, match=r"Q is 2001 x 2001, too large .* say convex=True"):
        Quadratic(large)
    objective = Quadratic(large, convex=True)
    assert objective.quasar_rho == 1.0
    assert Quadratic(np.full(5000, 2.0)).quasar_rho == 1.0  # a diagonal is cheap at any size


def test_smoothness_of_a_large_sparse_matrix_is_a_tight_upper_bound_on_the_most_negative_eigenvalue_too():
    size = 2500
    Q = sp.diags_array([np.full(size - 1, 1.0), np.full(size, -2.0), np.full(size - 1, 1.0)], offsets=[-1, 0, 1])
    exact = 2 + 2 * np.cos(np.pi / (size + 1))
    assert exact <= Quadratic(Q, convex=False).smoothness() <= 1.002 * exact


def test_float32_stays_float32():
    for Q in (np.eye(3, dtype=np.float32), sp.eye_array(3, dtype=np.float32), 2.0, np.ones(3, dtype=np.float32)):
        objective = Quadratic(Q, np.ones(3, dtype=np.float32))
        assert objective.dtype == np.float32
        assert objective.gradient(np.ones(3, dtype=np.float32)).dtype == np.float32
    assert Quadratic(np.eye(3, dtype=int), [1, 2, 3]).dtype == np.float64


def test_shape_comes_from_the_argument_then_b_then_Q():
    assert Quadratic(np.eye(6), shape=(2, 3)).shape == (2, 3)
    assert Quadratic(1.0, shape=4).shape == (4,)
    assert Quadratic(np.eye(6), np.ones((3, 2))).shape == (3, 2)
    assert Quadratic(np.ones(6)).shape == (6,)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"Q": 1.0}, ValueError, "cannot know its dimension; give b or shape"),
        ({"Q": np.eye(3), "b": np.ones(2)}, ValueError, r"Q must act on the 2 entries .* its shape is \(3, 3\)"),
        ({"Q": np.ones((2, 3))}, ValueError, r"its shape is \(2, 3\)"),
        (
            {"Q": np.eye(4), "b": np.ones(4), "shape": (2, 2)},
            ValueError,
            r"b must have the shape .* \(2, 2\), but has \(4,\)",
        ),
        ({"Q": np.zeros((0, 0))}, ValueError, "at least one variable"),
        ({"Q": np.array([[1.0, 2.0], [0.0, 1.0]])}, ValueError, "Q must be Hermitian .* entries up to 2"),
        ({"Q": sp.csr_array([[1.0, 2.0], [0.0, 1.0]])}, ValueError, "Q must be Hermitian"),
        ({"Q": np.array([[1.0, 1j], [1j, 1.0]])}, ValueError, "Q must be Hermitian"),
        ({"Q": np.array([1.0, 1j])}, ValueError, "Q must be Hermitian"),
        ({"Q": 1j, "b": np.ones(2)}, ValueError, "Q must be Hermitian"),
        ({"Q": np.array([1.0, np.nan])}, ValueError, "Q has 1 entries that are NaN"),
        ({"Q": sp.csr_array([[np.inf]])}, ValueError, "Q has 1 entries that are NaN"),
        ({"Q": 1.0, "b": [np.nan, 1.0]}, ValueError, "b has 1 entries that are NaN"),
        ({"Q": np.eye(2), "c": np.inf}, ValueError, "c must be a finite number, got inf"),
        ({"Q": np.eye(2), "c": 1j}, ValueError, "c must be a finite number, got 1j"),
        ({"Q": np.eye(2), "b": ["a", "b"]}, TypeError, "must hold numbers"),
    ],
)
def test_bad_input_gets_its_own_sentence(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        Quadratic(**arguments)


def test_fingerprint_changes_with_every_part():
    Q = hermitian("real")
    R = Q.copy()
    R[2, 2] *= 1 + 1e-15
    variants = [
        Quadratic(Q),
        Quadratic(R),
        Quadratic(Q, np.ones(N)),
        Quadratic(Q, c=1.0),
        Quadratic(Q, shape=(2, 3)),
        Quadratic(Q, convex=True),
    ]
    prints = {variant.fingerprint() for variant in variants}
    assert len(prints) == len(variants)
    assert Quadratic(Q.copy()).fingerprint() in prints
    assert Quadratic(sp.csr_array(Q)).fingerprint() != Quadratic(sp.csr_array(R)).fingerprint()


def test_the_callers_b_is_not_shared():
    b = np.ones(2)
    objective = Quadratic(np.eye(2), b)
    b[:] = 5.0
    assert objective.value(np.ones(2)) == pytest.approx(3.0)
