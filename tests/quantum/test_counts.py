"""Counts in: what they are taken for, and what is refused in a sentence."""

import numpy as np
import pytest
from qiskit.quantum_info import Statevector

import bsfw
from bsfw.quantum import ProcessTomography, StateTomography, haar_unitary, simulate_counts, simulate_state_counts
from bsfw.quantum.counts import read

TWO = {("0+", "XZ"): {"00": 3, "10": 5}, ("r1", "XZ"): {"11": 7}, ("r1", "ZY"): {"01": 1, "10": 1}}


def test_any_pairs_with_any_shots_and_outcomes_never_seen_are_zeros():
    record = read(TWO, process=True)
    assert record.design.input_labels == ["0+", "r1"]
    assert record.design.setting_labels == ["XZ", "ZY"]
    np.testing.assert_array_equal(record.shots, [[8, 0], [7, 2]])
    np.testing.assert_array_equal(record.counts[0, 0], [3, 0, 5, 0])
    np.testing.assert_array_equal(record.counts[0, 1], 0)


def test_letters_and_bits_of_a_label_belong_to_the_same_qubit_or_to_the_reversed_one():
    known = simulate_counts(haar_unitary(2, 0), 50, rng=0)
    turned = {key: {bits[::-1]: count for bits, count in table.items()} for key, table in known.items()}
    same, reversed_ = read(known, process=True), read(turned, process=True, bit_order="reversed")
    np.testing.assert_array_equal(same.counts, reversed_.counts)
    assert (read(turned, process=True).counts != same.counts).any()
    # |01> is measured as 01 in the setting ZZ: the first letter is the first bit.
    sure = simulate_counts(np.eye(4), 10, inputs=["01"], settings=["ZZ"])
    assert sure == {("01", "ZZ"): {"01": 10}}


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({("0+", "XZ"): {"00": -1}}, "has -1|have -1 for '00'; counts are whole numbers"),
        ({("0+", "XZ"): {"00": 0.5}}, "have 0.5 for '00'; counts are whole numbers"),
        ({("0+", "XZ"): {"00": True}}, "have True for '00'"),
        ({("0+", "XZ"): {"00": float("nan")}}, "have nan for '00'"),
        ({("0+", "XZ"): {"0": 1}}, "outcome '0', which is no string of 2 bits"),
        ({("0+", "XZ"): {"02": 1}}, "outcome '02', which is no string of 2 bits"),
        ({("0+", "XZ"): {7: 1}}, "outcome 7, which is no string of 2 bits"),
        ({("0+", "XZ"): {"00": 1, "0 0": 1}}, "outcome '0 0' twice"),
        ({("0+", "XZ"): {"00": 0}}, "has no shots; leave it out"),
        ({("0+", "XZ"): {}}, "has no shots; leave it out"),
        ({("0+", "XZ"): 5}, "must be a dictionary"),
        ({("0+", "XZ"): {"00": 1}, ("0", "X"): {"0": 1}}, "has 1 letters, but the first one 2"),
        ({("0", "XZ"): {"00": 1}}, "different numbers of qubits"),
        ({("0*", "XZ"): {"00": 1}}, r"input '0\*' has letters other than those of '01\+r-l'"),
        ({("0+", "XI"): {"00": 1}}, "setting 'XI' has letters other than those of 'XYZ'"),
        ({"XZ": {"00": 1}}, r"a key must be a pair of labels, \(input, setting\)"),
        ({}, "there are no counts"),
    ],
)
def test_what_is_no_count_is_refused(counts, sentence):
    with pytest.raises(ValueError, match=sentence):
        ProcessTomography.from_counts(counts)


def test_what_else_is_refused():
    with pytest.raises(TypeError, match=r"counts must be a dictionary such as .* got list"):
        ProcessTomography.from_counts([1, 2])
    with pytest.raises(ValueError, match="bit_order must be 'same' or 'reversed'"):
        ProcessTomography.from_counts(TWO, bit_order="qiskit")
    with pytest.raises(ValueError, match="labels= belongs to a qiskit result"):
        ProcessTomography.from_counts(TWO, labels=[("0+", "XZ")])
    with pytest.raises(ValueError, match="truth acts on dimension 2, but 2 qubits have 4"):
        ProcessTomography.from_counts(TWO, truth=np.eye(2))
    with pytest.raises(ValueError, match='a key must be a setting such as "XZ"'):
        StateTomography.from_counts(TWO)
    with pytest.raises(ValueError, match="one 2 x 2 matrix for each of the 2 qubits, got 1"):
        ProcessTomography.from_counts(TWO, readout=[np.eye(2)])
    with pytest.raises(ValueError, match=r"readout\[1\] must be .* each column sums to 1"):
        ProcessTomography.from_counts(TWO, readout=[np.eye(2), np.array([[0.9, 0.1], [0.2, 0.8]])])
    with pytest.raises(ValueError, match=r"readout\[0\] reads the same whatever is true"):
        ProcessTomography.from_counts(TWO, readout=[np.full((2, 2), 0.5), np.eye(2)])


def _circuits(process, keys):
    """The circuits that prepare and measure these labels around CX (or after a Bell pair was made)."""
    from qiskit import QuantumCircuit

    made = []
    for key in keys:
        prepared, measured = key if process else ("00", key)
        circuit = QuantumCircuit(2)
        for qubit, letter in enumerate(reversed(prepared)):
            if letter == "1":
                circuit.x(qubit)
            elif letter in "+r":
                circuit.h(qubit)
                if letter == "r":
                    circuit.s(qubit)
        if not process:
            circuit.h(0)
        circuit.cx(0, 1)
        for qubit, letter in enumerate(reversed(measured)):
            if letter == "Y":
                circuit.sdg(qubit)
            if letter in "XY":
                circuit.h(qubit)
        circuit.measure_all()
        made.append(circuit)
    return made


@pytest.mark.parametrize("process", [True, False])
def test_results_of_qiskit_are_those_of_their_circuits(process):
    pytest.importorskip("qiskit", reason="qiskit is the extra 'quantum'")
    from qiskit.primitives import StatevectorSampler
    from qiskit.providers.basic_provider import BasicSimulator

    keys = [("0+", "XZ"), ("1r", "YY"), ("r0", "ZX")] if process else ["ZZ", "XX", "XY"]
    circuits = _circuits(process, keys)
    kind = ProcessTomography if process else StateTomography
    old = BasicSimulator().run(circuits, shots=4000, seed_simulator=1).result()
    new = StatevectorSampler(seed=1).run(circuits, shots=4000).result()
    bell = np.array([1, 0, 0, 1]) / np.sqrt(2)
    for result in (old, new):
        problem = kind.from_counts(result, labels=keys, truth="cx" if process else bell)
        assert problem.shots.sum() == 12_000
        if process:
            expected = problem.design.probabilities(problem.truth)
            measured = problem.shots > 0
            assert np.abs(problem.observed() - expected)[measured].max() < 0.05
        else:
            np.testing.assert_allclose(problem.observed()[0, 2], [0.5, 0, 0, 0.5], atol=0.05)  # ZZ
            np.testing.assert_allclose(problem.observed()[0, 1], 0.25, atol=0.05)  # XY
        with pytest.raises(ValueError, match=r"counts of 3 circuits and no word .*none are given"):
            kind.from_counts(result)
        with pytest.raises(ValueError, match="twice; add up"):
            kind.from_counts(result, labels=[keys[0], keys[0], keys[2]])


def test_states_are_simulated_as_the_definition_says():
    plus_i = np.array([1, 1j]) / np.sqrt(2)
    counts = simulate_state_counts(np.kron([1, 0], plus_i), 100, rng=0, settings=["ZY"])
    assert counts == {"ZY": {"00": 100}}
    wrong = np.array([[0.0, 1.0], [1.0, 0.0]])  # every bit of the last letter is read wrongly
    counts = simulate_state_counts(np.kron([1, 0], plus_i), 100, rng=0, settings=["ZY"], readout=[np.eye(2), wrong])
    assert counts == {"ZY": {"01": 100}}
    with pytest.raises(ValueError, match="squared norm\\) 1, got 4"):
        simulate_state_counts([2.0, 0.0], 10)
    with pytest.raises(ValueError, match="positive semidefinite"):
        simulate_state_counts(np.diag([1.5, -0.5]), 10)
    with pytest.raises(ValueError, match="a state is a vector of 2\\^n numbers"):
        simulate_state_counts(np.ones(3), 10)


def test_all_six_eigenstates_are_inputs():
    """Counts of each label are those of qiskit's state of that name, sent through the gate."""
    truth = haar_unitary(1, 3)
    ends = {"Z": "01", "X": "+-", "Y": "rl"}
    counts = {}
    for letter in "01+-rl":
        output = Statevector.from_label(letter).evolve(truth)
        for setting, (up, _) in ends.items():
            ones = round(10_000 * abs(Statevector.from_label(up).inner(output)) ** 2)
            counts[letter, setting] = {"0": ones, "1": 10_000 - ones}
    problem = ProcessTomography.from_counts(counts, truth=truth)
    assert problem.fidelity(bsfw.minimize(problem).x) > 0.999
    few = {key: counts[key] for key in counts if key[0] in "0-+l"}
    assert ProcessTomography.from_counts(few, truth=truth).design.input_labels == ["0", "+", "-", "l"]
    assert not problem.design.complete
