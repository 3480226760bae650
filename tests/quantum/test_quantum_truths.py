"""Truths, noise, closed-form fidelity, and one sentence for each bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.quantum import ProcessTomography, depolarised, haar_unitary, process_fidelity


def test_haar_unitaries_are_unitary_and_have_haar_moments():
    rng = np.random.default_rng(0)
    drawn = np.array([haar_unitary(1, rng) for _ in range(4000)])
    np.testing.assert_allclose(drawn[0].conj().T @ drawn[0], np.eye(2), atol=1e-14)
    traces = np.abs(np.trace(drawn, axis1=1, axis2=2)) ** 2
    assert traces.mean() == pytest.approx(1, abs=0.06)  # E|tr V|^2 = 1, E|tr V|^4 = 2 for d >= 2
    assert (traces**2).mean() == pytest.approx(2, abs=0.2)
    assert abs(np.trace(drawn, axis1=1, axis2=2).mean()) < 0.05  # phases are uniform: R's are taken out
    np.testing.assert_array_equal(haar_unitary(3, 5), haar_unitary(3, 5))


@given(n=st.integers(1, 3), p=st.floats(0, 1), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=20)
def test_depolarised_is_the_channel_it_says(n, p, seed):
    V, d = haar_unitary(n, seed), 2**n
    kraus = depolarised(V, p)
    ket = haar_unitary(n, seed + 1)[:, 0]
    rho = np.outer(ket, ket.conj())
    output = sum(K @ rho @ K.conj().T for K in kraus)
    np.testing.assert_allclose(output, (1 - p) * V @ rho @ V.conj().T + p * np.eye(d) / d, atol=1e-13)


def test_the_noise_is_the_papers():
    exact = ProcessTomography.random(3, 0.0, rng=7).frequencies
    error = (ProcessTomography.random(3, 0.2, rng=7).frequencies - exact).ravel()
    assert error.std() == pytest.approx(0.2, rel=0.02)
    assert abs(error.mean()) < 0.01
    assert (exact.ravel() + error).min() < 0  # not clipped
    again = ProcessTomography.random(3, 0.2, rng=7).frequencies
    np.testing.assert_array_equal(again.ravel(), exact.ravel() + error)


def test_shots_converge_to_the_probabilities():
    V = haar_unitary(2, 0)
    exact = ProcessTomography.from_truth(V).frequencies
    errors = []
    for shots in (100, 10_000, 1_000_000):
        found = ProcessTomography.from_truth(V, shots=shots, rng=1).frequencies
        np.testing.assert_allclose(found * shots, np.rint(found * shots), atol=1e-6)
        np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-12)
        errors.append(np.sqrt(((found - exact) ** 2).mean()))
        assert errors[-1] == pytest.approx(np.sqrt((exact * (1 - exact)).mean() / shots), rel=0.1)
    assert errors[2] < 1e-3


@given(seed=st.integers(0, 999), scale=st.floats(0.1, 3), n=st.integers(1, 3))
@settings(deadline=None, max_examples=30)
def test_fidelity_of_one_operator_is_the_closed_form_of_the_page(seed, scale, n):
    rng, d = np.random.default_rng(seed), 2**n
    M = scale * (rng.standard_normal((d, d)) + 1j * rng.standard_normal((d, d)))
    problem = ProcessTomography.random(n, 0.0, rng=seed)
    V, x = problem.truth[0], M.reshape(-1, 1)
    overlap = abs(np.trace(V.conj().T @ M)) ** 2
    assert problem.fidelity_as_is(x) == pytest.approx(overlap / d**2)
    assert problem.fidelity_normalised(x) == pytest.approx(overlap / (d * np.linalg.norm(M) ** 2))
    assert problem.fidelity_normalised(x) <= 1 + 1e-12
    truth = V.reshape(-1, 1)
    assert problem.fidelity_as_is(1.5 * truth) == pytest.approx(2.25)  # un-normalised: more than 1
    assert problem.fidelity_normalised(1.5 * truth) == pytest.approx(1)


def test_fidelity_of_channels_is_one_for_the_same_and_does_not_see_how_it_is_written():
    kraus = depolarised(haar_unitary(2, 0), 0.3)
    columns = kraus.reshape(len(kraus), -1).T
    mixed = columns @ haar_unitary(4, 1)  # another set of Kraus operators of the same channel
    assert process_fidelity(mixed, columns) == pytest.approx(1)
    assert process_fidelity(0 * mixed, columns) == 0.0


def test_measurements_of_ones_own_come_in_any_shape_and_order():
    made = ProcessTomography.random(2, 0.1, rng=0)
    x = made.start(0)
    flat = ProcessTomography.from_measurements(made.frequencies.ravel(), truth=made.truth)
    assert flat.value(x) == made.value(x)
    assert flat.fidelity(x) == made.fidelity(x)
    inputs, chosen = ["1r", "00", "+0"], ["ZZ", "XY"]
    some = ProcessTomography.from_truth(made.truth, inputs=inputs, settings=chosen)
    numbers = ProcessTomography.from_measurements(some.frequencies, 2, inputs=[4 + 3, 0, 8], settings=np.array([8, 1]))
    assert numbers.fingerprint() == some.fingerprint()


def _measured(n=1):
    return ProcessTomography.random(n, 0.0, rng=0).frequencies


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ProcessTomography.random(0), "qubits must be a whole number of at least 1, got 0"),
        (lambda: ProcessTomography.random(1.5), "qubits must be a whole number"),
        (lambda: haar_unitary(-1), "qubits must be a whole number of at least 1"),
        (lambda: ProcessTomography.from_truth(1.01 * np.eye(2)), r"must be unitary, but V\^H V differs .* by 0.02"),
        (lambda: ProcessTomography.from_truth(np.full((2, 2), np.nan)), "must be unitary"),
        (lambda: ProcessTomography.from_truth(np.eye(3)), r"a unitary of shape \(2\^n, 2\^n\).*\(3, 3\)"),
        (lambda: ProcessTomography.from_truth(np.ones(4)), "got an array of float64 of shape"),
        (lambda: ProcessTomography.from_truth(np.stack([np.eye(2)] * 2)), "must preserve the trace"),
        (lambda: depolarised(depolarised(np.eye(2), 0.5), 0.5), "depolarised takes a unitary"),
        (lambda: depolarised(np.eye(2), 1.5), r"probability must lie in \[0, 1\], got 1.5"),
        (lambda: ProcessTomography.from_truth(np.eye(2), -0.1), "noise .* at least 0, got -0.1"),
        (lambda: ProcessTomography.from_truth(np.eye(2), np.nan), "noise .* finite"),
        (lambda: ProcessTomography.from_truth(np.eye(2), shots=0), "shots must be a whole number of at least 1"),
        (lambda: ProcessTomography.from_truth(np.eye(2), 0.1, shots=5), "give one of them"),
        (lambda: ProcessTomography.from_truth(np.eye(2), inputs=["2"]), "inputs has '2', which is neither 1 letter of"),
        (lambda: ProcessTomography.from_truth(np.eye(4), settings=[9]), "settings has 9.* letters of 'XYZ' .* 0 to 8"),
        (lambda: ProcessTomography.from_truth(np.eye(4), settings="XX"), "settings must be a list of labels"),
        (lambda: ProcessTomography.from_truth(np.eye(4), inputs=[]), "inputs must be a list"),
        (lambda: ProcessTomography.from_truth(np.eye(2), inputs=[0, "0"]), "inputs has the same entry twice"),
        (lambda: ProcessTomography.from_truth(np.eye(2), rank=0), "rank must be a whole number"),
        (lambda: ProcessTomography.from_truth(np.eye(2), rank=5), "has rank 4 at most, got 5"),
        (lambda: ProcessTomography.from_truth(np.eye(2), penalty=-1), "penalty .* at least 0, got -1"),
        (lambda: ProcessTomography.from_truth(np.eye(2), reduction="max"), "reduction must be .*, got 'max'"),
        (lambda: ProcessTomography.from_measurements(np.ones(100)), r"got 100 measurements, but .* 24\^n"),
        (lambda: ProcessTomography.from_measurements(np.ones(100), 2), r"got 100 measurements, .* give 576 = 24\^2"),
        (lambda: ProcessTomography.from_measurements(np.ones(24), 1, inputs=[0]), "1 inputs, 3 settings .* give 6"),
        (lambda: ProcessTomography.from_measurements(np.ones((2, 12))), r"must have the shape .* = \(4, 3, 2\)"),
        (lambda: ProcessTomography.from_measurements(_measured() * np.inf), "frequencies has 24 entries that are NaN"),
        (lambda: ProcessTomography.from_measurements(_measured(), truth=np.eye(4)), "acts on dimension 4"),
    ],
)  # fmt: skip
def test_bad_input_gives_a_sentence(make, sentence):
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=sentence):
        make()


def test_complex_frequencies_are_a_type_error():
    with pytest.raises(TypeError, match="frequencies must be real numbers, got entries of type complex128"):
        ProcessTomography.from_measurements(_measured() + 0j)


def test_a_real_start_is_refused():
    problem = ProcessTomography.random(1, 0.1, rng=0)
    with pytest.raises(ValueError, match=r"x0 is real, but the variable is complex"):
        bsfw.minimize(problem, bsfw.SpectralBall(3.0), x0=np.zeros((4, 1)))


def test_fidelity_without_a_truth_says_what_is_missing():
    problem = ProcessTomography.from_measurements(_measured())
    for ask in (problem.fidelity, problem.fidelity_normalised, problem.fidelity_qiskit):
        with pytest.raises(ValueError, match="give truth=, or a target"):
            ask(problem.start(0))
