"""The objective against its definition: dense sensing operators, finite differences, what holds at the truth."""

from functools import reduce
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.quantum import ProcessTomography, depolarised, haar_unitary

PAULIS = {
    "I": np.eye(2, dtype=complex),
    "X": np.array([[0, 1], [1, 0]], dtype=complex),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1.0 + 0j, -1.0]),
}
KETS = {"0": [1, 0], "1": [0, 1], "+": [0.5**0.5, 0.5**0.5], "r": [0.5**0.5, 1j * 0.5**0.5]}


def pauli(label):
    return reduce(np.kron, [PAULIS[letter] for letter in label])


def dense_probabilities(chi, n, inputs=None, settings=None):
    """sum_ab chi_ab tr(E A_a rho A_b^H), term by term, from the definition page."""
    d = 2**n
    basis = [pauli(label) / np.sqrt(d) for label in product("IXYZ", repeat=n)]
    found = []
    for label in inputs or product("01+r", repeat=n):
        ket = reduce(np.kron, [np.array(KETS[letter]) for letter in label])
        rho = np.outer(ket, ket.conj())
        output = sum(chi[a, b] * basis[a] @ rho @ basis[b].conj().T for a in range(d * d) for b in range(d * d))
        for setting in settings or product("XYZ", repeat=n):
            for signs in product((1, -1), repeat=n):
                factors = [(np.eye(2) + s * PAULIS[p]) / 2 for s, p in zip(signs, setting, strict=True)]
                found.append(np.trace(reduce(np.kron, factors) @ output).real)
    return np.array(found)


def dense_value(problem, x, *, penalty=None, mean=False, inputs=None, settings=None):
    U, n = problem.coefficients(x), problem.design.qubits
    d = 2**n
    basis = [pauli(label) / np.sqrt(d) for label in product("IXYZ", repeat=n)]
    chi = U @ U.conj().T
    squares = (problem.frequencies.ravel() - dense_probabilities(chi, n, inputs, settings)) ** 2
    trace = sum(chi[i, j] * basis[j].conj().T @ basis[i] for i in range(d * d) for j in range(d * d))
    fit = 0.5 * (squares.mean() if mean else squares.sum())
    penalty = problem.penalty if penalty is None else penalty
    return fit + penalty * np.linalg.norm(trace - np.eye(d)) ** 2


def a_point(problem, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(problem.shape) + 1j * rng.standard_normal(problem.shape)) / np.sqrt(problem.shape[0])


def direct_gradient(problem, x):
    """2 Phi (r o a) Psi^H + 4 lambda M (M^H M - I) with the measurements one by one."""
    d, kraus = problem.design.dimension, problem.kraus(x, trace_preserving=False)
    residual = (problem.probabilities(x) - problem.frequencies).reshape(problem.frequencies.shape[0], -1).T
    psi, phi = problem.design.input_states(), problem.design.effects().T
    excess = sum(M.conj().T @ M for M in kraus) - np.eye(d)
    columns = [
        2 * phi @ (residual * (phi.conj().T @ M @ psi)) @ psi.conj().T + 4 * problem.penalty * M @ excess for M in kraus
    ]
    return np.stack([column.ravel() for column in columns], axis=1)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("n", [1, 2])
def test_value_is_the_papers_in_the_pauli_basis(n, rank):
    problem = ProcessTomography.random(n, 0.1, rng=3, rank=rank)
    x = a_point(problem)
    assert problem.value(x) == pytest.approx(dense_value(problem, x), rel=1e-12)
    assert problem.value(0 * x) == pytest.approx(dense_value(problem, 0 * x), rel=1e-12)


def test_value_on_subsets_and_as_a_mean():
    inputs, chosen = ["r1", "0+", "11"], ["ZX", "YY"]
    options = dict(inputs=inputs, settings=chosen, reduction="mean", penalty=0.3)
    problem = ProcessTomography.random(2, 0.1, rng=3, **options)
    assert problem.n_samples == 3 * 2 * 4
    expected = dense_value(problem, a_point(problem), penalty=0.3, mean=True, inputs=inputs, settings=chosen)
    assert problem.value(a_point(problem)) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 3),
    rank=st.integers(1, 3),
    reduction=st.sampled_from(["sum", "mean"]),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_gradient_is_the_doubled_wirtinger_derivative(n, rank, reduction, seed, data):
    subset = lambda count: data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=6, unique=True))  # noqa: E731
    chosen = dict(inputs=subset(4**n), settings=subset(3**n)) if data.draw(st.booleans()) else {}
    problem = ProcessTomography.random(n, 0.1, rng=seed, rank=rank, reduction=reduction, **chosen)
    x, h, step = a_point(problem, seed), a_point(problem, seed + 1), 1e-6
    difference = (problem.value(x + step * h) - problem.value(x - step * h)) / (2 * step)
    gradient = problem.gradient(x)
    assert np.vdot(h, gradient).real == pytest.approx(difference, rel=1e-6, abs=1e-6)
    if reduction == "sum":
        np.testing.assert_allclose(gradient, direct_gradient(problem, x), atol=1e-11)


@settings(deadline=None, max_examples=25)
@given(n=st.integers(1, 3), rank=st.integers(1, 2), reduction=st.sampled_from(["sum", "mean"]), seed=st.integers(0, 99))
def test_samples_average_to_the_gradient_and_batches_to_their_samples(n, rank, reduction, seed):
    problem = ProcessTomography.random(n, 0.1, rng=seed, rank=rank, reduction=reduction)
    x, rng = a_point(problem, seed), np.random.default_rng(seed)
    everything = problem.sample_gradients(x, np.arange(problem.n_samples))
    np.testing.assert_allclose(everything.mean(axis=0), problem.gradient(x), atol=1e-10)
    batch = rng.choice(problem.n_samples, size=7, replace=False)
    np.testing.assert_allclose(problem.sample_gradients(x, batch), everything[batch], atol=1e-10)
    np.testing.assert_allclose(problem.batch_gradient(x, batch), everything[batch].mean(axis=0), atol=1e-10)


def test_blocks_of_inputs_and_pieces_of_batches_change_nothing(monkeypatch):
    whole = ProcessTomography.random(3, 0.1, rng=0, rank=2)
    monkeypatch.setattr("bsfw.quantum.transforms._BLOCK", 1280)  # 20 inputs, 160 measurements: the last part is smaller
    parts = ProcessTomography.random(3, 0.1, rng=0, rank=2)
    x, batch = a_point(whole), np.arange(3, 13_824, 37)
    assert len(parts._transform.blocks) == 4
    assert parts.value(x) == pytest.approx(whole.value(x), rel=1e-13)
    np.testing.assert_allclose(parts.gradient(x), whole.gradient(x), rtol=1e-12)
    np.testing.assert_allclose(parts.batch_gradient(x, batch), whole.batch_gradient(x, batch), rtol=1e-12)
    np.testing.assert_allclose(parts.sample_gradients(x, batch), whole.sample_gradients(x, batch), rtol=1e-12)


def test_counts_are_those_of_a_finite_sum():
    problem = ProcessTomography.random(1, 0.1, rng=0)
    x = problem.start(0)
    problem.gradient(x), problem.batch_gradient(x, np.arange(5)), problem.sample_gradients(x, np.arange(3))
    problem.value(x)
    counts = problem.counts
    assert (counts.sample_gradients, counts.full_gradients, counts.function_values) == (24 + 5 + 3, 1, 1)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_truth_is_stationary_without_noise(n):
    problem = ProcessTomography.random(n, 0.0, rng=n)
    truth = problem.truth.reshape(-1, 1)
    assert abs(problem.value(truth)) < 1e-24
    assert np.abs(problem.gradient(truth)).max() < 1e-12
    assert np.abs(problem.gradient(np.exp(0.7j) * truth)).max() < 1e-12  # a global phase cannot be seen
    assert np.abs(problem.gradient(1.1 * truth)).max() > 0.1


def test_the_factor_of_the_truth_is_the_papers():
    problem = ProcessTomography.random(2, 0.0, rng=5)
    truth = problem.truth.reshape(-1, 1)
    U = problem.coefficients(truth)
    expected = [np.trace(pauli(label).conj().T @ problem.truth[0]) / 2 for label in product("IXYZ", repeat=2)]
    np.testing.assert_allclose(U[:, 0], expected, atol=1e-14)
    assert np.linalg.norm(U) ** 2 == pytest.approx(4)
    np.testing.assert_allclose(problem.variable(U), truth, atol=1e-14)


@given(n=st.integers(1, 3), rank=st.integers(1, 3), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=20)
def test_the_variable_is_the_papers_up_to_a_unitary(n, rank, seed):
    """So the operator-norm ball of U is that of x, step for step."""
    problem = ProcessTomography.random(n, 0.0, rng=0, rank=rank)
    x, y = a_point(problem, seed), a_point(problem, seed + 1)
    U, V = problem.coefficients(x), problem.coefficients(y)
    np.testing.assert_allclose(U.conj().T @ V, x.conj().T @ y, atol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(U)[1], np.linalg.svd(x)[1], atol=1e-12)
    np.testing.assert_allclose(problem.variable(U), x, atol=1e-13)


def test_for_one_column_the_spectral_ball_is_the_euclidean_ball_and_not_that_of_the_matrix():
    problem = ProcessTomography.random(2, 0.1, rng=0)
    ball, gradient = bsfw.SpectralBall(10.0), problem.gradient(problem.start(0))
    vertex = ball.lmo(gradient).dense()
    np.testing.assert_allclose(vertex, -10.0 * gradient / np.linalg.norm(gradient), atol=1e-12)
    assert ball.diameter(problem.shape) == 20.0
    assert ball.contains(10.0 * np.eye(16)[:, :1] + 0j)
    assert not ball.contains(6.0 * np.eye(4).reshape(16, 1) + 0j)  # largest singular value of M 6, but ||M||_F = 12


def test_the_start_is_the_papers():
    problem = ProcessTomography.random(3, 0.1, rng=0)
    U = problem.coefficients(problem.start(4))
    assert np.linalg.norm(U) ** 2 == pytest.approx(8)
    assert U.real.min() >= 0
    assert U.imag.min() >= 0
    np.testing.assert_array_equal(problem.start(4), problem.start(4))


def test_smoothness_bounds_the_curvature_inside_of_the_ball():
    for reduction in ("sum", "mean"):
        problem = ProcessTomography.random(1, 0.3, rng=0, rank=2, reduction=reduction)
        L, worst = problem.smoothness(3.0), 0.0
        for seed in range(200):
            x, y = (3.0 * p / np.linalg.norm(p) for p in (a_point(problem, seed), a_point(problem, seed + 1)))
            worst = max(worst, np.linalg.norm(problem.gradient(x) - problem.gradient(y)) / np.linalg.norm(x - y))
        assert worst <= L <= 10 * worst
    with pytest.raises(ValueError, match="smoothness"):
        problem.smoothness()


def test_the_fingerprint_tells_problems_apart():
    make = lambda rng=0, **options: ProcessTomography.random(1, 0.1, rng=rng, **options).fingerprint()  # noqa: E731
    prints = [make(), make(1), make(penalty=0.1), make(reduction="mean"), make(rank=2), make(inputs=[0, 1])]
    assert len(set(prints)) == len(prints)
    assert make() == prints[0]


@pytest.mark.parametrize(
    "estimator",
    [
        bsfw.SAGA(batch_size=60), bsfw.LSVRG(batch_size=60), bsfw.SARAH(batch_size=60), bsfw.HeavyBall(batch_size=60),
        bsfw.FullGradient(),
    ],
    ids=lambda made: made.name,
)  # fmt: skip
def test_every_finite_sum_estimator_runs_on_it(estimator):
    problem = ProcessTomography.random(2, 0.01, rng=0, penalty=0.05)
    x0 = problem.start(0)
    result = bsfw.minimize(
        problem, bsfw.SpectralBall(3.0), x0=x0, estimator=estimator, max_rounds=3, max_iter=400, rng=0,
        decay="inverse-sqrt",
    )  # fmt: skip
    assert result.fun < 0.2 * problem.value(x0)
    assert result.x.dtype == np.complex128


def test_sag_is_refused_for_it_is_no_linear_model():
    with pytest.raises(ValueError, match="SAG needs a linear model"):
        bsfw.minimize(ProcessTomography.random(1, 0.1, rng=0), bsfw.SpectralBall(3.0), estimator=bsfw.SAG())


def test_a_unitary_is_found_again_from_the_default_start():
    problem = ProcessTomography.random(3, 0.05, rng=0, penalty=0.05)
    result = bsfw.minimize(problem, bsfw.SpectralBall(10.0), max_rounds=3, max_iter=600)
    assert problem.fidelity_normalised(result.x) > 0.97


def test_a_channel_of_rank_two_is_recovered():
    V, flip = haar_unitary(1, 2), np.array([[0, 1], [1, 0]])
    channel = np.stack([np.sqrt(0.7) * V, np.sqrt(0.3) * flip @ V])
    problem = ProcessTomography.from_truth(channel, rank=2)
    result = bsfw.minimize(
        problem, bsfw.SpectralBall(3.0), x0=problem.start(1), step="line-search", max_rounds=5, max_iter=400
    )
    assert problem.fidelity_normalised(result.x) > 0.9999
    assert problem.fidelity_as_is(result.x) == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(problem.probabilities(result.x), problem.frequencies, atol=1e-2)
    single = ProcessTomography.from_truth(channel)
    best = bsfw.minimize(single, bsfw.SpectralBall(3.0), x0=single.start(1), step="line-search", max_iter=400)
    assert single.fidelity_normalised(best.x) < 0.9  # one Kraus operator cannot be that channel


def test_outcomes_of_a_setting_sum_to_one_for_any_channel():
    for truth in (haar_unitary(2, 0), depolarised(haar_unitary(2, 1), 0.4)):
        problem = ProcessTomography.from_truth(truth)
        np.testing.assert_allclose(problem.frequencies.sum(axis=-1), 1, atol=1e-14)
        assert problem.frequencies.min() >= 0
