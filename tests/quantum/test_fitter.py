"""The fitter inside of qiskit-experiments' analyses, on simulated counts and without Aer."""

import numpy as np
import pytest

import bsfw
from bsfw.quantum import ProcessTomography, StateTomography, fitter, simulate_counts, simulate_state_counts
from bsfw.quantum.counts import MEASURED, PREPARED, PREPARED_SIX, letters

pytest.importorskip("qiskit_experiments", reason="qiskit-experiments is in the extra 'bench'")
pytestmark = pytest.mark.filterwarnings("ignore")


def a_circuit():
    from qiskit import QuantumCircuit

    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.s(1)
    return circuit


def measured(experiment, counts, process, alphabet=PREPARED):
    """ExperimentData as a backend would have filled them."""
    from qiskit_experiments.framework import ExperimentData

    rows = []
    for circuit in experiment.circuits():
        facts = circuit.metadata
        key = letters(facts["m_idx"], MEASURED, "measurement")
        if process:
            key = letters(facts["p_idx"], alphabet, "preparation"), key
        rows.append({"counts": counts[key], "metadata": facts, "shots": sum(counts[key].values())})
    data = ExperimentData(experiment=experiment)
    data.add_data(rows)
    return data


def analysed(experiment, data, **options):
    experiment.analysis.set_options(**options)
    found = experiment.analysis.run(data, replace_results=True).block_for_results()
    assert not found.errors()
    return {row["name"]: row["value"] for _, row in found.analysis_results(dataframe=True).iterrows()}


def test_process_tomography_by_its_option():
    from qiskit.quantum_info import Operator
    from qiskit_experiments.library import ProcessTomography as Experiment

    experiment = Experiment(a_circuit())
    data = measured(experiment, simulate_counts(Operator(a_circuit()).data, 1000, rng=0), True)
    found = analysed(experiment, data, fitter=fitter, fitter_options={"rank": 4})
    assert found["process_fidelity"] > 0.998
    assert found["completely_positive"]
    assert found["state"].is_cptp()
    problem = ProcessTomography.from_counts(data, truth=a_circuit(), rank=4)
    x = bsfw.minimize(problem).x
    np.testing.assert_allclose(problem.choi(x).data, found["state"].data, atol=1e-8)
    with pytest.raises(ValueError, match="not of state tomography"):
        StateTomography.from_counts(data)


def test_state_tomography_by_its_option():
    from qiskit.quantum_info import Statevector
    from qiskit_experiments.library import StateTomography as Experiment

    state = Statevector(a_circuit())
    experiment = Experiment(a_circuit())
    data = measured(experiment, simulate_state_counts(state, 1000, rng=0), False)
    found = analysed(experiment, data, fitter=fitter)
    assert found["state_fidelity"] > 0.998
    problem = StateTomography.from_counts(data, truth=state, rank=4)
    assert problem.fidelity(bsfw.minimize(problem).x) == pytest.approx(found["state_fidelity"], abs=1e-6)


def test_readout_errors_of_the_basis_go_into_the_model():
    from qiskit.quantum_info import Statevector
    from qiskit_experiments.data_processing import LocalReadoutMitigator
    from qiskit_experiments.library import StateTomography as Experiment
    from qiskit_experiments.library.tomography.basis import PauliMeasurementBasis

    wrong = [np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([[0.97, 0.05], [0.03, 0.95]])]  # of qubits 0 and 1
    counts = simulate_state_counts(Statevector(a_circuit()), 4000, rng=0, readout=wrong[::-1])
    experiment = Experiment(a_circuit())
    data = measured(experiment, counts, False)
    basis = PauliMeasurementBasis(mitigator=LocalReadoutMitigator(wrong, [0, 1]))
    assert analysed(experiment, data, fitter=fitter, measurement_basis=basis)["state_fidelity"] > 0.97
    plain = analysed(experiment, data, fitter=fitter, measurement_basis=PauliMeasurementBasis())
    assert plain["state_fidelity"] < 0.9


def test_what_it_cannot_do_is_refused():
    data = np.ones((1, 1, 2), dtype=int), np.array([2]), np.zeros((1, 1), dtype=int), np.zeros((1, 0), dtype=int)
    with pytest.raises(ValueError, match="not ones conditional on some qubits"):
        fitter(*data, conditional_measurement_indices=[0])
    with pytest.raises(ValueError, match="does not condition on classical bits"):
        fitter(np.ones((2, 1, 2), dtype=int), *data[1:])
    with pytest.raises(ValueError, match="knows the PauliMeasurementBasis only, got str"):
        fitter(*data, measurement_basis="X")
    with pytest.raises(ValueError, match=r"measurement indices \[5\] are not those"):
        fitter(*data[:2], np.array([[5]]), data[3])


def test_the_fitter_takes_six_inputs():
    """Pauli6PreparationBasis numbers its states Z+, Z-, X+, X-, Y+, Y-."""
    from qiskit.quantum_info import Choi, Operator, process_fidelity
    from qiskit_experiments.library.tomography.basis import Pauli6PreparationBasis, PauliMeasurementBasis

    basis = Pauli6PreparationBasis()
    truth = bsfw.quantum.haar_unitary(1, 5)
    rows = [(index, setting) for index in range(6) for setting in range(3)]
    measured = PauliMeasurementBasis()
    outcomes = np.zeros((1, len(rows), 2), dtype=int)
    for row, (index, setting) in enumerate(rows):
        output = truth @ basis.matrix((index,), (0,)) @ truth.conj().T
        for outcome in range(2):
            effect = measured.matrix((setting,), outcome, (0,))
            outcomes[0, row, outcome] = round(10_000 * np.trace(effect @ output).real)
    prepared, settings = (np.array([[row[k]] for row in rows]) for k in (0, 1))
    found, _ = fitter(outcomes, outcomes.sum(axis=(0, 2)), settings, prepared, measured, basis)
    assert process_fidelity(Choi(found), Operator(truth)) > 0.999


def test_experiment_data_of_six_inputs_are_read_by_their_basis():
    """Index 1 is |1> among four inputs and among six; 2 is |+>, but 3 is |r> or |->."""
    from qiskit import QuantumCircuit
    from qiskit.quantum_info import Operator
    from qiskit_experiments.library import ProcessTomography as Experiment
    from qiskit_experiments.library.tomography.basis import Pauli6PreparationBasis

    circuit = QuantumCircuit(1)
    circuit.u(0.3, 1.1, -0.4, 0)
    experiment = Experiment(circuit, preparation_basis=Pauli6PreparationBasis())
    counts = simulate_counts(Operator(circuit).data, 1000, rng=0, inputs=list(PREPARED_SIX))
    data = measured(experiment, counts, True, PREPARED_SIX)
    problem = ProcessTomography.from_counts(data, truth=circuit)
    assert sorted(problem.design.input_labels) == sorted(PREPARED_SIX)
    x = bsfw.minimize(problem).x
    assert problem.fidelity(x) > 0.99
    found = analysed(experiment, data, fitter=fitter)
    np.testing.assert_allclose(problem.choi(x).data, found["state"].data, atol=1e-8)
