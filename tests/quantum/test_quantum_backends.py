"""The same objective on PyTorch and JAX arrays, which it neither copies to the host nor changes."""

import numpy as np
import pytest

import bsfw
from bsfw.quantum import ProcessTomography


@pytest.fixture(params=["torch", "jax"])
def zeros(request):
    """Makes an empty complex array of one kind, in double precision."""
    module = pytest.importorskip(request.param, reason=f"{request.param} is an extra")
    if request.param == "torch":
        yield lambda: module.zeros(0, dtype=module.complex128)
        return
    before = module.config.jax_enable_x64
    module.config.update("jax_enable_x64", True)
    yield lambda: module.numpy.zeros(0, dtype=complex)
    module.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("rank", [1, 2])
def test_values_gradients_and_meaning_agree_with_numpy(zeros, rank):
    like = zeros()
    ours = ProcessTomography.random(2, 0.1, rng=1, rank=rank, like=like)
    known = ProcessTomography.random(2, 0.1, rng=1, rank=rank)
    x, y, batch = ours.start(0), known.start(0), np.arange(0, 576, 5)
    for made in (x, ours.gradient(x), ours.batch_gradient(x, batch), ours.sample_gradients(x, batch), ours.kraus(x)):
        assert type(made) is type(like)
        assert made.dtype == like.dtype
    assert ours.value(x) == pytest.approx(known.value(y), rel=1e-12)
    for name in ("gradient", "coefficients", "kraus"):
        np.testing.assert_allclose(np.asarray(getattr(ours, name)(x)), getattr(known, name)(y), atol=1e-12)
    for name in ("batch_gradient", "sample_gradients"):
        np.testing.assert_allclose(
            np.asarray(getattr(ours, name)(x, batch)), getattr(known, name)(y, batch), atol=1e-11
        )
    assert ours.fidelity_as_is(x) == pytest.approx(known.fidelity_as_is(y), rel=1e-12)
    assert ours.fingerprint() == known.fingerprint()
    assert ours.smoothness(2.0) == pytest.approx(known.smoothness(2.0))


def test_measurements_decide_the_kind_of_array(zeros):
    made = ProcessTomography.random(1, 0.1, rng=1, like=zeros())
    again = ProcessTomography.from_measurements(made.frequencies.reshape(-1))
    assert type(again.start(0)) is type(made.frequencies)
    assert again.fingerprint() == made.fingerprint()


def test_single_precision_stays_single():
    torch = pytest.importorskip("torch", reason="torch is an extra")
    problem = ProcessTomography.random(2, 0.1, rng=1, like=torch.zeros(0, dtype=torch.float32))
    x = problem.start(0)
    assert problem.dtype == np.complex64
    assert problem.gradient(x).dtype == x.dtype == torch.complex64
    known = ProcessTomography.random(2, 0.1, rng=1)
    np.testing.assert_allclose(problem.gradient(x).numpy(), known.gradient(known.start(0)), atol=1e-3)
    assert ProcessTomography.from_measurements(known.frequencies.astype(np.float32)).dtype == np.complex64


@pytest.mark.parametrize("max_rounds", [1, 3])
def test_the_first_twenty_steps_are_those_of_numpy(zeros, max_rounds):
    """Only these: the trajectory is chaotic, and rounding grows to 0.1 within a hundred steps."""
    like = zeros()
    runs = []
    for kind in (like, None):
        problem = ProcessTomography.random(3, 0.05, rng=1, like=kind)
        points = []
        bsfw.minimize(
            problem, bsfw.SpectralBall(10.0), x0=problem.start(0), max_rounds=max_rounds, max_iter=20, record_every=1,
            decay="inverse-sqrt", callback=lambda result, points=points: points.append(result.x),
        )  # fmt: skip
        runs.append(points)
    assert type(runs[0][-1]) is type(like)
    np.testing.assert_allclose([np.asarray(x) for x in runs[0]], runs[1], atol=1e-7)
