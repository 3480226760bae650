"""`bsfw.jax`: oracles, Boost and whole runs as pure functions, equal to those on NumPy arrays."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

import bsfw
from bsfw.boosting import boost

M, N = 40, 12
RNG = np.random.default_rng(0)
A, Y = RNG.standard_normal((M, N)), RNG.standard_normal(M)
SETS = {
    "l1": (bsfw.L1Ball(0.5), (12,)),
    "l1 rows": (bsfw.L1Ball(0.5, rows=True), (3, 4)),
    "simplex": (bsfw.Simplex(1.0), (12,)),
    "k-sparse": (bsfw.KSparse(3, 0.2), (12,)),
    "spectral": (bsfw.SpectralBall(0.3), (3, 4)),
    "nuclear": (bsfw.NuclearBall(0.5), (3, 4)),
}


def data():
    return jnp.asarray(A), jnp.asarray(Y)


def loss(x, batch):
    rows, targets = batch
    return ((rows @ x.reshape(-1) - targets) ** 2).mean() / 2


def numpy_function(shape):
    return bsfw.Function(
        lambda x: float(((A @ x.reshape(-1) - Y) ** 2).mean() / 2),
        lambda x: (A.T @ (A @ x.reshape(-1) - Y) / M).reshape(x.shape),
        shape=shape,
        quasar_rho=1.0,
    )


@pytest.mark.parametrize("name", SETS)
def test_a_run_is_that_on_numpy_arrays(name):
    constraint, shape = SETS[name]
    start = constraint.lmo(RNG.standard_normal(shape)).dense()
    expected = bsfw.minimize(numpy_function(shape), constraint, x0=start, max_rounds=4, max_iter=20)
    fw = bsfw.jax.FrankWolfe(loss, constraint, data=data(), max_rounds=4, quasar_rho=1.0)
    found = fw.run(jnp.asarray(start), 20)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-10)
    assert float(found.gap) == pytest.approx(expected.gap, rel=1e-6)
    assert float(found.fun) == pytest.approx(expected.fun, rel=1e-10)
    assert int(found.lmo_calls) == expected.lmo_calls
    assert int(found.iterations) == 20
    state = fw.init(jnp.asarray(start))
    for _ in range(20):
        state = fw.update(state)
    np.testing.assert_allclose(state.x, expected.x, atol=1e-10)
    np.testing.assert_allclose(found.gaps[19], state.gap, rtol=1e-6)


def test_oracle_and_boost_are_pure_and_those_of_the_package():
    constraint = {"w": bsfw.SpectralBall(0.3), "b": bsfw.L1Ball(0.5)}
    flat = bsfw.Product([(bsfw.L1Ball(0.5), 4), (bsfw.SpectralBall(0.3), (2, 3))])  # leaves in the order of JAX: b, w
    m = RNG.standard_normal(10)
    x = 0.5 * flat.lmo(RNG.standard_normal(10)).dense()

    def tree(v):
        return {"b": jnp.asarray(v[:4]), "w": jnp.asarray(v[4:]).reshape(2, 3)}

    vertex = jax.jit(lambda g: bsfw.jax.lmo(constraint, g))(tree(m))
    np.testing.assert_allclose(np.concatenate([vertex["b"], vertex["w"].reshape(-1)]), flat.lmo(m).dense(), atol=1e-13)
    direction, found = jax.jit(lambda m, x: bsfw.jax.boost(constraint, m, x, 6, 1e-3))(tree(m), tree(x))
    expected = boost(m, x, flat.lmo, 6, 1e-3)
    np.testing.assert_allclose(
        np.concatenate([direction["b"], direction["w"].reshape(-1)]), expected.dense(x), atol=1e-12
    )
    assert int(found["rounds"]) == expected.rounds
    assert float(found["gap"]) == pytest.approx(expected.gap)


@pytest.mark.parametrize(
    "estimator",
    [bsfw.HeavyBall(8), bsfw.SARAH(8), bsfw.LSVRG(8), bsfw.SAGA(8), bsfw.SARAH(8, 1.0), bsfw.SAGA(M)],
    ids=str,
)
def test_estimators_converge_in_the_loop_and_stay_feasible(estimator):
    constraint = bsfw.L1Ball(0.5)
    best = bsfw.minimize(numpy_function((12,)), constraint, max_iter=2000).fun
    fw = bsfw.jax.FrankWolfe(loss, constraint, data=data(), estimator=estimator, max_rounds=5, quasar_rho=1.0)
    run = fw.run(jnp.zeros(12), 800, key=jax.random.key(3))
    assert constraint.violation(np.asarray(run.x)) < 1e-12
    assert float(run.fun) - best < (0.02 if estimator.name == "heavy-ball" else 2e-3)
    assert float(run.fun) - best <= float(run.gap) + 1e-12  # the exact gap bounds the error of a convex f
    again = fw.run(jnp.zeros(12), 800, key=jax.random.key(3))
    np.testing.assert_array_equal(run.x, again.x)
    other = fw.run(jnp.zeros(12), 800, key=jax.random.key(4))
    if not (estimator.batch(M) == M or getattr(estimator, "probability", None) == 1.0):
        assert not np.array_equal(run.x, other.x)


def test_a_pytree_runs_like_the_product_of_its_sets():
    constraint = {"w": bsfw.NuclearBall(0.5), "b": bsfw.L1Ball(0.3)}
    flat = bsfw.Product([(bsfw.L1Ball(0.3), 6), (bsfw.NuclearBall(0.5), (2, 3))])  # leaves in the order of JAX: b, w

    def joined(x, batch):
        return loss(jnp.concatenate([x["b"], x["w"].reshape(-1)]), batch)

    options = dict(data=data(), estimator=bsfw.SARAH(8), max_rounds=3, quasar_rho=1.0)
    x0 = {"w": jnp.zeros((2, 3)), "b": jnp.zeros(6)}
    found = bsfw.jax.FrankWolfe(joined, constraint, **options).run(x0, 15, key=jax.random.key(1))
    expected = bsfw.jax.FrankWolfe(loss, flat, **options).run(jnp.zeros(12), 15, key=jax.random.key(1))
    np.testing.assert_allclose(np.concatenate([found.x["b"], found.x["w"].reshape(-1)]), expected.x, atol=1e-9)
    assert float(found.gap) == pytest.approx(float(expected.gap), rel=1e-6)


def test_batches_of_all_samples_give_the_exact_run():
    exact = bsfw.jax.FrankWolfe(loss, bsfw.L1Ball(0.5), data=data(), max_rounds=3, decay=lambda t: 2 / (t + 2.0))
    expected = exact.run(jnp.zeros(12), 15)
    for estimator in (bsfw.SAGA(M), bsfw.LSVRG(M), bsfw.SARAH(M), bsfw.SARAH(5, 1.0)):
        fw = bsfw.jax.FrankWolfe(
            loss, bsfw.L1Ball(0.5), data=data(), estimator=estimator, max_rounds=3, decay=lambda t: 2 / (t + 2.0)
        )
        np.testing.assert_allclose(fw.run(jnp.zeros(12), 15).x, expected.x, atol=1e-10, err_msg=str(estimator))


def test_one_program_solves_for_many_radii_and_seeds():
    fw = bsfw.jax.FrankWolfe(loss, bsfw.L1Ball(1.0), data=data(), max_rounds=5, quasar_rho=1.0)
    radii = jnp.array([0.1, 0.5, 2.0])
    many = jax.vmap(lambda r: fw.run(jnp.zeros(12), 50, scale=r))(radii)
    for i, radius in enumerate(radii):
        one = bsfw.jax.FrankWolfe(loss, bsfw.L1Ball(float(radius)), data=data(), max_rounds=5, quasar_rho=1.0)
        np.testing.assert_allclose(many.x[i], one.run(jnp.zeros(12), 50).x, atol=1e-9)
    assert (np.abs(many.x).sum(1) <= radii * (1 + 1e-12)).all()
    noisy = bsfw.jax.FrankWolfe(loss, bsfw.L1Ball(1.0), data=data(), estimator=bsfw.SARAH(5), max_rounds=2)
    keys = jax.random.split(jax.random.key(0), 3)
    seeds = jax.vmap(lambda k: noisy.run(jnp.zeros(12), 20, key=k).x)(keys)
    np.testing.assert_allclose(seeds[1], noisy.run(jnp.zeros(12), 20, key=keys[1]).x, atol=1e-10)
    assert not np.array_equal(seeds[0], seeds[1])


@pytest.mark.parametrize("estimator", [None, bsfw.LSVRG(10)], ids=str)
def test_a_run_ends_once_the_exact_gap_is_reached(estimator):
    fw = bsfw.jax.FrankWolfe(loss, bsfw.L1Ball(0.5), data=data(), estimator=estimator, quasar_rho=1.0, max_rounds=5)
    run = fw.run(jnp.zeros(12), 2000, gap_tol=1e-2)
    assert 0 < int(run.iterations) < 2000
    assert float(run.gap) <= 1e-2
    if estimator is None:
        assert float(run.gaps[int(run.iterations) - 1]) > 1e-2
    assert np.isnan(run.gaps[int(run.iterations) :]).all()


@pytest.mark.single
def test_single_precision_stays_single():
    fw = bsfw.jax.FrankWolfe(lambda x: ((x - 1.0) ** 2).sum(), bsfw.L1Ball(0.5), max_rounds=3)
    run = fw.run(jnp.zeros(5), 30)
    assert {leaf.dtype for leaf in (run.x, run.fun, run.gap, run.state.m)} == {np.dtype("float32")}
    assert bsfw.L1Ball(0.5).violation(np.asarray(run.x)) < 1e-6


def test_a_decay_is_that_of_the_package():
    from bsfw.decays import DECAYS
    from bsfw.jax.estimates import eta

    values = {"rho": 0.7, "horizon": 10, "nu": 5.0, "d": 3.0, "power": 4.0}
    for kind in DECAYS.values():
        decay = kind(**{name: values[name] for name in kind.__dataclass_fields__})
        found = jax.vmap(lambda t, decay=decay: eta(decay, t) + 0.0 * t)(jnp.arange(20))
        np.testing.assert_allclose(found, [decay(t) for t in range(20)], rtol=1e-12, err_msg=kind.__name__)


def test_what_does_not_fit_is_refused_in_a_sentence():
    fw = bsfw.jax.FrankWolfe(loss, bsfw.L1Ball(0.5), data=data())
    with pytest.raises(ValueError, match="x0 lies outside of L1Ball"):
        fw.run(jnp.ones(12), 5)
    with pytest.raises(ValueError, match="one set for each leaf"):
        fw.run({"a": jnp.zeros(3), "b": jnp.zeros(3)}, 5)
    with pytest.raises(ValueError, match="works on NumPy arrays only"):
        bsfw.jax.lmo(bsfw.ConvexHull(np.eye(3)), jnp.zeros(3))
    with pytest.raises(TypeError, match="must be a set"):
        bsfw.jax.lmo(3.0, jnp.zeros(3))
    with pytest.raises(ValueError, match=r"the compiled loop knows .* SAGA"):
        bsfw.jax.FrankWolfe(loss, bsfw.L1Ball(1.0), data=data(), estimator=bsfw.SEGA(3))
    with pytest.raises(ValueError, match="draws batches; give data="):
        bsfw.jax.FrankWolfe(loss, bsfw.L1Ball(1.0), estimator=bsfw.SAGA(3))
    with pytest.raises(ValueError, match="real variables"):
        bsfw.jax.lmo(bsfw.L2Ball(1.0), jnp.zeros(3, complex))
