"""State tomography: losses against their definition, certificates, and states that are found again."""

from functools import reduce

import numpy as np
import pytest

import bsfw
from bsfw.quantum import StateTomography, haar_unitary, simulate_state_counts

VECTORS = {
    "X": np.array([[1, 1], [1, -1]]) / np.sqrt(2),
    "Y": np.array([[1, 1], [1j, -1j]]) / np.sqrt(2),
    "Z": np.eye(2),
}
READOUT = [np.array([[0.95, 0.1], [0.05, 0.9]]), np.array([[0.98, 0.03], [0.02, 0.97]])]


def ghz(n):
    out = np.zeros(2**n, dtype=complex)
    out[[0, -1]] = np.sqrt(0.5)
    return out


def mixed(n, share=0.2):
    pure = haar_unitary(n, 0)[:, 0]
    return (1 - share) * np.outer(pure, pure.conj()) + share * np.eye(2**n) / 2**n


def some_counts(n=2, readout=None):
    few, many = (simulate_state_counts(mixed(n), shots, rng=1, readout=readout) for shots in (40, 300))
    return {key: (few if k % 2 else many)[key] for k, key in enumerate(few) if k != 3}


def a_point(problem, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(problem.shape) + 1j * rng.standard_normal(problem.shape)
    if problem.rank is None:
        z = z @ z.conj().T + 0.5 * np.eye(len(z))
        return z / np.trace(z).real
    return z / np.linalg.norm(z)


def dense_loss(counts, rho, loss, readout=None):
    total = 0.0
    for setting, table in counts.items():
        basis = reduce(np.kron, [VECTORS[letter] for letter in setting])
        p = np.einsum("co,ce,eo->o", basis.conj(), rho, basis).real
        if readout is not None:
            p = reduce(np.kron, readout) @ p
        n = np.array([table.get(format(o, f"0{len(setting)}b"), 0) for o in range(len(p))])
        if loss == "likelihood":
            total += sum(k * np.log(k / n.sum() / q) for k, q in zip(n, p, strict=True) if k) + n.sum() * (p.sum() - 1)
        else:
            hedged = (n + 0.5) / (n.sum() + 0.5 * len(n))
            total += 0.5 * (n.sum() * (p - n / n.sum()) ** 2 / hedged).sum()
    return total


@pytest.mark.parametrize("loss", ["likelihood", "least-squares"])
@pytest.mark.parametrize("rank", [None, 1, 3])
@pytest.mark.parametrize("readout", [None, READOUT])
def test_values_gradients_and_lines_are_those_of_the_definition(loss, rank, readout):
    counts = some_counts(readout=readout)
    problem = StateTomography.from_counts(counts, loss=loss, rank=rank, readout=readout)
    x, y, step = a_point(problem), a_point(problem, 1), 1e-6
    rho = x if rank is None else x @ x.conj().T
    assert problem.value(x) == pytest.approx(dense_loss(counts, rho, loss, readout), rel=1e-11)
    h = y - x
    difference = (problem.value(x + step * h) - problem.value(x - step * h)) / (2 * step)
    assert np.vdot(problem.gradient(x), h).real == pytest.approx(difference, rel=1e-5)
    line = problem.along(x, h)
    for gamma in (0.0, 0.4, 1.0):
        assert line.value(gamma) == pytest.approx(problem.value(x + gamma * h), rel=1e-10)
        slope = np.vdot(problem.gradient(x + gamma * h), h).real
        assert line.derivative(gamma) == pytest.approx(slope, rel=1e-7, abs=1e-7 * abs(problem.value(x)))
    downhill = problem.along(x, -1e-3 * problem.gradient(x) / np.linalg.norm(problem.gradient(x)))
    assert downhill.value(downhill.minimiser()) < downhill.value(0.0)


def test_more_qubits_go_in_two_products_and_give_the_same():
    state = haar_unitary(6, 0)[:, 0]
    counts = simulate_state_counts(state, 50, rng=0, settings=["XYZXYZ", "ZZZZZZ", "YYXXZZ"])
    problem = StateTomography.from_counts(counts, rank=1)
    assert len(problem._walsh) == 2
    x = a_point(problem)
    assert problem.value(x) == pytest.approx(dense_loss(counts, x @ x.conj().T, "likelihood"), rel=1e-10)
    h, step = a_point(problem, 1), 1e-6
    difference = (problem.value(x + step * h) - problem.value(x - step * h)) / (2 * step)
    assert np.vdot(problem.gradient(x), h).real == pytest.approx(difference, rel=1e-5)


@pytest.mark.parametrize("loss", ["likelihood", "least-squares"])
def test_the_gap_certifies_what_both_variables_find(loss):
    counts = some_counts(2)
    dense = StateTomography.from_counts(counts, loss=loss)
    factor = StateTomography.from_counts(counts, loss=loss, rank=4)
    found = bsfw.minimize(dense, max_iter=400, callback=lambda result: None)
    other = bsfw.minimize(factor, max_iter=400, callback=lambda result: None)
    assert found.gap == pytest.approx(dense.gap(found.x), rel=1e-6, abs=1e-6)
    least = dense.value(factor.matrix(other.x))
    assert dense.value(found.x) - found.gap <= least + 1e-9 * abs(least)
    assert least - factor.gap(other.x) <= dense.value(found.x)
    assert dense.value(found.x) == pytest.approx(least, abs=0.2)
    assert bsfw.Spectraplex().contains(factor.matrix(other.x))
    assert dense.quasar_rho == 1.0
    assert factor.quasar_rho is None


@pytest.mark.parametrize("rank", [None, 1, 8])
def test_a_state_is_found_again(rank):
    problem = StateTomography.from_counts(simulate_state_counts(ghz(3), 1000, rng=0), truth=ghz(3), rank=rank)
    result = bsfw.minimize(problem)
    assert problem.fidelity(result.x) > 0.995
    assert problem.fidelity(result.x, np.outer(ghz(3), ghz(3))) == pytest.approx(problem.fidelity(result.x), abs=1e-6)
    assert problem.fidelity(result.x, np.eye(8)[1]) < 0.05


def test_few_settings_suffice_for_low_rank():
    n = 7
    rng = np.random.default_rng(0)
    settings = sorted({"".join(rng.choice(list("XYZ"), n)) for _ in range(40)} | {"X" * n, "Z" * n})
    counts = simulate_state_counts(ghz(n), 500, rng=0, settings=settings)
    problem = StateTomography.from_counts(counts, truth=ghz(n), rank=2)
    result = bsfw.minimize(problem, max_iter=100)
    assert problem.fidelity(result.x) > 0.97


def test_states_agree_with_qiskit():
    info = pytest.importorskip("qiskit.quantum_info", reason="qiskit is the extra 'quantum'")
    problem = StateTomography.from_counts(some_counts(), truth=info.DensityMatrix(mixed(2)))
    x = a_point(problem)
    state = problem.state(x)
    assert state.is_valid()
    assert problem.fidelity(x) == pytest.approx(info.state_fidelity(state, info.DensityMatrix(mixed(2))), rel=1e-6)
    np.testing.assert_allclose(problem.fitted(x).sum(axis=-1), 1, atol=1e-12)


def test_what_is_refused():
    counts = some_counts()
    with pytest.raises(ValueError, match="loss must be one of likelihood, least-squares"):
        StateTomography.from_counts(counts, loss="chi")
    with pytest.raises(ValueError, match="has rank 4 at most, got 5"):
        StateTomography.from_counts(counts, rank=5)
    with pytest.raises(ValueError, match="state has dimension 2, but 2 qubits have 4"):
        StateTomography.from_counts(counts, truth=[1, 0])
    with pytest.raises(ValueError, match="fidelity needs the state that was measured"):
        StateTomography.from_counts(counts).fidelity(np.eye(4) / 4)


@pytest.mark.parametrize("kind", ["torch", "jax"])
def test_other_arrays_give_the_same(kind):
    module = pytest.importorskip(kind, reason=f"{kind} is an extra")
    if kind == "jax":
        module.config.update("jax_enable_x64", True)
        like = module.numpy.zeros(0, dtype=complex)
    else:
        like = module.zeros(0, dtype=module.complex128)
    counts = some_counts(readout=READOUT)
    with pytest.raises(ValueError, match="works on NumPy arrays only; give rank="):
        StateTomography.from_counts(counts, like=like)
    for loss in ("likelihood", "least-squares"):
        ours = StateTomography.from_counts(counts, rank=2, loss=loss, readout=READOUT, like=like)
        known = StateTomography.from_counts(counts, rank=2, loss=loss, readout=READOUT)
        x, y = ours.linear_inversion(), known.linear_inversion()
        assert type(ours.gradient(x)) is type(like)
        np.testing.assert_allclose(np.asarray(ours.gradient(x)), known.gradient(y), atol=1e-8)
        assert ours.value(x) == pytest.approx(known.value(y), rel=1e-10)
        assert type(bsfw.minimize(ours, max_iter=3).x) is type(like)
