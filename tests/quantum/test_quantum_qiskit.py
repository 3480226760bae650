"""Agreement with qiskit, to 1e-10, and what happens without it."""

import numpy as np
import pytest

from bsfw.quantum import ProcessTomography, depolarised, haar_unitary


def a_point(problem, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(problem.shape) + 1j * rng.standard_normal(problem.shape)


@pytest.fixture
def info():
    return pytest.importorskip("qiskit.quantum_info", reason="qiskit is the extra 'quantum'")


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("rank", [1, 3])
def test_conversions_are_the_same_process(info, n, rank):
    problem = ProcessTomography.random(n, 0.0, rng=0, rank=rank)
    x, ket = a_point(problem), haar_unitary(n, 1)[:, 0]
    rho = np.outer(ket, ket.conj())
    expected = sum(M @ rho @ M.conj().T for M in problem.kraus(x, False))
    for made in (problem.choi(x, False), problem.chi(x, False)):
        np.testing.assert_allclose(info.DensityMatrix(rho).evolve(made).data, expected, atol=1e-10)
    np.testing.assert_allclose(problem.chi(x).data, info.Chi(problem.choi(x)).data, atol=1e-10)
    assert np.trace(problem.chi(x, False).data).real == pytest.approx(np.linalg.norm(x) ** 2)
    if rank == 1:
        np.testing.assert_array_equal(problem.operator(x).data, problem.kraus(x)[0])
    else:
        with pytest.raises(ValueError, match="3 Kraus operators is no single operator"):
            problem.operator(x)


UNITARY, CHANNEL = haar_unitary(2, 0), depolarised(haar_unitary(2, 1), 0.3)


@pytest.mark.parametrize(
    ("truth", "rank", "digits"),
    # For channels qiskit takes roots of density matrices: where these are singular, it has half of the digits.
    [(UNITARY, 1, 1e-10), (UNITARY, 3, 1e-10), (CHANNEL, 16, 1e-10), (CHANNEL, 1, 1e-6), (CHANNEL, 3, 1e-6)],
    ids=["unitary-1", "unitary-3", "channel-16", "channel-1", "channel-3"],
)
def test_both_fidelities_are_qiskits(info, truth, rank, digits):
    problem = ProcessTomography.from_truth(truth, rank=rank)
    x = a_point(problem)
    assert problem.fidelity_as_is(x) == pytest.approx(problem.fidelity_qiskit(x), rel=digits)
    scaled = x * np.sqrt(4 / np.linalg.norm(x) ** 2)
    target = info.Operator(truth) if truth.ndim == 2 else info.Choi(info.Kraus(list(truth)))
    by_qiskit = info.process_fidelity(problem.chi(scaled, False), target, require_cp=False, require_tp=False)
    assert problem.fidelity_normalised(x) == pytest.approx(by_qiskit, rel=digits)


def test_inputs_settings_and_outcomes_are_qiskits(info):
    problem = ProcessTomography.random(2, 0.0, rng=0)
    state = info.Statevector.from_label("+r").evolve(info.Operator(problem.truth[0]))
    rotations = {"X": info.Operator.from_label("H"), "Y": info.Operator(np.array([[1, -1j], [1, 1j]]) / 2**0.5)}
    rotated = state.evolve(rotations["Y"].tensor(rotations["X"]))  # the setting YX: its first letter is the last qubit
    measured = ProcessTomography.from_truth(problem.truth, inputs=["+r"], settings=["YX"]).frequencies
    np.testing.assert_allclose(measured[0, 0], rotated.probabilities(), atol=1e-10)


def test_truths_come_from_gates_circuits_operators_and_channels(info):
    from qiskit import QuantumCircuit

    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.cx(0, 1)
    matrix = info.Operator(circuit).data
    for truth in (circuit, info.Operator(circuit), info.SuperOp(circuit), info.Choi(circuit)):
        found = ProcessTomography.from_truth(truth)
        np.testing.assert_allclose(found.frequencies, ProcessTomography.from_truth(matrix).frequencies, atol=1e-10)
    named = ProcessTomography.from_truth("cx")
    np.testing.assert_array_equal(named.truth[0], info.Operator.from_circuit(_cx()).data)
    assert named.operator(named.truth.reshape(-1, 1)) == info.Operator(_cx())


def _cx():
    from qiskit import QuantumCircuit

    circuit = QuantumCircuit(2)
    circuit.cx(0, 1)
    return circuit


def test_what_is_no_process_is_refused(info):
    from qiskit import QuantumCircuit

    measuring = QuantumCircuit(1, 1)
    measuring.measure(0, 0)
    with pytest.raises(ValueError, match="QuantumCircuit from qiskit is no process with a matrix"):
        ProcessTomography.from_truth(measuring)
    with pytest.raises(ValueError, match=r"there is no gate 'rx' without parameters; known are .*cx"):
        ProcessTomography.from_truth("rx")
    with pytest.raises(ValueError, match="must be unitary"):
        ProcessTomography.from_truth(info.Operator(np.diag([1.0, 0.5])))
    with pytest.raises(ValueError, match="must be completely positive"):
        ProcessTomography.from_truth(info.Choi(np.diag([1.0, 1.0, 1.0, -1.0])))
    with pytest.raises(ValueError, match="must preserve the trace"):
        ProcessTomography.from_truth(info.Choi(np.diag([1.0, 0.5, 0.5, 1.0])))


def test_without_qiskit_only_conversions_are_missing_and_say_so(monkeypatch):
    monkeypatch.setattr("bsfw._extras.installed", lambda package: package != "qiskit")
    problem = ProcessTomography.random(1, 0.1, rng=0)
    x = problem.start(0)
    assert 0 <= problem.fidelity_normalised(x) <= 1
    for ask in (problem.choi, problem.chi, problem.operator, problem.fidelity_qiskit):
        with pytest.raises(ImportError, match=r"needs qiskit: pip install 'bsfw\[quantum\]'"):
            ask(x)
