"""`minimize` on JAX functions, the optax form, and the Optimistix form."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

import bsfw
from bsfw.engines import engine_type
from bsfw.plan import make_plan
from bsfw.solver import Solver

RNG = np.random.default_rng(0)
A, Y = RNG.standard_normal((30, 12)), RNG.standard_normal(30)


def function(to, shape=(12,), **options):
    a, y = to(A), to(Y)

    def jac(x):
        return (a.T @ (a @ x.reshape(-1) - y) / 30).reshape(x.shape)

    return bsfw.Function(
        lambda x: ((a @ x.reshape(-1) - y) ** 2).mean() / 2, jac, shape=shape, quasar_rho=1.0, like=a, **options
    )


@pytest.mark.parametrize(
    ("constraint", "shape"),
    [(bsfw.L1Ball(0.5), (12,)), (bsfw.NuclearBall(0.5), (3, 4)), (bsfw.LinfBall(0.1), (12,)), (bsfw.Simplex(), (12,))],
    ids=str,
)
def test_minimize_gives_the_results_of_numpy(constraint, shape):
    options = dict(max_rounds=4, max_iter=20, record_every=6)
    expected = bsfw.minimize(function(np.array, shape), constraint, **options)
    found = bsfw.minimize(function(jnp.asarray, shape), constraint, **options)
    assert found.engine == "jax"
    np.testing.assert_allclose(found.x, expected.x, atol=1e-11)
    for name in ("nit", "njev", "lmo_calls", "sample_gradients", "boosting_percentage"):
        assert found[name] == expected[name], name
    for column in ("iteration", "lmo_calls", "eta", "rounds"):
        np.testing.assert_array_equal(found.trace[column], expected.trace[column])
    np.testing.assert_allclose(found.trace["value"], expected.trace["value"], rtol=1e-9)
    np.testing.assert_allclose(found.trace["gap"], expected.trace["gap"], rtol=1e-6)


@pytest.mark.parametrize(
    "limit", [{"gap_tol": 1e-2}, {"max_lmo_calls": 100}, {"max_gradients": 37}, {"max_iter": 77}], ids=str
)
def test_minimize_ends_where_numpy_ends(limit):
    options = {"max_rounds": 5, "max_iter": 300, **limit}
    expected = bsfw.minimize(function(np.array), bsfw.L1Ball(0.5), **options)
    found = bsfw.minimize(function(jnp.asarray), bsfw.L1Ball(0.5), **options)
    assert (found.status, found.nit, found.njev, found.lmo_calls) == (
        expected.status, expected.nit, expected.njev, expected.lmo_calls,
    )  # fmt: skip


def test_a_gradient_that_is_not_finite_ends_the_run_where_it_is():
    def jac(x):
        return jnp.where(x.sum() > -0.3, 1.0, jnp.nan) * jnp.ones(3)

    result = bsfw.minimize(
        bsfw.Function(lambda x: x.sum(), jac, like=jnp.zeros(3)), bsfw.L1Ball(1.0), x0=jnp.zeros(3), max_iter=200,
        record_every=200, max_rounds=1, decay=lambda t: 0.1,
    )  # fmt: skip
    assert result.engine == "jax"
    assert result.status is bsfw.Status.NUMERICAL_FAILURE
    assert result.nit == 4  # after 4 steps of a tenth towards -1 the sum is -0.34


def test_a_run_goes_on_from_a_checkpoint(tmp_path):
    objective, constraint, path = function(jnp.asarray), bsfw.L1Ball(0.5), tmp_path / "run.npz"
    whole = bsfw.minimize(objective, constraint, max_iter=40, max_rounds=3)
    bsfw.minimize(objective, constraint, max_iter=15, max_rounds=3, checkpoint=path)
    resumed = bsfw.resume(path, objective, constraint, max_iter=40)
    assert resumed.engine == "jax"
    np.testing.assert_allclose(resumed.x, whole.x, atol=1e-12)
    assert resumed.njev == whole.njev


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (dict(estimator=bsfw.HeavyBall(5)), "draws on the host"),
        (dict(step="line-search"), "step='paper'"),
        (dict(constraint=bsfw.Ellipsoid(np.zeros(12), np.eye(12))), "no formula"),
        (dict(jac=lambda x: jnp.asarray(np.asarray(x))), "jac needs the host: JAX cannot trace it"),
        (dict(jac=lambda x: x[:3]), r"must return a JAX array of shape \(12,\)"),
        (dict(like=np.zeros(12)), "computes with JAX arrays"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_needs_the_host_is_left_to_the_reference_engine(changed, reason):
    given = (
        dict(constraint=bsfw.L1Ball(1.0), estimator=None, step="auto", jac=lambda x: x, like=jnp.zeros(12)) | changed
    )
    objective = bsfw.Function(
        lambda x: (x * x).sum() / 2, given["jac"], shape=12, like=given["like"], n_samples=10,
        batch_jac=lambda x, batch: x,
    )  # fmt: skip
    plan = make_plan(objective, given["constraint"], given["estimator"], step=given["step"])
    assert engine_type(plan).name == "reference"
    with pytest.raises(ValueError, match=reason):
        Solver(objective, given["constraint"], given["estimator"], step=given["step"], engine="jax")


def test_the_optax_form_keeps_the_parameters_in_their_sets():
    optax = pytest.importorskip("optax")
    sets = {"w": bsfw.SpectralBall(0.5), "b": bsfw.L1Ball(1.0)}
    params = {"w": jnp.zeros((4, 3)), "b": jnp.zeros(4)}
    target = {"w": jnp.ones((4, 3)), "b": jnp.arange(4.0)}

    def loss(p):
        return sum(((p[k] - target[k]) ** 2).sum() for k in p)

    schedule = optax.linear_schedule(1.5, 0.0, 60)  # begins above 1, which is clipped
    chain = optax.chain(optax.clip_by_global_norm(1.0), bsfw.jax.frank_wolfe(schedule, sets, max_rounds=3))
    state = chain.init(params)

    @jax.jit
    def step(params, state):
        updates, state = chain.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), state

    first = loss(params)
    for _ in range(60):
        params, state = step(params, state)
        for name, block in sets.items():
            assert block.violation(np.asarray(params[name])) < 1e-12
    assert loss(params) < 0.8 * first
    plain = bsfw.jax.frank_wolfe(0.5, sets)
    with pytest.raises(ValueError, match="update\\(grads, state, params\\)"):
        plain.update(params, plain.init(params))
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 1.5"):
        bsfw.jax.frank_wolfe(1.5, sets)


def test_the_optax_form_takes_the_steps_of_the_torch_optimizer():
    torch = pytest.importorskip("torch")
    constraint = bsfw.NuclearBall(1.0)
    x, p = jnp.zeros((4, 3)), torch.nn.Parameter(torch.zeros((4, 3), dtype=torch.float64))
    form = bsfw.jax.frank_wolfe(0.3, constraint, momentum=0.7, max_rounds=3)
    state = form.init(x)
    opt = bsfw.torch.FrankWolfe([p], constraint, lr=0.3, momentum=0.7, max_rounds=3)
    for _ in range(5):
        g = RNG.standard_normal((4, 3))
        updates, state = form.update(jnp.asarray(g), state, x)
        x = x + updates
        p.grad = torch.from_numpy(g)
        opt.step()
        np.testing.assert_allclose(x, p.detach().numpy(), atol=1e-10)


def test_the_optimistix_form_stops_at_the_gap():
    optx = pytest.importorskip("optimistix")
    from bsfw.jax.minimiser import BoostedFrankWolfe

    a, y = jnp.asarray(A), jnp.asarray(Y)

    def fn(x, args):
        return ((a @ x - y) ** 2).mean() / 2

    solution = optx.minimise(fn, BoostedFrankWolfe(bsfw.L1Ball(0.5), atol=1e-3), jnp.zeros(12), max_steps=2000)
    assert bsfw.L1Ball(0.5).violation(np.asarray(solution.value)) < 1e-12
    assert float(solution.stats["gap"]) <= 1e-3
    gradient = jax.grad(fn)(solution.value, None)
    vertex = bsfw.jax.lmo(bsfw.L1Ball(0.5), gradient)
    assert float(gradient @ (solution.value - vertex)) == pytest.approx(float(solution.stats["gap"]), rel=1e-6)
