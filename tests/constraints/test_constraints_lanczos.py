"""The Lanczos solvers against LAPACK, on the matrices that break solvers."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from bsfw.constraints import _lanczos
from bsfw.constraints._lanczos import leading_singular_pair, smallest_eigenpair


def orthonormal(rng, rows, columns, dtype):
    a = rng.standard_normal((rows, columns)).astype(dtype)
    if dtype is complex:
        a += 1j * rng.standard_normal((rows, columns))
    return np.linalg.qr(a)[0]


spectra = {
    "spread": np.linspace(1.0, 0.0, 60),
    "decaying": 10.0 ** -np.arange(60.0),
    "rank one": np.r_[1.0, np.zeros(59)],
    "rank two, tied": np.r_[1.0, 1.0, np.zeros(58)],
    "tied top": np.r_[np.ones(7), np.linspace(0.9, 0.0, 53)],
    "cluster": np.r_[1.0 - 1e-5 * np.arange(25), np.linspace(0.9, 0.1, 35)],
    "all equal": np.ones(60),
    "all close": 1.0 - 1e-7 * np.arange(60),
    "hard": 1.0 - 1e-4 * np.arange(60),
}


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-10])
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("shape", [(90, 60), (60, 200)])
@pytest.mark.parametrize("name", spectra)
def test_singular_pair_to_the_stated_tolerance(name, shape, dtype, tolerance):
    rng = np.random.default_rng(0)
    left, right = orthonormal(rng, shape[0], 60, dtype), orthonormal(rng, shape[1], 60, dtype)
    a = (left * spectra[name]) @ right.conj().T
    for matrix in (a, sparse.csr_array(a), aslinearoperator(a)):
        sigma, u, v = leading_singular_pair(matrix, tolerance)
        assert sigma == pytest.approx(1.0, rel=tolerance)
        assert np.linalg.norm(u) == pytest.approx(1.0, rel=1e-14)
        assert np.linalg.norm(v) == pytest.approx(1.0, rel=1e-14)
        assert np.linalg.norm(a @ v - sigma * u) <= 1.01 * tolerance
        assert np.linalg.norm(a.conj().T @ u - sigma * v) <= 1.01 * tolerance


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-10])
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("name", spectra)
def test_smallest_eigenpair_to_the_stated_tolerance(name, dtype, tolerance):
    basis = orthonormal(np.random.default_rng(1), 60, 60, dtype)
    for values in (-spectra[name], 0.3 - spectra[name], 1.0 - spectra[name]):
        a = (basis * values) @ basis.conj().T
        size = np.abs(values).max()
        for matrix in (a, sparse.csr_array(a), aslinearoperator(a)):
            smallest, v = smallest_eigenpair(matrix, tolerance)
            assert smallest == pytest.approx(values.min(), abs=tolerance * size + 1e-14)
            assert np.linalg.norm(v) == pytest.approx(1.0, rel=1e-14)
            assert np.linalg.norm(a @ v - smallest * v) <= 1.01 * tolerance * size + 1e-14


def test_eigenvalues_of_the_larger_modulus_at_the_other_end_do_not_mislead():
    values = np.r_[100.0, np.linspace(1.0, 0.5, 80)]
    basis = orthonormal(np.random.default_rng(1), 81, 81, float)
    smallest, _ = smallest_eigenpair((basis * values) @ basis.T, 1e-8)
    assert smallest == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (70, 1), (2, 3), (60, 70)])
def test_sparse_and_operator_matrices_of_any_shape_and_zero(shape):
    rng = np.random.default_rng(4)
    a = rng.standard_normal(shape)
    top = np.linalg.svd(a, compute_uv=False)[0]
    for matrix in (a, sparse.csc_array(a), aslinearoperator(a)):
        sigma, u, v = leading_singular_pair(matrix, 1e-8)
        assert sigma == pytest.approx(top, rel=1e-8)
        assert u @ a @ v == pytest.approx(top, rel=1e-8)
    zero = np.zeros(shape)
    for matrix in (zero, sparse.csr_array(zero), sparse.csr_array(a) * 0.0, aslinearoperator(zero)):
        sigma, u, v = leading_singular_pair(matrix, 1e-8)
        assert sigma == 0.0
        assert np.array_equal(u, np.eye(shape[0])[0])
        assert np.array_equal(v, np.eye(shape[1])[0])


def test_zero_and_small_hermitian_maps():
    for size in (1, 3, 60):
        zero = np.zeros((size, size))
        for matrix in (zero, sparse.csr_array(zero), aslinearoperator(zero)):
            value, v = smallest_eigenpair(matrix, 1e-8)
            assert value == 0.0
            assert np.array_equal(v, np.eye(size)[0])
        a = np.diag(np.arange(size) - 1.5)
        for matrix in (a, sparse.csr_array(a), aslinearoperator(a)):
            assert smallest_eigenpair(matrix, 1e-8)[0] == pytest.approx(-1.5, rel=1e-8)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_any_magnitude(scale):
    a = np.random.default_rng(7).standard_normal((80, 60))
    top = np.linalg.svd(a, compute_uv=False)[0]
    for matrix in (a * scale, sparse.csr_array(a) * scale, aslinearoperator(a * scale)):
        assert leading_singular_pair(matrix, 1e-8)[0] / scale == pytest.approx(top, rel=1e-8)
    square = a[:60] + a[:60].T
    smallest = np.linalg.eigvalsh(square)[0]
    for matrix in (square * scale, sparse.csr_array(square) * scale, aslinearoperator(square * scale)):
        assert smallest_eigenpair(matrix, 1e-8)[0] / scale == pytest.approx(smallest, rel=1e-8)


def test_the_same_matrix_gives_the_same_bits():
    a = np.eye(70)  # every unit vector is a leading one
    first, second = leading_singular_pair(a, 1e-6), leading_singular_pair(a.copy(), 1e-6)
    assert np.array_equal(first[1], second[1])
    assert np.array_equal(first[2], second[2])
    assert np.array_equal(smallest_eigenpair(a, 1e-6)[1], smallest_eigenpair(a.copy(), 1e-6)[1])


def test_the_input_is_not_changed():
    a = 1e-300 * np.random.default_rng(7).standard_normal((60, 60))
    compressed, copy = sparse.csr_array(a), a.copy()
    leading_singular_pair(a, 1e-6)
    leading_singular_pair(compressed, 1e-6)
    assert np.array_equal(a, copy)
    assert np.array_equal(compressed.toarray(), copy)


def test_without_convergence_a_matrix_goes_to_lapack_and_a_map_warns(monkeypatch):
    monkeypatch.setattr(_lanczos, "_RESTARTS", 1)
    values = 1.0 - 1e-4 * np.arange(300.0)
    a = np.diag(values)
    for matrix in (a, sparse.csr_array(a)):
        assert leading_singular_pair(matrix, 1e-12)[0] == pytest.approx(1.0, rel=1e-14)
        assert smallest_eigenpair(-matrix, 1e-12)[0] == pytest.approx(-1.0, rel=1e-14)
    with pytest.warns(RuntimeWarning, match="did not reach the relative tolerance"):
        assert leading_singular_pair(aslinearoperator(a), 1e-12)[0] == pytest.approx(1.0, rel=1e-3)
    with pytest.warns(RuntimeWarning, match="did not reach the relative tolerance"):
        assert smallest_eigenpair(aslinearoperator(-a), 1e-12)[0] == pytest.approx(-1.0, rel=1e-3)
