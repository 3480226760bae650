"""Error bars, ranks by held-out shots, and when a fit ends."""

from types import SimpleNamespace

import numpy as np
import pytest

import bsfw
from bsfw.quantum import (
    ProcessTomography,
    StateTomography,
    bootstrap,
    choose_rank,
    depolarised,
    haar_unitary,
    simulate_counts,
    simulate_state_counts,
)
from bsfw.quantum.settling import Settled

TRUTH = np.array([[0.7, 0.2 - 0.1j], [0.2 + 0.1j, 0.3]])


def a_state(seed, shots=200):
    counts = simulate_state_counts(TRUTH, shots, rng=seed)
    problem = StateTomography.from_counts(counts, truth=TRUTH, rank=2, loss="least-squares")
    return problem, bsfw.minimize(problem, max_iter=60).x


def population(problem, x):
    return problem.matrix(x)[0, 0].real


def matrix(problem, x):
    return problem.matrix(x)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """68 % +- 5 over 200 made problems, three numbers each."""
    covered = []
    for seed in range(200):
        problem, x = a_state(seed)
        found = bootstrap(problem, x, samples=19, rng=seed, quantities={"matrix": matrix}, max_iter=20, record_every=10)
        low, high = found.interval("matrix", 0.68)
        off = low[0, 1], TRUTH[0, 1], high[0, 1]
        covered += [low[0, 0].real <= 0.7 <= high[0, 0].real]
        covered += [off[0].real <= off[1].real <= off[2].real, off[0].imag <= off[1].imag <= off[2].imag]
    assert 0.63 <= np.mean(covered) <= 0.73


@pytest.mark.parametrize("kind", ["parametric", "nonparametric"])
def test_the_error_is_the_spread_of_repeated_experiments(kind):
    repeated = [population(*a_state(seed)) for seed in range(60)]
    problem, x = a_state(0)
    found = bootstrap(problem, x, samples=60, rng=0, kind=kind, quantities={"population": population})
    assert found.error("population") == pytest.approx(np.std(repeated), rel=0.35)
    assert abs(found.bias("population")) < found.error("population")
    assert "population 0." in str(found)
    assert kind in str(found)


def test_processes_have_error_bars_in_parallel_the_same_for_the_same_seed(capsys):
    V = haar_unitary(1, 0)
    problem = ProcessTomography.from_counts(simulate_counts(V, 500, rng=0), truth=V)
    x = bsfw.minimize(problem).x
    found = bootstrap(problem, x, samples=4, rng=3, n_jobs=2, progress=True)
    again = bootstrap(problem, x, samples=4, rng=3)
    np.testing.assert_allclose(found.samples["matrix"], again.samples["matrix"], atol=1e-12)
    assert found.samples["fidelity"].shape == (4,)
    assert found.samples["matrix"].shape == (4, 4, 4)
    assert found.error("matrix").shape == (4, 4)
    assert "bootstrap" in capsys.readouterr().err


def test_what_a_bootstrap_refuses():
    problem, x = a_state(0)
    with pytest.raises(ValueError, match="kind must be one of parametric, nonparametric"):
        bootstrap(problem, x, kind="bayesian")
    with pytest.raises(ValueError, match="samples must be a whole number"):
        bootstrap(problem, x, samples=0)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        bootstrap(problem, x, samples=2, rng=0).interval("matrix", 68)
    uncounted = ProcessTomography.random(1, 0.1, rng=0)
    for ask in (lambda: bootstrap(uncounted, uncounted.start(0)), lambda: choose_rank(uncounted)):
        with pytest.raises(ValueError, match="was not made from counts"):
            ask()


def test_held_out_shots_tell_the_rank():
    V = haar_unitary(1, 2)
    flip = np.array([[0, 1], [1, 0]])
    two = np.stack([np.sqrt(0.7) * V, np.sqrt(0.3) * flip @ V])
    for truth, rank in ((V, 1), (two, 2)):
        problem = ProcessTomography.from_counts(simulate_counts(truth, 3000, rng=0))
        choice = choose_rank(problem, rng=0)
        assert choice.rank == rank
        assert choice.ranks == (1, 2, 4)
        assert choice.scores.argmin() >= choice.ranks.index(rank)
    full = choose_rank(ProcessTomography.from_counts(simulate_counts(depolarised(V, 0.4), 3000, rng=0)), rng=0)
    assert full.rank == 4
    with pytest.raises(ValueError, match="held_out must be a share"):
        choose_rank(problem, held_out=1.0)


def test_a_run_ends_where_f_settles():
    settled = Settled(parameters=10, numbers=100, share=0.01)  # 0.1 % of f in ten iterations
    for nit, fun in ((0, 200.0), (10, 100.0), (15, 99.99), (20, 99.5)):
        settled(SimpleNamespace(nit=nit, fun=fun))
    with pytest.raises(StopIteration):
        settled(SimpleNamespace(nit=30, fun=99.45))
    known = Settled(parameters=10, numbers=20, variance=2.0, share=0.01)  # 0.1 in ten iterations, however small f is
    known(SimpleNamespace(nit=0, fun=0.2))
    known(SimpleNamespace(nit=10, fun=0.09))
    with pytest.raises(StopIteration):
        known(SimpleNamespace(nit=20, fun=0.0))
