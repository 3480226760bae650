"""Process tomography from counts: the loss against its definition, and the channel that comes out."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

import bsfw
from bsfw.quantum import ProcessTomography, depolarised, haar_unitary, simulate_counts
from bsfw.quantum.truths import misread

READOUT = [np.array([[0.95, 0.1], [0.05, 0.9]]), np.array([[0.98, 0.03], [0.02, 0.97]])]


def some_counts(n=2, readout=None, seed=0):
    """A part of the pairs, with different shots."""
    made = simulate_counts(depolarised(haar_unitary(n, seed), 0.1), 60, rng=seed, readout=readout)
    twice = simulate_counts(depolarised(haar_unitary(n, seed), 0.1), 500, rng=seed, readout=readout)
    rng = np.random.default_rng(seed)
    return {key: (made if rng.random() < 0.5 else twice)[key] for key in made if rng.random() < 0.7}


def a_point(problem, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(problem.shape) + 1j * rng.standard_normal(problem.shape)) / problem.shape[0]


@pytest.mark.parametrize("readout", [None, READOUT])
@pytest.mark.parametrize("rank", [1, 3])
def test_the_value_is_half_of_chi_squared_plus_the_penalty(rank, readout):
    counts = some_counts(readout=readout)
    problem = ProcessTomography.from_counts(counts, rank=rank, readout=readout, penalty=7.0)
    x = a_point(problem)
    expected = problem.design.probabilities(problem.kraus(x, trace_preserving=False))
    inputs, settings = problem.design.input_labels, problem.design.setting_labels
    chi = 0.0
    for (prepared, measured), table in counts.items():
        p = expected[inputs.index(prepared), settings.index(measured)]
        if readout is not None:
            p = np.kron(*readout) @ p
        n = np.array([table.get(format(o, "02b"), 0) for o in range(4)])
        chi += (n.sum() * (p - n / n.sum()) ** 2 / ((n + 0.5) / (n.sum() + 2.0))).sum()
    kraus = problem.kraus(x, trace_preserving=False)
    lost = np.linalg.norm(sum(M.conj().T @ M for M in kraus) - np.eye(4)) ** 2
    assert problem.value(x) == pytest.approx(0.5 * chi + 7.0 * lost, rel=1e-12)


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("counted", [True, False])
def test_the_gradient_and_the_line_are_those_of_the_value(rank, counted):
    if counted:
        problem = ProcessTomography.from_counts(some_counts(readout=READOUT), rank=rank, readout=READOUT)
    else:
        problem = ProcessTomography.random(2, 0.1, rng=0, rank=rank)
    x, h, step = a_point(problem), a_point(problem, 1), 1e-6
    difference = (problem.value(x + step * h) - problem.value(x - step * h)) / (2 * step)
    assert np.vdot(h, problem.gradient(x)).real == pytest.approx(difference, rel=1e-5)
    line = problem.along(x, h)
    for gamma in (0.0, 0.3, 1.0, -0.7):
        assert line.value(gamma) == pytest.approx(problem.value(x + gamma * h), rel=1e-11)
        slope = np.vdot(h, problem.gradient(x + gamma * h)).real
        assert line.derivative(gamma) == pytest.approx(slope, rel=1e-8, abs=1e-8 * abs(problem.value(x)))
    best, grid = line.minimiser(), np.linspace(0, 1, 201)
    assert line.value(best) <= min(line.value(gamma) for gamma in grid) + 1e-12 * abs(line.value(0))


def test_a_quartic_with_two_valleys_is_left_at_the_lower_one():
    from bsfw.quantum.lines import PolynomialLine

    double = np.polynomial.Polynomial.fromroots([0.1, 0.1, 0.8, 0.8]) + np.polynomial.Polynomial([0.0, -0.05])
    line = PolynomialLine(double.coef)
    best = line.minimiser()
    assert best == pytest.approx(0.8, abs=0.15)
    assert line.derivative(best) == pytest.approx(0, abs=1e-10)
    assert PolynomialLine(np.array([3.0, -1.0])).minimiser() == 1.0
    assert PolynomialLine(np.array([3.0, 1.0])).minimiser() == 0.0
    assert PolynomialLine(np.zeros(5)).minimiser() == 0.0


def test_blocks_change_nothing(monkeypatch):
    counts = some_counts(3)
    whole = ProcessTomography.from_counts(counts, rank=3)
    monkeypatch.setattr("bsfw.quantum.transforms._BLOCK", 1280)
    parts = ProcessTomography.from_counts(counts, rank=3)
    x, h = a_point(whole), a_point(whole, 1)
    assert len(parts._transform.blocks) > 1
    assert parts.value(x) == pytest.approx(whole.value(x), rel=1e-12)
    np.testing.assert_allclose(parts.gradient(x), whole.gradient(x), rtol=1e-9, atol=1e-9)
    assert parts.along(x, h).value(0.5) == pytest.approx(whole.along(x, h).value(0.5), rel=1e-12)


@pytest.mark.parametrize("rank", [None, 1, 4])
def test_counts_and_nothing_else_give_the_gate(rank):
    pytest.importorskip("qiskit", reason="the gate is qiskit's")
    problem = ProcessTomography.from_counts(simulate_counts("cx", 1000, rng=0), truth="cx", rank=rank)
    result = bsfw.minimize(problem)
    assert problem.rank == (rank or 16)
    assert 0.998 < problem.fidelity(result.x) <= 1 + 1e-12
    choi = problem.choi(result.x)
    assert choi.is_cptp()
    low, high = problem.diamond_distance(result.x)
    assert 0 < low <= high < 0.2
    assert problem.average_gate_fidelity(result.x) > 0.998


def test_readout_errors_that_the_model_knows_do_no_harm():
    V = haar_unitary(2, 3)
    counts = simulate_counts(V, 2000, rng=0, readout=READOUT)
    known = ProcessTomography.from_counts(counts, truth=V, readout=READOUT)
    ignored = ProcessTomography.from_counts(counts, truth=V)
    assert known.fidelity(bsfw.minimize(known).x) > 0.98
    assert ignored.fidelity(bsfw.minimize(ignored).x) < 0.93


def test_rank_four_and_the_mean_reach_what_the_data_allow():
    """As an independent solver does, from another start."""
    problem = ProcessTomography.random(2, 0.05, rng=0, rank=4)
    result = bsfw.minimize(problem)

    def both(z):
        x = (z[: z.size // 2] + 1j * z[z.size // 2 :]).reshape(problem.shape)
        g = problem.gradient(x)
        return problem.value(x), np.concatenate([g.real.ravel(), g.imag.ravel()])

    x0 = problem.start(1)
    start = np.concatenate([x0.real.ravel(), x0.imag.ravel()])
    other = scipy_minimize(both, start, jac=True, method="L-BFGS-B", options=dict(maxiter=2000, maxfun=3000))
    z = other.x
    reference = (z[: z.size // 2] + 1j * z[z.size // 2 :]).reshape(problem.shape)
    assert result.fun <= other.fun * (1 + 1e-2)
    assert problem.fidelity(result.x) == pytest.approx(problem.fidelity(reference), abs=5e-3)
    mean = ProcessTomography.random(2, 0.05, rng=0, rank=4, reduction="mean")
    assert mean.value(result.x) == pytest.approx(problem.value(result.x) / problem.n_samples, rel=1e-12)
    assert mean.fidelity(bsfw.minimize(mean).x) == pytest.approx(problem.fidelity(result.x), abs=1e-3)


def test_four_qubits_by_the_mean_are_found():
    problem = ProcessTomography.random(4, 0.05, rng=0, reduction="mean")
    assert problem.fidelity(bsfw.minimize(problem, max_iter=40).x) > 0.998


def test_the_linear_inversion_of_exact_data_is_the_truth():
    truth = depolarised(haar_unitary(2, 0), 0.3)
    problem = ProcessTomography.from_truth(truth, rank=16)
    start = problem.linear_inversion()
    assert problem.fidelity(start) > 1 - 1e-6
    np.testing.assert_allclose(problem.fitted(start), problem.frequencies, atol=1e-3)


def test_only_objectives_with_a_set_of_their_own_need_none():
    with pytest.raises(ValueError, match="LeastSquares has no set of its own: give a constraint"):
        bsfw.minimize(bsfw.LeastSquares(np.eye(3), np.ones(3)))


def test_counts_have_no_samples():
    problem = ProcessTomography.from_counts(some_counts())
    assert problem.n_samples is None
    with pytest.raises(ValueError, match="finite sum"):
        bsfw.minimize(problem, bsfw.L2Ball(3.0), estimator=bsfw.SAGA(batch_size=3))


def test_fingerprints_know_shots_and_readout():
    counts = some_counts()
    double = {key: {bits: 2 * count for bits, count in table.items()} for key, table in counts.items()}
    made = [
        ProcessTomography.from_counts(counts, penalty=1.0),
        ProcessTomography.from_counts(double, penalty=1.0),
        ProcessTomography.from_counts(counts, penalty=1.0, readout=READOUT),
    ]
    assert len({problem.fingerprint() for problem in made}) == 3


@pytest.mark.parametrize("kind", ["torch", "jax"])
def test_other_arrays_give_the_same(kind):
    module = pytest.importorskip(kind, reason=f"{kind} is an extra")
    if kind == "jax":
        module.config.update("jax_enable_x64", True)
        like = module.numpy.zeros(0, dtype=complex)
    else:
        like = module.zeros(0, dtype=module.complex128)
    counts = some_counts(readout=READOUT)
    for rank in (1, 3):
        ours = ProcessTomography.from_counts(counts, rank=rank, readout=READOUT, like=like)
        known = ProcessTomography.from_counts(counts, rank=rank, readout=READOUT)
        x, y = ours.linear_inversion(), known.linear_inversion()
        assert type(ours.gradient(x)) is type(like)
        np.testing.assert_allclose(np.asarray(ours.gradient(x)), known.gradient(y), atol=1e-8)
        assert ours.value(x) == pytest.approx(known.value(y), rel=1e-11)
        assert ours.along(x, x).value(0.5) == pytest.approx(known.along(y, y).value(0.5), rel=1e-11)
        np.testing.assert_allclose(np.asarray(ours.kraus(x)), known.kraus(y), atol=1e-12)
        assert type(bsfw.minimize(ours, max_iter=3).x) is type(like)


def test_misreading_is_a_matrix_on_each_qubit():
    p = np.random.default_rng(0).random((3, 4))
    np.testing.assert_allclose(misread(p, READOUT), p @ np.kron(*READOUT).T, atol=1e-15)
