"""What comes out: a channel, in the words of qiskit."""

import numpy as np
import pytest

from bsfw.quantum import ProcessTomography, depolarised, haar_unitary
from bsfw.quantum.channels import diamond_bounds, trace_preserving


def a_point(problem, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(problem.shape) + 1j * rng.standard_normal(problem.shape)


@pytest.fixture
def info():
    return pytest.importorskip("qiskit.quantum_info", reason="qiskit is the extra 'quantum'")


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_every_form_is_the_same_trace_preserving_channel(info, n, rank):
    problem = ProcessTomography.random(n, 0.0, rng=0, rank=rank)
    x = a_point(problem)
    kraus = problem.kraus(x)
    np.testing.assert_allclose(sum(M.conj().T @ M for M in kraus), np.eye(2**n), atol=1e-12)
    known = info.Choi(info.Kraus(list(kraus)))
    assert problem.choi(x).is_cptp()
    np.testing.assert_allclose(problem.choi(x).data, known.data, atol=1e-12)
    np.testing.assert_allclose(problem.matrix(x), known.data / 2**n, atol=1e-12)
    np.testing.assert_allclose(problem.chi(x).data, info.Chi(known).data, atol=1e-12)
    np.testing.assert_allclose(problem.ptm(x), info.PTM(known).data.real, atol=1e-12)
    raw = problem.ptm(x, trace_preserving=False)
    assert abs(raw[0, 0] - 1) > 0.1
    if rank == 1:
        V = problem.operator(x).data
        np.testing.assert_allclose(V.conj().T @ V, np.eye(2**n), atol=1e-12)


def test_the_scaling_is_the_nearest_one():
    """The polar factor: no other trace-preserving operators are nearer, and a channel stays as it is."""
    rng = np.random.default_rng(0)
    kraus = rng.standard_normal((3, 2, 2)) + 1j * rng.standard_normal((3, 2, 2))
    nearest = trace_preserving(kraus)
    np.testing.assert_allclose(trace_preserving(nearest), nearest, atol=1e-12)
    for seed in range(20):
        other = trace_preserving(nearest + 0.1 * np.random.default_rng(seed).standard_normal((3, 2, 2)))
        assert np.linalg.norm(other - kraus) >= np.linalg.norm(nearest - kraus)
    with pytest.raises(ValueError, match="loses some input altogether"):
        trace_preserving(np.diag([1.0, 0.0])[None])


def test_fidelities_are_qiskits_and_at_most_one(info):
    truth = depolarised(haar_unitary(2, 1), 0.2)
    problem = ProcessTomography.from_truth(truth, rank=16)
    x, V = a_point(problem), haar_unitary(2, 1)
    channel = problem.choi(x)
    assert problem.fidelity(x, V) == pytest.approx(info.process_fidelity(channel, info.Operator(V)), rel=1e-9)
    known = info.average_gate_fidelity(channel, info.Operator(V))
    assert problem.average_gate_fidelity(x, V) == pytest.approx(known, rel=1e-9)
    expected = info.process_fidelity(channel, info.Choi(info.Kraus(list(truth))))
    assert problem.fidelity(x) == pytest.approx(expected, rel=1e-6)
    columns = truth.reshape(16, -1).T
    assert problem.fidelity(3.0 * columns) == pytest.approx(1)
    with pytest.raises(ValueError, match="average gate fidelity is that to a unitary"):
        problem.average_gate_fidelity(x)
    with pytest.raises(ValueError, match="truth acts on dimension 2, but 2 qubits have 4"):
        problem.fidelity(x, np.eye(2))


def test_the_diamond_distance_lies_between_its_bounds(info):
    pytest.importorskip("cvxpy", reason="qiskit's diamond norm needs it")
    for seed in range(3):
        problem = ProcessTomography.random(1, 0.0, rng=seed, rank=2)
        x = a_point(problem, seed)
        low, high = problem.diamond_distance(x)
        difference = info.Choi(problem.choi(x).data - info.Choi(info.Operator(problem.truth[0])).data)
        exact = info.diamond_norm(difference) / 2
        assert low - 1e-4 <= exact <= high + 1e-4
        assert high <= 1
    # Depolarising noise is covariant: both bounds are exact.
    p, columns = 0.3, depolarised(np.eye(2), 0.3).reshape(4, -1).T
    low, high = diamond_bounds(columns, np.eye(2).reshape(4, 1))
    assert low == pytest.approx(p * 3 / 4)
    assert high == pytest.approx(p * 3 / 4)
