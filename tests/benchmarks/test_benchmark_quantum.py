"""The benchmark's competitors compute what they are compared for, and its tables are printed."""

import numpy as np

import bsfw
from benchmarks import tomography
from benchmarks import tomography_fitters as fitters
from bsfw.quantum import ProcessTomography, fitter, simulate_counts


def test_competitors_compute_the_same_gradient():
    problem = ProcessTomography.random(2, 0.1, rng=0, penalty=0.0)
    x = problem.start(0)
    for other in (tomography.dense_gradient(problem), tomography.two_products(problem)):
        np.testing.assert_allclose(other(x), problem.gradient(x), atol=1e-10)


def test_the_tables_have_the_limits_and_a_row_for_each_number_of_qubits(monkeypatch, capsys):
    monkeypatch.setattr(tomography, "python", lambda _, command: tomography.growth(int(command.split("(")[-1][0])))
    found = tomography.main(["--quick", "--qubits", "1", "--largest", "2"])
    output = capsys.readouterr().out
    assert [limit for _, _, _, limit, _ in found["limits"] if 0 < limit < np.inf] == [8.0, 1.15, 120.0]
    assert [row["measurements"] for row in found["growth"].values()] == [24, 576]
    assert "K = 3 / K = 1" in output
    assert "576" in output


def test_counts_go_to_the_peers_as_they_have_them():
    """A fit of the arrays is the fit of the counts, and both are the noisy gate."""
    counts = simulate_counts(fitters.noisy_process("cx"), 200, rng=0)
    arrays = fitters.as_arrays(counts, 2, process=True)
    assert arrays[0].shape == (1, 144, 4)
    assert (arrays[1] == 200).all()
    matrix, facts = fitter(*arrays, rank=4)
    problem = ProcessTomography.from_counts(counts, rank=4)
    np.testing.assert_allclose(matrix, 4 * problem.matrix(bsfw.minimize(problem).x), atol=1e-8)
    assert facts["output_dims"] == (2, 2)
    truth = fitters.noisy_process("qft2")
    np.testing.assert_allclose(sum(K.conj().T @ K for K in truth), np.eye(4), atol=1e-12)
    np.testing.assert_allclose(fitters.unitary("qft2") @ fitters.unitary("qft2").conj().T, np.eye(4), atol=1e-12)
    assert np.trace(fitters.noisy_state("ghz5")) == 1.0
