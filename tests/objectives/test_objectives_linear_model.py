"""Linear models: every loss, dense and sparse, with weights and intercept, against definitions and other libraries."""

import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bsfw.objectives import (
    Counts,
    Huber,
    LeakySquared,
    LeastSquares,
    Logistic,
    Multinomial,
    ProbitSquared,
    SigmoidSquared,
    Tukey,
)
from bsfw.objectives.links import SquaredLink

LOSSES = [Logistic, LeastSquares, Huber, Tukey, SigmoidSquared, ProbitSquared, LeakySquared, Multinomial]
M, N, C = 23, 7, 3


def targets(loss, rng, m=M):
    if loss is Logistic:
        return rng.choice([-1.0, 1.0], m)
    if loss in (SigmoidSquared, ProbitSquared):
        return rng.random(m)
    if loss is Multinomial:
        return np.concatenate([np.arange(C), rng.integers(0, C, m - C)])
    return 2.0 * rng.standard_normal(m)


def data(m=M, n=N, seed=0, density=0.4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)) * (rng.random((m, n)) < density)


def build(loss, *, sparse=False, dtype=np.float64, weighted=False, intercept=False, seed=0):
    rng = np.random.default_rng(seed)
    A = data(seed=seed).astype(dtype)
    A[:, 2] = 0.0  # a column without entries
    A[4] = 0.0  # a row without entries
    y = targets(loss, rng)
    weight = rng.random(M) * (rng.random(M) < 0.8) if weighted else None
    return loss(sp.csr_array(A) if sparse else A, y, intercept=intercept, sample_weight=weight)


def point(objective, seed=1, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(objective.shape)).astype(objective.dtype)


@pytest.fixture(params=LOSSES, ids=lambda loss: loss.__name__)
def loss(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def sparse(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["plain", "weights"])
def objective(request, loss, sparse):
    return build(loss, sparse=sparse, weighted=request.param)


def central_differences(f, x, h=1e-5):
    out = np.empty(x.size)
    for j in range(x.size):
        step = np.zeros(x.size)
        step[j] = h
        step = step.reshape(x.shape)
        out[j] = (f(x + step) - f(x - step)) / (2 * h)
    return out.reshape(x.shape)


def test_gradient_is_the_derivative_of_the_value(objective):
    x = point(objective)
    expected = central_differences(objective.value, x)
    assert objective.gradient(x).shape == objective.shape == x.shape
    np.testing.assert_allclose(objective.gradient(x), expected, rtol=1e-6, atol=1e-8)


def test_value_is_the_weighted_average_of_the_losses_of_single_samples(loss, sparse):
    objective = build(loss, sparse=sparse, weighted=True)
    rng = np.random.default_rng(0)
    A, y = data(), targets(loss, rng)
    A[:, 2] = A[4] = 0.0
    weight = rng.random(M) * (rng.random(M) < 0.8)
    x = point(objective)
    total = 0.0
    for i in range(M):  # the one-sample objective has weight one: only the average is under test
        if loss is Multinomial:
            z = A[i] @ x
            single = math.log(sum(math.exp(entry) for entry in z)) - z[y[i]]
        else:
            single = loss(A[i : i + 1], y[i : i + 1]).value(x)
        total += weight[i] * single
    assert objective.value(x) == pytest.approx(total / weight.sum(), rel=1e-12)


def test_dense_and_sparse_agree(loss):
    for settings_ in ({}, {"weighted": True, "intercept": True}):
        dense, sparse = build(loss, **settings_), build(loss, sparse=True, **settings_)
        x, batch = point(dense), np.array([9, 2, 4, 17])
        coordinates = np.array([5, 2, 0, 5])
        assert dense.value(x) == pytest.approx(sparse.value(x), rel=1e-13)
        np.testing.assert_allclose(dense.gradient(x), sparse.gradient(x), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(
            dense.batch_gradient(x, batch), sparse.batch_gradient(x, batch), rtol=1e-12, atol=1e-15
        )
        np.testing.assert_allclose(
            dense.forward_differences(x, coordinates, 1e-3),
            sparse.forward_differences(x, coordinates, 1e-3),
            rtol=1e-9,
            atol=1e-12,
        )
        assert dense.smoothness() == pytest.approx(sparse.smoothness(), rel=1e-9)
        assert dense.sample_smoothness() == pytest.approx(sparse.sample_smoothness(), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_float32_stays_float32_and_is_close_to_float64(loss, sparse, weighted):
    single = build(loss, sparse=sparse, dtype=np.float32, weighted=weighted, intercept=True)
    double = build(loss, sparse=sparse, weighted=weighted, intercept=True)
    x = point(single)
    batch, coordinates = np.array([1, 4, 20]), np.array([0, 3])
    assert single.dtype == np.float32
    for method, arguments in {
        "margins": (x,),
        "gradient": (x,),
        "batch_gradient": (x, batch),
        "sample_gradients": (x, batch),
        "sample_derivatives": (x, batch),
        "all_derivatives": (x,),
        "partial_derivatives": (x, coordinates),
    }.items():
        found = getattr(single, method)(*arguments)
        assert found.dtype == np.float32, method
        expected = getattr(double, method)(*arguments)
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5, err_msg=method)
    assert single.combine_rows(np.ones((M, *x.shape[1:]))).dtype == np.float32  # a float64 table does not widen A
    assert single.margins(x.astype(np.float64)).dtype == np.float32
    assert single.value(x) == pytest.approx(double.value(x), rel=1e-5)
    # The difference quotient is taken in float64: a step far below the resolution of float32 still works.
    np.testing.assert_allclose(
        single.forward_differences(x, coordinates, 1e-7),
        double.partial_derivatives(x, coordinates),
        rtol=1e-3,
        atol=1e-4,
    )


def test_gradient_is_the_average_of_sample_gradients(objective):
    x = point(objective)
    everything = objective.sample_gradients(x, np.arange(M))
    assert everything.shape == (M, *objective.shape)
    np.testing.assert_allclose(everything.mean(axis=0), objective.gradient(x), rtol=1e-12, atol=1e-14)


def test_batch_gradient_is_the_average_over_the_batch_and_over_everything_the_full_gradient(objective):
    x, batch = point(objective), np.array([20, 4, 7])
    expected = objective.sample_gradients(x, np.arange(M))[batch].mean(axis=0)
    np.testing.assert_allclose(objective.batch_gradient(x, batch), expected, rtol=1e-12, atol=1e-14)
    permuted = np.random.default_rng(3).permutation(M)
    np.testing.assert_allclose(objective.batch_gradient(x, permuted), objective.gradient(x), rtol=1e-12, atol=1e-14)


def test_margins_derivatives_and_rows_compose_to_the_gradients(objective):
    x, batch = point(objective), np.array([3, 11, 4])
    z = objective.margins(x)
    assert z.shape == (M, *objective.shape[1:])
    close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14)  # a part need not be summed as the whole is
    close(objective.margins(x, batch), z[batch])
    slopes = objective.derivatives(z)
    close(objective.derivatives(z[batch], batch), slopes[batch])
    close(objective.sample_derivatives(x, batch), slopes[batch])
    close(objective.all_derivatives(x), slopes)
    np.testing.assert_allclose(objective.combine_rows(slopes) / M, objective.gradient(x), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(
        objective.combine_rows(slopes[batch], batch) / 3, objective.batch_gradient(x, batch), rtol=1e-13, atol=1e-15
    )
    A = objective.A if isinstance(objective.A, np.ndarray) else objective.A.toarray()
    assert objective.image_norm(x) == pytest.approx(np.linalg.norm(A @ x), rel=1e-13)


@settings(deadline=None, max_examples=50)
@given(chosen=st.data(), which=st.sampled_from(LOSSES), sparse=st.booleans(), weighted=st.booleans())
def test_partial_derivatives_are_entries_of_the_gradient(chosen, which, sparse, weighted):
    objective = build(which, sparse=sparse, weighted=weighted, intercept=weighted)
    x = point(objective)
    coordinates = np.array(chosen.draw(st.lists(st.integers(0, x.size - 1), min_size=1, max_size=x.size)))
    expected = objective.gradient(x).ravel()[coordinates]
    np.testing.assert_allclose(objective.partial_derivatives(x, coordinates), expected, rtol=1e-11, atol=1e-14)
    everything = np.random.default_rng(0).permutation(x.size)
    np.testing.assert_allclose(
        objective.partial_derivatives(x, everything), objective.gradient(x).ravel()[everything], rtol=1e-11, atol=1e-14
    )


@pytest.mark.parametrize("step", [1e-2, -0.3, 2.0])
def test_forward_differences_are_differences_of_values(objective, step):
    x = point(objective)
    coordinates = np.random.default_rng(2).permutation(x.size)
    expected = []
    for j in coordinates:
        moved = x.copy()
        moved.flat[j] += step
        expected.append((objective.value(moved) - objective.value(x)) / step)
    found = objective.forward_differences(x, coordinates, step)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_forward_differences_do_not_depend_on_the_block_size(objective, monkeypatch):
    x, coordinates = point(objective), np.arange(point(objective).size)[::-1]
    whole = objective.forward_differences(x, coordinates, 0.1)
    monkeypatch.setattr("bsfw.objectives.linear_model._BLOCK", 1)
    np.testing.assert_array_equal(objective.forward_differences(x, coordinates, 0.1), whole)


def test_along_equals_direct_evaluation(objective):
    x, d = point(objective), point(objective, seed=5)
    line = objective.along(x, d)
    for gamma in (0.0, 0.3, 1.0, -2.0):
        assert line.value(gamma) == pytest.approx(objective.value(x + gamma * d), rel=1e-12)
        assert line.derivative(gamma) == pytest.approx(
            np.vdot(objective.gradient(x + gamma * d), d), rel=1e-10, abs=1e-13
        )


def test_counts_are_exact(objective):
    x, batch, coordinates = point(objective), np.arange(5), np.array([0, 1, 3])
    line = objective.along(x, x)
    for call, expected in {
        "value": Counts(function_values=1),
        "gradient": Counts(sample_gradients=M, full_gradients=1),
        "batch_gradient": Counts(sample_gradients=5),
        "sample_gradients": Counts(sample_gradients=5),
        "sample_derivatives": Counts(sample_gradients=5),
        "all_derivatives": Counts(sample_gradients=M, full_gradients=1),
        "partial_derivatives": Counts(coordinate_gradients=3),
        "forward_differences": Counts(coordinate_gradients=3, function_values=4),
        "margins": Counts(),
        "derivatives": Counts(),
        "combine_rows": Counts(),
        "image_norm": Counts(),
        "along": Counts(),
        "smoothness": Counts(),
        "line.value": Counts(function_values=1),
        "line.derivative": Counts(sample_gradients=M, full_gradients=1),
    }.items():
        extra = {
            "batch_gradient": (x, batch),
            "sample_gradients": (x, batch),
            "sample_derivatives": (x, batch),
            "partial_derivatives": (x, coordinates),
            "forward_differences": (x, coordinates, 0.1),
            "derivatives": (objective.margins(x),),
            "combine_rows": (objective.margins(x),),
            "along": (x, x),
            "smoothness": (),
            "line.value": (0.5,),
            "line.derivative": (0.5,),
        }
        counts = Counts()
        target = line if call.startswith("line.") else objective
        with objective.counting(counts):
            getattr(target, call.removeprefix("line."))(*extra.get(call, (x,)))
        assert counts == expected, call


def test_capabilities_and_sizes(objective):
    assert objective.has_gradient
    assert objective.has_batches
    assert objective.has_partial_derivatives
    assert objective.n_samples == M
    assert objective.quasar_rho == (None if isinstance(objective, Tukey | SquaredLink) else 1.0)


@pytest.mark.parametrize("scale", [1e4, 1e100])
def test_extreme_margins_give_finite_numbers_without_warnings(loss, sparse, scale):
    A = np.eye(4)[[0, 0, 1, 1, 2, 3]]
    y = {Logistic: [1, -1, 1, -1, 1, -1], SigmoidSquared: [0, 1, 0, 1, 0.5, 1], Multinomial: [0, 1, 2, 0, 1, 2]}
    y[ProbitSquared] = y[SigmoidSquared]
    objective = loss(sp.csr_array(A) if sparse else A, y.get(loss, [1.0, -1.0, 0.0, 0.0, 1.0, 2.0]))
    x = np.zeros(objective.shape)
    x[0], x[1] = scale, -scale
    if loss is Multinomial:
        x[0], x[1] = [scale, -scale, 0.0], [0.0, scale, -scale]
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert np.isfinite(objective.value(x))
        assert np.isfinite(objective.gradient(x)).all()
        assert np.isfinite(objective.sample_gradients(x, np.arange(6))).all()
        line = objective.along(0 * x, x)
        assert np.isfinite(line.derivative(1.0))


def test_weights_scale_away_and_integer_weights_are_repetitions(loss, sparse):
    rng = np.random.default_rng(0)
    A, y, weight = data(), targets(loss, rng), rng.integers(0, 4, M)
    weight[:C] = 1  # every class of Multinomial stays present
    given = sp.csr_array(A) if sparse else A
    once, scaled = loss(given, y, sample_weight=weight), loss(given, y, sample_weight=1e-3 * weight)
    repeated = loss(np.repeat(A, weight, axis=0), np.repeat(y, weight))
    x = point(once)
    assert once.sample_weight.mean() == pytest.approx(1.0, rel=1e-14)
    assert once.value(x) == pytest.approx(scaled.value(x), rel=1e-12)
    assert once.value(x) == pytest.approx(repeated.value(x), rel=1e-12)
    np.testing.assert_allclose(once.gradient(x), repeated.gradient(x), rtol=1e-11, atol=1e-13)
    assert once.smoothness() == pytest.approx(repeated.smoothness(), rel=1e-9)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "int64 indices", "unsorted", "duplicates", "matrix"])
def test_every_sparse_format_is_the_same_objective_and_stays_untouched(kind):
    A, y = data(density=0.6), targets(LeastSquares, np.random.default_rng(0))
    given = sp.csr_array(A)
    if kind in ("csc", "coo", "lil"):
        given = given.asformat(kind)
    elif kind == "matrix":
        given = sp.csr_matrix(A)
    elif kind == "int64 indices":
        given.indices, given.indptr = given.indices.astype(np.int64), given.indptr.astype(np.int64)
    elif kind == "unsorted":
        order = np.concatenate(
            [np.arange(b - 1, a - 1, -1) for a, b in zip(given.indptr, given.indptr[1:], strict=False)]
        )
        given = sp.csr_array((given.data[order], given.indices[order], given.indptr), shape=A.shape)
    elif kind == "duplicates":
        given = sp.csr_array(
            (np.repeat(given.data / 2, 2), np.repeat(given.indices, 2), 2 * given.indptr), shape=A.shape
        )
    before = [np.array(part) for part in (given.data, getattr(given, "indices", []))] if kind not in ("lil",) else []
    objective, dense = LeastSquares(given, y), LeastSquares(A, y)
    x = point(dense)
    assert objective.A.has_canonical_format
    np.testing.assert_allclose(objective.gradient(x), dense.gradient(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        objective.forward_differences(x, np.arange(N), 0.5), dense.forward_differences(x, np.arange(N), 0.5), rtol=1e-10
    )
    if before:
        np.testing.assert_array_equal(given.data, before[0])
        np.testing.assert_array_equal(getattr(given, "indices", []), before[1])


@pytest.mark.parametrize("dtype", [int, bool, np.float16, np.longdouble, ">f8"])
def test_other_number_types_become_float64(dtype):
    A = (data() > 0).astype(dtype)
    for numbers in (A, sp.csr_array(A.astype(float)).astype(np.int32)):
        objective = LeastSquares(numbers, np.zeros(M))
        assert objective.dtype == objective.A.dtype == np.dtype(np.float64)
        assert objective.value(np.ones(N)) == pytest.approx(0.5 * np.square(A.astype(float).sum(1)).mean())


VECTORS = arrays(float, 7, elements=st.floats(-3, 3, width=32))


@settings(deadline=None, max_examples=60)
@given(which=st.sampled_from(LOSSES), seed=st.integers(0, 30), weighted=st.booleans(), far=VECTORS, step=VECTORS)
def test_smoothness_constants_bound_the_change_of_gradients(which, seed, weighted, far, step):
    objective = build(which, sparse=bool(seed % 2), weighted=weighted, seed=seed)
    columns = objective.shape[1:]
    x = far if not columns else np.outer(far, [1.0, -0.5, 0.3])
    d = 0.3 * (step if not columns else np.outer(step, [1.0, -1.0, 0.2]))
    length = np.linalg.norm(d)
    slack = 1 + 1e-9
    assert (
        np.linalg.norm(objective.gradient(x + d) - objective.gradient(x))
        <= slack * objective.smoothness() * length + 1e-13
    )
    everything = np.arange(M)
    changes = objective.sample_gradients(x + d, everything) - objective.sample_gradients(x, everything)
    largest = np.sqrt(np.square(changes).reshape(M, -1).sum(1)).max()
    assert largest <= slack * objective.sample_smoothness() * length + 1e-13
    image_change = (objective.all_derivatives(x + d) - objective.all_derivatives(x)) / M
    assert np.linalg.norm(image_change) <= slack * objective.image_smoothness() * objective.image_norm(d) + 1e-13


@pytest.mark.parametrize("weighted", [False, True])
def test_smoothness_of_least_squares_is_the_largest_eigenvalue_of_its_hessian(sparse, weighted):
    objective = build(LeastSquares, sparse=sparse, weighted=weighted)
    hessian = np.stack([objective.gradient(e) - objective.gradient(0 * e) for e in np.eye(N)])
    assert objective.smoothness() == pytest.approx(np.linalg.eigvalsh(hessian)[-1], rel=1e-9)
    singles = objective.sample_gradients(np.zeros(N), np.arange(M))
    hessians = np.stack([objective.sample_gradients(e, np.arange(M)) - singles for e in np.eye(N)], axis=1)
    assert objective.sample_smoothness() == pytest.approx(np.linalg.norm(hessians, ord=2, axis=(1, 2)).max(), rel=1e-9)
    weight = np.ones(M) if objective.sample_weight is None else objective.sample_weight
    assert objective.image_smoothness() == pytest.approx(weight.max() / M, rel=1e-12)


@pytest.mark.parametrize("shape", [(400, 300), (300, 900)])
def test_smoothness_of_large_data_is_a_tight_upper_bound(shape, sparse):
    A = data(*shape, seed=4, density=0.1)
    objective = LeastSquares(sp.csr_array(A) if sparse else A, np.zeros(len(A)))
    exact = np.linalg.norm(A, 2) ** 2 / len(A)
    assert exact <= objective.smoothness() <= 1.002 * exact


@pytest.mark.parametrize("shape", [(3, 4), (300, 400)])
def test_smoothness_of_float32_data_that_a_float32_gram_matrix_would_lose(shape, sparse):
    A = np.full(shape, 1e25, dtype=np.float32)
    objective = LeastSquares(sp.csr_array(A) if sparse else A, np.zeros(shape[0]))
    assert objective.smoothness() == pytest.approx(float(A[0, 0]) ** 2 * shape[1], rel=2e-3)


def test_smoothness_of_zero_data_is_zero(sparse):
    for shape in ((3, 2), (400, 300)):
        A = np.zeros(shape)
        assert LeastSquares(sp.csr_array(A) if sparse else A, np.zeros(shape[0])).smoothness() == 0.0


def test_fingerprint_changes_with_every_part_of_the_problem(loss, sparse):
    rng = np.random.default_rng(0)
    A, y, weight = data(), targets(loss, rng), rng.random(M)
    pack = sp.csr_array if sparse else np.array
    i, j = np.argwhere(A)[5]
    B, w, v = A.copy(), weight.copy(), np.array(y)
    B[i, j] *= 1 + 1e-15
    w[3] *= 2
    v[[0, 1]] = v[[1, 0]] if v[0] != v[1] else -v[[0, 1]]
    variants = [
        loss(pack(A), y),
        loss(pack(B), y),
        loss(pack(A[:, ::-1]), y),
        loss(pack(A), v),
        loss(pack(A), y, sample_weight=weight),
        loss(pack(A), y, sample_weight=w),
        loss(pack(A), y, intercept=True),
        loss(pack(A.astype(np.float32)), y),
    ]
    prints = [variant.fingerprint() for variant in variants]
    assert len(set(prints)) == len(prints)
    assert loss(pack(A.copy()), list(y)).fingerprint() == prints[0]


def test_fingerprint_knows_the_parameters_of_the_loss_but_not_the_width_of_indices():
    A, y = sp.csr_array(data()), np.random.default_rng(0).random(M)
    assert Huber(A, y).fingerprint() != Huber(A, y, 2.0).fingerprint()
    assert Tukey(A, y).fingerprint() != Tukey(A, y, 2.0).fingerprint()
    assert Tukey(A, y).fingerprint() != Tukey(A, y, quasar_rho=0.5).fingerprint()
    assert len({kind(A, y).fingerprint() for kind in (Huber, Tukey, LeastSquares, SigmoidSquared)}) == 4
    wide = A.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert Huber(wide, y).fingerprint() == Huber(A, y).fingerprint()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_inf_are_refused_wherever_they_stand(loss, sparse, bad):
    A, y = data(), targets(loss, np.random.default_rng(0)).astype(float)
    pack = sp.csr_array if sparse else np.array
    broken = A.copy()
    broken[1, 1] = bad
    with pytest.raises(ValueError, match=r"A has 1 entries that are NaN or infinite"):
        loss(pack(broken), y)
    broken = y.copy()
    broken[2] = bad
    with pytest.raises(ValueError, match=r"y has 1 entries that are NaN or infinite"):
        loss(pack(A), broken)
    with pytest.raises(ValueError, match=r"sample_weight has 1 entries that are NaN or infinite"):
        loss(pack(A), y, sample_weight=[bad] + [1.0] * (M - 1))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_empty_data_is_refused(shape, sparse):
    A = sp.csr_array(shape) if sparse else np.zeros(shape)
    with pytest.raises(ValueError, match=rf"A is empty, its shape is \({shape[0]}, {shape[1]}\)"):
        LeastSquares(A, np.zeros(shape[0]), intercept=True)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"A": np.ones(3)}, ValueError, r"A must be a matrix with one row per sample, got an array of shape \(3,\)"),
        ({"A": sp.coo_array(np.ones(3))}, ValueError, r"A must be a matrix, got a sparse array of shape \(3,\)"),
        ({"A": np.ones((2, 2), complex)}, TypeError, "A is complex"),
        ({"A": [["a", "b"], ["c", "d"]]}, TypeError, "A must hold numbers"),
        (
            {"y": [1.0, 2.0, 3.0]},
            ValueError,
            r"y must have one entry per row of A, shape \(2,\), but its shape is \(3,\)",
        ),
        ({"y": [[1.0], [2.0]]}, ValueError, r"y must have one entry per row of A"),
        ({"y": ["a", "b"]}, TypeError, "y must hold real numbers"),
        ({"y": [1j, 2.0]}, TypeError, "y must hold real numbers"),
        ({"sample_weight": [1.0]}, ValueError, r"sample_weight must have one entry per row of A, shape \(2,\)"),
        ({"sample_weight": [1.0, -1.0]}, ValueError, "sample_weight must be nonnegative, but its smallest entry is -1"),
        ({"sample_weight": [0.0, 0.0]}, ValueError, "sample_weight is zero everywhere"),
    ],
)
def test_bad_input_gets_its_own_sentence(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        LeastSquares(**{"A": np.eye(2), "y": [1.0, 2.0], **arguments})


def test_huge_weights_do_not_overflow():
    objective = LeastSquares(np.eye(2), [1.0, 3.0], sample_weight=[1e308, 1e308])
    assert objective.value(np.zeros(2)) == pytest.approx(2.5)


def test_column_length_is_that_of_the_column_of_a_random_nonzero():
    A = sp.random(40, 30, density=0.2, random_state=1, format="csr")
    lengths = np.diff(A.tocsc().indptr)
    assert Logistic(A, np.ones(40)).column_length == pytest.approx(lengths @ lengths / A.nnz)
