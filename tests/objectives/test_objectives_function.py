"""Function: what it offers follows from the callables, and what they return is checked."""

import numpy as np
import pytest

from bsfw.objectives import Counts, Function, LeastSquares, Objective

A = np.random.default_rng(0).standard_normal((8, 3))
Y = np.random.default_rng(1).standard_normal(8)
MODEL = LeastSquares(A, Y)
X = np.array([0.5, -1.0, 2.0])


def fun(x):
    return 0.5 * np.mean((A @ x - Y) ** 2)


def jac(x):
    return A.T @ (A @ x - Y) / 8


def batch_jac(x, batch):
    return A[batch].T @ (A[batch] @ x - Y[batch]) / len(batch)


def partial(x, coordinates):
    return jac(x)[coordinates]


def test_everything_given_equals_the_built_in_model():
    objective = Function(fun, jac, n_samples=8, batch_jac=batch_jac, partial=partial, shape=3)
    batch, coordinates = np.array([1, 5]), np.array([2, 0])
    assert objective.shape == (3,)
    assert objective.value(X) == pytest.approx(MODEL.value(X))
    np.testing.assert_allclose(objective.gradient(X), MODEL.gradient(X))
    np.testing.assert_allclose(objective.batch_gradient(X, batch), MODEL.batch_gradient(X, batch))
    np.testing.assert_allclose(objective.sample_gradients(X, batch), MODEL.sample_gradients(X, batch))
    np.testing.assert_allclose(objective.partial_derivatives(X, coordinates), MODEL.partial_derivatives(X, coordinates))
    np.testing.assert_allclose(
        objective.forward_differences(X, coordinates, 0.1), MODEL.forward_differences(X, coordinates, 0.1)
    )
    line, exact = objective.along(X, X), MODEL.along(X, X)
    assert line.value(0.3) == pytest.approx(exact.value(0.3))
    assert line.derivative(0.3) == pytest.approx(exact.derivative(0.3))


@pytest.mark.parametrize(
    ("given", "gradient", "batches", "partials"),
    [
        ({}, False, False, False),
        ({"jac": jac}, True, False, False),
        ({"batch_jac": batch_jac, "n_samples": 8}, True, True, False),
        ({"partial": partial}, False, False, True),
        ({"jac": jac, "batch_jac": batch_jac, "n_samples": 8, "partial": partial}, True, True, True),
    ],
)
def test_capabilities_follow_what_was_given(given, gradient, batches, partials):
    objective = Function(fun, **given)
    assert (objective.has_gradient, objective.has_batches, objective.has_partial_derivatives) == (
        gradient,
        batches,
        partials,
    )


def test_without_jac_the_full_gradient_is_the_batch_of_everything():
    seen = []

    def recorded(x, batch):
        seen.append(batch)
        return batch_jac(x, batch)

    objective = Function(fun, n_samples=8, batch_jac=recorded)
    np.testing.assert_allclose(objective.gradient(X), MODEL.gradient(X))
    assert seen[0].tolist() == list(range(8))


def test_what_was_not_given_is_refused_in_a_sentence():
    objective = Function(fun)
    for call, sentence in {
        lambda: objective.gradient(X): "has no gradient; give jac",
        lambda: objective.batch_gradient(
            X, np.arange(2)
        ): "Function is no finite sum: it has no gradients of batches; give batch_jac",
        lambda: objective.partial_derivatives(X, np.arange(2)): "no partial derivatives; give partial",
        objective.smoothness: "Function does not know its smoothness constant",
        objective.sample_smoothness: "Function does not know the smoothness of its samples",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            call()


def test_counts_are_exact():
    objective, batch, coordinates = (
        Function(fun, jac, n_samples=8, batch_jac=batch_jac, partial=partial),
        np.arange(2),
        np.arange(3),
    )
    counts = Counts()
    with objective.counting(counts):
        objective.value(X)
        objective.gradient(X)
        objective.batch_gradient(X, batch)
        objective.sample_gradients(X, batch)
        objective.partial_derivatives(X, coordinates)
        objective.forward_differences(X, coordinates, 0.1)
    assert counts == Counts(sample_gradients=12, coordinate_gradients=6, function_values=5, full_gradients=1)
    plain = Function(fun, jac)
    plain.gradient(X)
    assert plain.counts == Counts(sample_gradients=1, full_gradients=1)


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (np.ones(3), r"fun must return one real number, but returned ndarray of shape \(3,\)"),
        (np.ones(1), "one real number"),
        (1j, "one real number, but returned complex"),
    ],
)
def test_values_must_be_real_scalars(returned, sentence):
    with pytest.raises(ValueError, match=sentence):
        Function(lambda x: returned).value(X)


def test_values_may_be_any_kind_of_scalar():
    for returned in (2, 2.0, np.float32(2), np.array(2.0)):
        value = Function(lambda x, returned=returned: returned).value(X)
        assert value == 2.0
        assert type(value) is float


def test_gradients_of_the_wrong_shape_are_refused():
    wrong = Function(
        fun, lambda x: np.ones((3, 1)), n_samples=8, batch_jac=lambda x, b: 1.0, partial=lambda x, c: np.ones(3)
    )
    with pytest.raises(
        ValueError, match=r"jac must return an array of shape \(3,\), but returned ndarray of shape \(3, 1\)"
    ):
        wrong.gradient(X)
    with pytest.raises(ValueError, match=r"batch_jac must return an array of shape \(3,\), but returned float"):
        wrong.batch_gradient(X, np.arange(2))
    with pytest.raises(ValueError, match=r"partial must return an array of shape \(2,\)"):
        wrong.partial_derivatives(X, np.arange(2))


def test_complex_variables_need_the_dtype():
    z = np.array([1 + 1j, 2.0])
    with pytest.raises(ValueError, match="complex numbers for a real variable; give dtype=complex"):
        Function(lambda x: 0.0, lambda x: 1j * x).gradient(X)
    objective = Function(lambda x: 0.5 * np.vdot(x, x).real, lambda x: x, dtype=complex)
    np.testing.assert_array_equal(objective.gradient(z), z)
    assert objective.gradient(z).dtype == np.complex128


def test_returned_gradients_are_copies_of_the_dtype_of_the_variable():
    objective = Function(lambda x: 0.0, lambda x: x, dtype=np.float32)
    x = np.ones(3, dtype=np.float32)
    gradient = objective.gradient(x)
    gradient += 1.0
    assert x.tolist() == [1.0, 1.0, 1.0]
    assert objective.gradient(np.ones(3)).dtype == np.float32


def test_constants_are_what_the_user_states():
    objective = Function(fun, jac, quasar_rho=0.5, smoothness=3.0)
    assert objective.quasar_rho == 0.5
    assert objective.smoothness() == 3.0
    assert Function(fun).quasar_rho is None
    assert Function(fun).shape is None
    assert Function(fun, shape=(2, 3)).shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"fun": None}, TypeError, "fun must be a function, got None"),
        ({"jac": True}, TypeError, "jac must be a function, got True"),
        ({"n_samples": 8}, ValueError, "batch_jac is missing"),
        ({"batch_jac": batch_jac}, ValueError, "n_samples is missing"),
        ({"batch_jac": batch_jac, "n_samples": 0}, ValueError, "n_samples must be a whole number of at least 1"),
        ({"dtype": int}, ValueError, "dtype must be float32, float64, complex64 or complex128, got int64"),
        ({"partial": partial, "dtype": complex}, ValueError, "partial is for real variables"),
        ({"shape": (3, 0)}, ValueError, "every entry of shape must be a whole number"),
        ({"quasar_rho": 2.0}, ValueError, r"quasar_rho must lie in \]0, 1\]"),
        ({"smoothness": -1.0}, ValueError, "smoothness must be a positive"),
    ],
)
def test_bad_input_gets_its_own_sentence(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        Function(**{"fun": fun, **arguments})


def test_an_objective_says_what_it_does_not_offer():
    class OnlyValues(Objective):
        def _value(self, x):
            return float(np.sum(x))

    objective, x, some = OnlyValues(), np.ones(3), np.array([0])
    assert not any((objective.has_gradient, objective.has_batches, objective.has_partial_derivatives))
    for call, what in (
        (lambda: objective.gradient(x), "no gradient"),
        (lambda: objective.batch_gradient(x, some), "no gradients of batches"),
        (lambda: objective.partial_derivatives(x, some), "no partial derivatives"),
    ):
        with pytest.raises(ValueError, match=f"OnlyValues .*{what}"):
            call()
