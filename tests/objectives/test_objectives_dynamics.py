"""Linear dynamical systems: outputs by a state space of SciPy, exact gradients, quasar-convexity, stable sets."""

import numpy as np
import pytest
import scipy.optimize
import scipy.signal

import bsfw
from bsfw.objectives import LinearDynamics

M, T = 6, 40


def system(rng, order=3, radius=0.5, gain=1.0):
    """A system of the set, on its boundary: one with a small l1 norm would test little."""
    a = rng.standard_normal(order)
    return np.concatenate([radius * a / np.abs(a).sum(), rng.uniform(-gain, gain, order + 1)])


def problem(seed=0, order=3, noise=0.0, radius=0.5, **options):
    rng = np.random.default_rng(seed)
    truth, u = system(rng, order, radius), rng.standard_normal((M, T))
    clean = LinearDynamics(u, np.zeros_like(u), order).predict(truth)
    return LinearDynamics(u, clean + noise * rng.standard_normal(u.shape), order, **options), truth, rng


def test_outputs_are_those_of_the_state_space_in_controllable_form():
    objective, truth, _ = problem(order=3)
    a, b = truth[:3], truth[3:]
    A = np.vstack([np.eye(3)[1:], -a[::-1]])  # the states are s_(t-3), s_(t-2), s_(t-1)
    B, C, D = np.eye(3)[:, 2:], (b[1:] - b[0] * a)[::-1][None], b[:1][None]
    for u, y in zip(objective.inputs, objective.predict(truth), strict=True):
        _, theirs, _ = scipy.signal.dlsim((A, B, C, D, 1.0), u)
        np.testing.assert_allclose(y, theirs[:, 0], atol=1e-13)


@pytest.mark.parametrize("order", [1, 4])
def test_the_adjoint_gives_the_gradient_of_the_value(order):
    objective, _, rng = problem(order=order, noise=0.3)
    x = system(rng, order)
    numeric = scipy.optimize.approx_fprime(x, objective.value, 1e-7)
    np.testing.assert_allclose(objective.gradient(x), numeric, atol=1e-6)


def test_batches_average_to_the_gradient():
    objective, _, rng = problem(noise=0.3)
    x = system(rng)
    singles = objective.sample_gradients(x, np.arange(M))
    np.testing.assert_allclose(singles.mean(axis=0), objective.gradient(x), atol=1e-15)
    np.testing.assert_allclose(objective.batch_gradient(x, [1, 4]), singles[[1, 4]].mean(axis=0), atol=1e-15)


@pytest.mark.parametrize("radius", [0.2, 1 / 3, 0.5, 0.65])
def test_quasar_convexity_holds_with_the_stated_rho_at_any_length(radius):
    rho = LinearDynamics.rho_if_realisable(radius)
    for seed in range(20):
        objective, truth, rng = problem(seed, order=2, radius=radius)
        for _ in range(10):
            x = system(rng, 2, radius)
            slope = objective.gradient(x) @ (x - truth)
            assert slope >= rho * objective.value(x) * (1 - 1e-9)
            # The identity behind it: the residual against itself, filtered by p* / p.
            e = objective.predict(x) - objective.outputs
            filtered = scipy.signal.lfilter([1, *truth[:2]], [1, *x[:2]], e, axis=1)
            assert slope == pytest.approx(np.mean(e * filtered), rel=1e-9)


def test_rho_is_what_the_extreme_pair_of_discs_allows():
    circle = np.exp(1j * np.linspace(0, 2 * np.pi, 721))
    for radius in (0.1, 1 / 3, 0.5, 0.6, 0.7):
        discs = 1 + radius * circle
        exact = np.real(discs[:, None] / discs[None]).min()
        assert LinearDynamics.rho_if_realisable(radius) == pytest.approx(min(1.0, 2 * exact), rel=1e-3)
    assert LinearDynamics.rho_if_realisable(0.5) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="nothing is known"):
        LinearDynamics.rho_if_realisable(0.71)


def test_f_is_not_convex():
    objective, _, rng = problem(order=2, radius=0.6)
    least = []
    for _ in range(10):
        x = system(rng, 2, 0.6)
        columns = [objective.gradient(x + h) - objective.gradient(x - h) for h in 1e-5 * np.eye(5)]
        least.append(np.linalg.eigvalsh(np.add(columns, np.transpose(columns)) / 4e-5)[0])
    assert min(least) < -1e-3


def test_all_systems_of_the_set_are_stable():
    objective, _, rng = problem(order=5)
    constraint = objective.stable_set(0.99, 2.0)
    for _ in range(50):
        x = constraint.lmo(rng.standard_normal(11)).dense()
        assert constraint.violation(x) <= 1e-12
        assert np.abs(np.roots(np.concatenate([[1.0], x[:5]]))).max() < 1.0
    with pytest.raises(ValueError, match="radius must be below 1"):
        objective.stable_set(1.0)


@pytest.mark.parametrize("estimator", [None, bsfw.SAGA(2), bsfw.LSVRG(2)])
def test_a_run_learns_the_system_in_its_own_set(estimator):
    objective, _, _ = problem(order=2, radius=0.3, quasar_rho=1.0)
    result = bsfw.minimize(objective, estimator=estimator, max_iter=1500, rng=0)
    assert result.fun < 1e-3 * objective.value(np.zeros(5))
    assert objective.stable_set().violation(result.x) <= 1e-12


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.ones((2, 5)), np.ones((2, 4)), 1), "the same shape"),
        ((np.ones((2, 5)), np.ones((2, 5)), 5), "order must be below the length of the sequences, 5, got 5"),
        ((np.ones((2, 2, 2)), np.ones((2, 2, 2)), 1), "a row for each sequence"),
        (([[1.0, np.nan]], [[1.0, 2.0]], 1), "NaN"),
    ],
)
def test_bad_input_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        LinearDynamics(*arguments)


def test_the_experiment_compares_boosted_and_vanilla_on_systems_of_the_set():
    from bsfw.experiments import spec

    experiment = spec.plan("dynamics", quick=True)
    first = [task for task in experiment.tasks if task.seed == 0]
    for task in first:
        made, _ = task.parts()  # a ValueError if they do not fit together
        assert made.objective.quasar_rho == pytest.approx(2 / 3)
    pairs = {(task.problem, task.estimator) for task in first if task.max_rounds > 1}
    assert pairs == {(task.problem, task.estimator) for task in first if task.max_rounds == 1}
    assert len(pairs) == len(first) / 2
