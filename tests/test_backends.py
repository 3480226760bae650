"""NumPy, PyTorch and JAX arrays: the same steps, on the device of the data, and x comes back as what went in."""

import subprocess
import sys

import numpy as np
import pytest

import bsfw
from bsfw import _arrays
from bsfw.boosting import boost
from bsfw.constraints import _array_boost
from bsfw.solver import Solver
from bsfw.vertices import Dense, OneHot, RankOne, Sparse, move

SAMPLES = 30
KINDS = ["numpy", "torch", "jax"]
FOREIGN = ["torch", "jax"]


@pytest.fixture
def to(request):
    """From NumPy to arrays of the wanted kind; JAX with double precision."""
    pytest.importorskip("array_api_compat")
    if request.param == "numpy":
        yield np.array
    elif request.param == "torch":
        torch = pytest.importorskip("torch")
        yield lambda array: torch.asarray(np.array(array))
    else:
        jax = pytest.importorskip("jax")
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        yield jax.numpy.asarray
        jax.config.update("jax_enable_x64", before)


foreign = pytest.mark.parametrize("to", FOREIGN, indirect=True)
every = pytest.mark.parametrize("to", KINDS, indirect=True)


def problem(to, shape, dtype=np.float64, like=True, checks=None):
    """Least squares as a finite sum, written once for all kinds of array."""
    rng = np.random.default_rng(1)
    n = int(np.prod(shape))
    A, y = rng.standard_normal((SAMPLES, n)), rng.standard_normal(SAMPLES)
    if np.dtype(dtype).kind == "c":
        A, y = A + 1j * rng.standard_normal((SAMPLES, n)), y + 1j * rng.standard_normal(SAMPLES)
    A, y = to(A.astype(dtype)), to(y.astype(dtype))

    def fun(x):
        return (abs(A @ x.reshape(-1) - y) ** 2).sum() / (2 * SAMPLES)

    def batch_jac(x, batch):
        if checks is not None:
            checks.append((type(x), type(batch), batch.dtype))
        rows = A[batch]
        return (rows.conj().T @ (rows @ x.reshape(-1) - y[batch]) / len(batch)).reshape(x.shape)

    def partial(x, coordinates):
        return (A.T @ (A @ x.reshape(-1) - y) / SAMPLES)[coordinates]

    return bsfw.Function(
        fun,
        batch_jac=batch_jac,
        n_samples=SAMPLES,
        partial=partial if np.dtype(dtype).kind == "f" else None,
        shape=shape,
        quasar_rho=1.0,
        smoothness=10.0,
        like=A if like else None,
        dtype=None if like else dtype,
    )


CENTRE, MATRIX = np.full(12, 0.01), 0.2 * np.eye(12) + 0.1
SETS = {
    "L1Ball": (bsfw.L1Ball(0.5), (3, 4)),
    "weighted L1Ball": (bsfw.L1Ball(0.5, np.linspace(1.0, 2.0, 12)), (12,)),
    "L1Ball, rows": (bsfw.L1Ball(0.5, rows=True), (3, 4)),
    "L2Ball": (bsfw.L2Ball(0.5), (12,)),
    "Simplex": (bsfw.Simplex(1.0), (12,)),
    "solid Simplex": (bsfw.Simplex(1.0, equality=False), (12,)),
    "KSparse": (bsfw.KSparse(3, 0.2), (3, 4)),
    "GroupBall": (bsfw.GroupBall([[0, 5, 7], [1, 2], [3, 4, 6, 8], [9, 10, 11]], 0.5), (12,)),
    "Product": (bsfw.Product([(bsfw.L1Ball(0.5), 6), (bsfw.SpectralBall(0.3), (2, 3))]), (12,)),
    "LinfBall": (bsfw.LinfBall(0.2), (12,)),
    "LpBall, p = 1": (bsfw.LpBall(1, 0.5), (12,)),
    "LpBall, p = 3": (bsfw.LpBall(3, 0.5), (12,)),
    "Box": (bsfw.Box(-0.1, np.linspace(0.0, 0.5, 12)), (12,)),
    "SpectralBall": (bsfw.SpectralBall(0.3), (3, 4)),
    "SpectralBall, one column": (bsfw.SpectralBall(0.3), (12, 1)),
    "NuclearBall": (bsfw.NuclearBall(0.5), (3, 4)),
    "Ellipsoid": (bsfw.Ellipsoid(CENTRE, MATRIX), (12,)),
    "CappedSimplex": (bsfw.CappedSimplex(0.0, 0.3, -0.2), (12,)),
    "OrderedL1Ball": (bsfw.OrderedL1Ball(np.linspace(2.0, 0.5, 12), 0.5), (12,)),
    "AsymmetricL1Ball": (bsfw.AsymmetricL1Ball(0.5, 2.0, np.linspace(1.0, 2.0, 12)), (12,)),
    "TotalVariationBall": (bsfw.TotalVariationBall(0.5), (12,)),
    "Scaled": (bsfw.Scaled(bsfw.SpectralBall(0.3), -2.0), (3, 4)),
    "Shifted": (bsfw.Shifted(bsfw.L1Ball(0.5), np.linspace(0.0, 0.05, 12)), (12,)),
    "Transposed": (bsfw.Transposed(bsfw.NuclearBall(0.5)), (3, 4)),
}
JAX_SETS = ["L1Ball", "L1Ball, rows", "L2Ball", "Box", "SpectralBall", "NuclearBall", "Ellipsoid", "KSparse", "Product"]
"""Not all: JAX compiles every operation for every shape and dtype, which takes most of the time of these tests."""
REAL_ONLY = (
    "Box",
    "Simplex",
    "solid Simplex",
    "CappedSimplex",
    "OrderedL1Ball",
    "AsymmetricL1Ball",
    "TotalVariationBall",
)
ESTIMATORS = [
    bsfw.FullGradient(),
    bsfw.HeavyBall(5),
    bsfw.SARAH(5, 0.2),
    bsfw.LSVRG(5, 0.2),
    bsfw.SAGA(5),
    bsfw.SEGA(3),
    bsfw.JAGUAR(3),
    bsfw.ZOJA(3),
]


def trajectory(objective, constraint, iterations=20, **options):
    """x^0, ..., x^20 as NumPy arrays, and the state at the end."""
    solver = Solver(objective, constraint, horizon=iterations, engine="reference", **options)
    state = solver.init(rng=3)
    iterates = [_arrays.host(state.x)]
    for _ in range(iterations):
        assert solver.step(state) is not None
        iterates.append(_arrays.host(state.x))
    return np.array(iterates), state


def assert_same_run(to, name, dtype, tolerance, **options):
    constraint, shape = SETS[name]
    found, state = trajectory(problem(to, shape, dtype), constraint, **options)
    expected, reference = trajectory(problem(np.array, shape, dtype), constraint, **options)
    np.testing.assert_allclose(found, expected, atol=tolerance)
    assert state.lmo_calls == reference.lmo_calls
    assert abs(state.boosted_steps - reference.boosted_steps) <= 1  # rounding decides at eta = 1, where d~ = s - x
    if isinstance(options.get("step"), bsfw.LineSearch):  # rounding may make a root search ask one derivative more
        assert state.counts.full_gradients == pytest.approx(reference.counts.full_gradients, abs=len(expected))
    else:
        assert state.counts == reference.counts
    assert type(state.x) is type(to(np.zeros(1)))
    assert _arrays.host_dtype(state.x) == _arrays.host_dtype(state.m) == dtype


@pytest.mark.parametrize(
    ("to", "name", "dtype"),
    [("torch", name, np.float64) for name in SETS]
    + [("torch", name, np.complex128) for name in SETS if name not in REAL_ONLY]
    + [("jax", name, np.float64) for name in JAX_SETS]
    + [("jax", name, np.complex128) for name in ("LinfBall", "SpectralBall, one column")],
    indirect=["to"],
)
def test_the_first_steps_agree_on_every_set(to, name, dtype):
    assert_same_run(to, name, dtype, 1e-12, max_rounds=5)


@pytest.mark.parametrize("to", ["torch"], indirect=True)
@pytest.mark.parametrize("name", SETS)
def test_the_first_steps_agree_where_no_memory_is_shared(to, name, monkeypatch):
    monkeypatch.setattr(_array_boost, "in_host_memory", lambda tensor: False)
    assert_same_run(to, name, np.float64, 1e-10, max_rounds=5)


@pytest.mark.parametrize(
    ("to", "name"), [("torch", "L2Ball"), ("torch", "NuclearBall"), ("jax", "L2Ball")], indirect=["to"]
)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.name)
def test_the_first_steps_agree_with_every_estimator(to, estimator, name):
    # A forward difference divides the rounding of f by 1e-6.
    assert_same_run(to, name, np.float64, 1e-8 if estimator.name == "zoja" else 1e-12, estimator=estimator)


@pytest.mark.parametrize("to", ["torch"], indirect=True)
@pytest.mark.parametrize("step", [bsfw.ShortStep(), bsfw.LineSearch(), bsfw.LineSearch("backtracking")], ids=str)
def test_the_first_steps_agree_with_the_deterministic_step_rules(to, step):
    assert_same_run(to, "L2Ball", np.float64, 1e-9, step=step, max_rounds=3)


@pytest.mark.parametrize(
    ("to", "name", "dtype"),
    [(kind, "L2Ball", d) for kind in ("numpy", "torch") for d in (np.float32, np.float64, np.complex64, np.complex128)]
    + [(kind, name, np.float32) for kind in ("numpy", "torch") for name in SETS if name != "Simplex"]
    + [("jax", "L2Ball", np.float32), ("jax", "L2Ball", np.complex64), ("jax", "L2Ball", np.float64)],
    indirect=["to"],
)
def test_x_comes_back_as_what_went_in(to, dtype, name):
    constraint, shape = SETS[name]
    x0 = to(np.zeros(shape, dtype))
    for start in (x0, None):
        objective = problem(to, shape, dtype)
        result = bsfw.minimize(objective, constraint, x0=start, max_iter=5, max_rounds=3)
        assert type(result.x) is type(x0)
        assert result.x.dtype == x0.dtype
        assert _arrays.kind(result.x) == _arrays.kind(x0)
        assert tuple(result.x.shape) == shape
        assert all(type(result[field]) is float for field in ("fun", "gap", "seconds"))
        assert np.isfinite(result.trace["value"]).all()
        assert result.fun < result.trace["value"][0]
        assert "e" in repr(result)


@foreign
def test_the_kind_comes_from_x0_where_the_objective_takes_any(to):
    for dtype in (np.float32, np.float64):
        x0 = to(np.zeros(12, dtype))
        objective = bsfw.Function(lambda x: (x * x).sum() - x.sum(), lambda x: 2 * x - 1)
        assert objective.like is None
        result = bsfw.minimize(objective, bsfw.L2Ball(1.0), x0=x0, max_iter=4)
        assert type(result.x) is type(x0)
        assert result.x.dtype == x0.dtype
        np.testing.assert_array_equal(_arrays.host(x0), np.zeros(12))


def test_a_tensor_that_requires_a_gradient_is_taken_out_of_its_graph():
    torch = pytest.importorskip("torch")
    x0 = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    target = torch.ones(6, dtype=torch.float64, requires_grad=True)

    def jac(x):
        x = x.clone().requires_grad_()
        ((x - target) ** 2).sum().backward()
        return x.grad

    objective = bsfw.Function(lambda x: ((x - target) ** 2).sum(), jac)
    result = bsfw.minimize(objective, bsfw.L2Ball(1.0), x0=x0, max_iter=5)
    assert not result.x.requires_grad
    assert result.fun < 6.0
    attached = bsfw.Function(lambda x: 0.0, lambda x: 2 * (x - target), like=target.detach())
    assert not attached.gradient(x0).requires_grad
    conjugate = (target.detach() + 2j).conj()  # a view, until somebody computes with it
    np.testing.assert_array_equal(_arrays.host(conjugate), np.full(6, 1 - 2j))


@pytest.fixture
def host_copies(to, monkeypatch):
    """The ways from a device to the host that arrays of more than a few numbers take while the test runs.

    A tensor in the memory of the host is looked at where it is; here it has to behave as one on a device.
    """
    copies = []
    monkeypatch.setattr(_array_boost, "in_host_memory", lambda tensor: False)

    def watched(way, original):
        def copy(value, *args, **kwargs):
            if _arrays.is_foreign(value) and np.prod(tuple(value.shape)) > 8:
                copies.append(way)
            return original(value, *args, **kwargs)

        return copy

    array_type = type(to(np.zeros(1)))
    for owner, ways in ((array_type, ("__array__", "numpy", "tolist", "cpu")), (np, ("asarray", "array"))):
        for way in ways:  # NumPy reads JAX arrays through a buffer that cannot be watched: so its own doors are
            if hasattr(owner, way):
                monkeypatch.setattr(owner, way, watched(way, getattr(owner, way)))
    return copies


@pytest.mark.parametrize(
    ("to", "name", "estimator"),
    [("torch", name, bsfw.SAGA(5)) for name in SETS]
    + [("torch", "L2Ball", e) for e in ESTIMATORS if e.name != "saga"]
    + [("jax", name, bsfw.SAGA(5)) for name in ("L1Ball", "L2Ball", "SpectralBall")],
    indirect=["to"],
    ids=str,
)
def test_nothing_but_a_few_numbers_is_copied_to_the_host_in_the_loop(to, name, estimator, host_copies):
    constraint, shape = SETS[name]
    solver = Solver(problem(to, shape), constraint, estimator, horizon=4, max_rounds=4)
    state = solver.init(rng=0)
    host_copies.clear()  # whether the origin lies in C is asked on the host, once
    for _ in range(4):
        solver.step(state)
    solver.exact_gap(state)
    assert host_copies == []
    _arrays.host(state.x)
    assert host_copies != []


@every
def test_batches_are_numpy_indices(to):
    checks = []
    objective = problem(to, (12,), checks=checks)
    bsfw.minimize(objective, bsfw.L2Ball(0.5), estimator=bsfw.SAGA(4), max_iter=3, rng=0)
    assert {(kind, dtype.kind) for _, kind, dtype in checks} == {(np.ndarray, "i")}
    assert {kind for kind, _, _ in checks} == {type(to(np.zeros(1)))}


@every
def test_vertices_add_to_arrays_of_every_kind(to):
    rng = np.random.default_rng(0)
    vertices = [
        OneHot(4, 2.5, (3, 2)),
        Sparse(np.array([1, 5]), np.array([1.5, -2.0]), (3, 2)),
        Sparse(np.array([1, 5]), to(np.array([1.5, -2.0])), (3, 2)),
        RankOne(-1.5, to(rng.standard_normal(3)), to(rng.standard_normal(2))),
        RankOne(-1.5, rng.standard_normal(3), rng.standard_normal(2)),
        Dense(to(rng.standard_normal((3, 2)))),
        Dense(rng.standard_normal((3, 2))),
    ]
    x = rng.standard_normal((3, 2))
    weights = np.full(len(vertices), 1 / len(vertices)).tolist()
    for vertex in vertices:
        assert type(vertex.dense()) is np.ndarray
        found = vertex.add_to(to(x.copy()), 0.5)
        np.testing.assert_allclose(_arrays.host(found), x + 0.5 * vertex.dense(), rtol=1e-14)
        assert vertex.inner(to(x)) == pytest.approx(_arrays.inner(vertex.dense(), x), rel=1e-13)
        assert vertex.norm_squared() == pytest.approx(_arrays.norm(vertex.dense()) ** 2, rel=1e-13)
    before = to(x)
    moved = move(before, 0.25, vertices, weights)
    assert type(moved) is type(before)
    np.testing.assert_array_equal(_arrays.host(before), x)
    expected = 0.75 * x + 0.25 * sum(w * v.dense() for w, v in zip(weights, vertices, strict=True))
    np.testing.assert_allclose(_arrays.host(moved), expected, atol=1e-14)


@foreign
def test_zero_directions_and_the_generic_boost_agree(to):
    rng = np.random.default_rng(4)
    for name, dtype in [("L2Ball", float), ("LpBall, p = 3", complex), ("LinfBall", complex), ("Ellipsoid", float)]:
        constraint, shape = SETS[name]
        zero = np.zeros(shape, dtype)
        np.testing.assert_allclose(
            constraint.lmo(to(zero)).dense(dtype), constraint.lmo(zero).dense(), atol=1e-14, err_msg=name
        )
        m = rng.standard_normal(shape).astype(dtype)
        found, expected = (boost(a(m), a(zero), constraint.lmo, 6, 1e-3) for a in (to, np.array))
        assert found.rounds == expected.rounds, name
        np.testing.assert_allclose(_arrays.host(found.dense(to(zero))), expected.dense(zero), atol=1e-12, err_msg=name)
    for name in ("SpectralBall", "NuclearBall"):  # any isometry, any unit vectors
        constraint, shape = SETS[name]
        assert constraint.violation(constraint.lmo(to(np.zeros(shape))).dense()) < 1e-12


@every
@pytest.mark.parametrize("estimator", [bsfw.SAGA(5), bsfw.LSVRG(5)], ids=lambda e: e.name)
def test_a_checkpoint_goes_on_to_the_same_bits(to, tmp_path, estimator):
    constraint, shape = SETS["L2Ball"]
    objective, path = problem(to, shape), tmp_path / "run.npz"
    options = dict(estimator=estimator, rng=5, max_rounds=3, decay="inverse-sqrt")
    whole = bsfw.minimize(objective, constraint, max_iter=30, **options)
    bsfw.minimize(objective, constraint, max_iter=12, checkpoint=path, **options)
    resumed = bsfw.resume(path, objective, constraint, max_iter=30)
    assert type(resumed.x) is type(whole.x)
    np.testing.assert_array_equal(_arrays.host(resumed.x), _arrays.host(whole.x))
    assert resumed.fun == whole.fun
    assert resumed.sample_gradients == whole.sample_gradients


@foreign
def test_a_run_can_go_on_with_another_kind_of_array(to, tmp_path):
    constraint, shape = SETS["L2Ball"]
    path = tmp_path / "run.npz"
    options = dict(estimator=bsfw.SAGA(5), rng=5, max_rounds=3, decay="inverse-sqrt")
    expected = bsfw.minimize(problem(np.array, shape), constraint, max_iter=20, **options)
    bsfw.minimize(problem(np.array, shape), constraint, max_iter=8, checkpoint=path, **options)
    resumed = bsfw.resume(path, problem(to, shape), constraint, max_iter=14)
    assert type(resumed.x) is type(to(np.zeros(1)))
    back = bsfw.resume(path, problem(np.array, shape), constraint, max_iter=20)
    assert type(back.x) is np.ndarray
    np.testing.assert_allclose(back.x, expected.x, atol=1e-12)


@foreign
def test_a_checkpoint_of_functions_that_do_not_say_their_kind_asks_for_it(to, tmp_path):
    constraint, shape = SETS["L2Ball"]
    path = tmp_path / "run.npz"
    bsfw.minimize(problem(to, shape, like=False), constraint, x0=to(np.zeros(shape)), max_iter=3, checkpoint=path)
    with pytest.raises(ValueError, match=r"arrays of (torch|jax) on cpu.*like=array"):
        bsfw.resume(path, problem(to, shape, like=False), constraint, max_iter=5)
    result = bsfw.resume(path, problem(to, shape), constraint, max_iter=5)
    assert type(result.x) is type(to(np.zeros(1)))


@foreign
def test_what_does_not_fit_is_refused_in_a_sentence(to):
    objective = problem(to, (12,))
    with pytest.raises(ValueError, match=r"the oracle of ConvexHull works on NumPy arrays only.*(torch|jax) on cpu"):
        bsfw.minimize(objective, bsfw.ConvexHull(np.eye(12)), max_iter=2)
    with pytest.raises(ValueError, match=r"x0 is an array of numpy, but Function computes with arrays of (torch|jax)"):
        bsfw.minimize(objective, bsfw.L2Ball(1.0), x0=np.zeros(12), max_iter=2)
    data = np.random.default_rng(0).standard_normal((20, 12))
    with pytest.raises(ValueError, match=r"x0 is an array of (torch|jax) on cpu.*but LeastSquares computes with"):
        bsfw.minimize(bsfw.LeastSquares(data, data[:, 0]), bsfw.L1Ball(1.0), x0=to(np.zeros(12)), max_iter=2)
    with pytest.raises(ValueError, match="x0 is real, but the variable is complex"):
        bsfw.minimize(problem(to, (12,), complex), bsfw.L2Ball(1.0), x0=to(np.zeros(12)), max_iter=2)
    with pytest.raises(ValueError, match="x0 has 1 entries that are NaN or infinite, out of 12"):
        bsfw.minimize(objective, bsfw.L2Ball(1.0), x0=to(np.where(np.arange(12) == 3, np.nan, 0.0)), max_iter=2)
    with pytest.raises(ValueError, match="x0 lies outside of"):
        bsfw.minimize(objective, bsfw.L2Ball(1.0), x0=to(np.ones(12)), max_iter=2)
    with pytest.raises(ValueError, match=r"jac must return an array of the kind of x .*convert it"):
        bsfw.Function(lambda x: 0.0, lambda x: np.zeros(3)).gradient(to(np.zeros(3)))
    with pytest.raises(ValueError, match=r"jac must return an array of shape \(3,\)"):
        bsfw.Function(lambda x: 0.0, lambda x: x[:2]).gradient(to(np.zeros(3)))
    with pytest.raises(ValueError, match="fun must return one real number"):
        bsfw.Function(lambda x: x).value(to(np.zeros(3)))


@foreign
def test_a_gradient_that_is_not_finite_ends_the_run(to):
    objective = bsfw.Function(lambda x: (x * x).sum(), lambda x: x / 0.0, like=to(np.zeros(1)))
    result = bsfw.minimize(objective, bsfw.L2Ball(1.0), x0=to(np.full(3, 0.1)), max_iter=3)
    assert result.status is bsfw.Status.NUMERICAL_FAILURE


@every
def test_digests_and_inner_products_know_every_kind(to):
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4)) for _ in range(2))
    assert _arrays.digest(to(a), 1) == _arrays.digest(a, 1)
    assert _arrays.inner(to(a), to(b)) == pytest.approx(np.vdot(a, b).real, rel=1e-13)
    assert _arrays.norm(to(a)) == pytest.approx(np.linalg.norm(a), rel=1e-14)
    assert _arrays.is_complex(to(a).dtype)
    assert not _arrays.is_complex(to(a.real).dtype)


def test_numpy_runs_import_neither_torch_nor_jax_nor_their_namespaces():
    code = (
        "import sys, numpy as np, bsfw\n"
        "bsfw.minimize(lambda x: x @ x, bsfw.L2Ball(1.0), jac=lambda x: 2 * x, x0=np.zeros(3), max_iter=3)\n"
        "print(sorted({'torch', 'jax', 'array_api_compat'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
