"""The benchmark's competitors compute what they are compared for, and its tables are printed."""

import numpy as np

from benchmarks import tomography
from bsfw.quantum import ProcessTomography


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
