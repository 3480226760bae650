"""`bsfw.torch.FrankWolfe`: the paper's step on weights, feasible always, and all the manners of a PyTorch optimizer."""

import copy
import io
import math
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import bsfw
import bsfw.torch
from bsfw.boosting import boost
from bsfw.steps import PaperStep
from bsfw.torch.optimizer import default_rounds, matrix_shape
from bsfw.torch.oracles import leading_pair, polar, stack_lmo
from bsfw.vertices import move

GROUPS = [[0, 3, 5], [1, 2], [4, 6, 7, 8], [9], [10, 11]]
SETS = {
    "l1": (bsfw.L1Ball(2.0), (3, 4)),
    "l1, weights": (bsfw.L1Ball(2.0, np.linspace(1.0, 2.0, 12).reshape(3, 4)), (3, 4)),
    "l1 rows": (bsfw.L1Ball(2.0, rows=True), (3, 4)),
    "l2 rows": (bsfw.Rows(bsfw.L2Ball(0.5)), (3, 4)),
    "l2": (bsfw.L2Ball(0.5), (12,)),
    "linf": (bsfw.LinfBall(0.2), (12,)),
    "lp": (bsfw.LpBall(3.0, 0.5), (12,)),
    "simplex": (bsfw.Simplex(1.0), (12,)),
    "solid simplex": (bsfw.Simplex(1.0, equality=False), (12,)),
    "box": (bsfw.Box(-0.1, 0.3), (3, 4)),
    "k-sparse": (bsfw.KSparse(3, 0.5), (3, 4)),
    "groups": (bsfw.GroupBall(GROUPS, 1.0), (12,)),
    "nuclear": (bsfw.NuclearBall(1.0), (3, 4)),
    "spectral": (bsfw.SpectralBall(0.5), (3, 4)),
    "convolution": (bsfw.SpectralBall(0.5), (3, 2, 2, 1)),
    "product": (bsfw.Product([(bsfw.L1Ball(0.5), 6), (bsfw.NuclearBall(0.5), (2, 3))]), (12,)),
}
every_set = pytest.mark.parametrize("name", SETS)


def weight(shape, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.Parameter(torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype))


def violation(constraint, p):
    shape = matrix_shape(constraint, tuple(p.shape))
    return constraint.violation(p.detach().double().reshape(shape).numpy())


def train(opt, weights, steps, seed=1):
    """Noisy gradients of a quadratic, so that m changes all the time."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        for p in weights:
            drawn = torch.randn(p.shape, generator=generator, dtype=torch.float64)
            p.grad = p.detach() - 1.0 + drawn.to(p.dtype)
        opt.step()


BY_PRODUCTS = ("spectral", "convolution")
"""Their polar factor is not that of the SVD, so that later rounds differ."""
STEPS = [(name, rounds) for name in SETS for rounds in (1, 2, 6) if rounds == 1 or name not in BY_PRODUCTS]


@pytest.mark.parametrize(("name", "rounds"), STEPS)
def test_steps_are_those_of_the_paper(name, rounds):
    constraint, shape = SETS[name]
    p = weight(shape)
    opt = bsfw.torch.FrankWolfe([p], constraint, lr=0.3, momentum=0.8, max_rounds=rounds, min_gain=1e-3)
    opt.init_()
    inner = matrix_shape(constraint, shape)
    x, m = p.detach().numpy().reshape(inner).copy(), None
    rng = np.random.default_rng(5)
    for _ in range(6):
        g = rng.standard_normal(inner)
        p.grad = torch.from_numpy(g.reshape(shape))
        opt.step()
        m = g if m is None else 0.8 * m + 0.2 * g
        direction = boost(m, x, constraint.lmo, rounds, 1e-3)
        step = PaperStep()(None, x, direction, 0.3)
        chosen = (direction.vertices, direction.weights) if step.boosted else ([direction.vertex], [1.0])
        x = move(x, step.length, *chosen)
        tolerance = 0.05 if isinstance(constraint, bsfw.SpectralBall) else 1e-10
        np.testing.assert_allclose(p.detach().numpy().reshape(inner), x, atol=tolerance)
        if tolerance < 1e-9:
            assert opt.gap() == [pytest.approx(direction.gap)]
        x = p.detach().numpy().reshape(inner).copy()


@pytest.mark.parametrize(
    ("name", "steps"),
    [(name, 10_000 if name in ("l1 rows", "linf", "spectral", "nuclear") else 500) for name in SETS],
)
def test_every_iterate_is_feasible_after_many_steps(name, steps):
    constraint, shape = SETS[name]
    p = weight(shape, torch.float32)
    opt = bsfw.torch.FrankWolfe([p], constraint, lr=0.05, max_rounds=2)
    opt.init_()
    worst = 0.0
    for k in range(20):
        train(opt, [p], steps // 20, seed=k)
        worst = max(worst, violation(constraint, p))
    assert worst <= 1e-6


@pytest.mark.parametrize("shape", [(300, 200), (40, 64, 3, 3), (64, 1)])
@pytest.mark.parametrize(
    "constraint", [bsfw.SpectralBall(3.0), bsfw.NuclearBall(5.0), bsfw.L1Ball(9.0), bsfw.LinfBall(0.1)], ids=str
)
def test_layers_of_real_size_are_feasible(constraint, shape):
    p = weight(shape, torch.float32)
    opt = bsfw.torch.FrankWolfe([p], constraint, lr=0.1)
    opt.init_()
    train(opt, [p], 30)
    assert violation(constraint, p) <= 1e-6


def test_the_polar_factor_stays_inside_and_is_nearly_the_best():
    generator = torch.Generator().manual_seed(0)
    for shape in [(1, 7, 7), (3, 20, 50), (2, 64, 16), (1, 5, 1)]:
        g = torch.randn(shape, generator=generator)
        for scale in (1e-18, 1.0, 1e18):
            found = polar(scale * g)
            values = torch.linalg.svdvals(found.double())
            assert values.max() <= 1 + 1e-6
            best = torch.linalg.svdvals(g.double()).sum(-1)
            assert ((found * g).sum((-2, -1)).double() >= 0.9 * best).all()
    low_rank = torch.randn(1, 30, 2, generator=generator) @ torch.randn(1, 2, 40, generator=generator)
    assert torch.linalg.svdvals(polar(low_rank).double()).max() <= 1 + 1e-6
    np.testing.assert_array_equal(polar(torch.zeros(1, 2, 3)), np.zeros((1, 2, 3)))  # and not NaN


def test_the_leading_pair_is_a_vertex_and_nearly_the_best():
    generator = torch.Generator().manual_seed(0)
    g = torch.randn((3, 80, 50), generator=generator, dtype=torch.float64)
    g += (
        3.0
        * torch.randn((3, 80, 1), generator=generator, dtype=torch.float64)
        @ torch.randn((3, 1, 50), generator=generator, dtype=torch.float64)
    )
    found = leading_pair(g)
    values = torch.linalg.svdvals(found)
    np.testing.assert_allclose(values[:, 0], 1.0, rtol=1e-12)
    assert values[:, 1].max() < 1e-12
    np.testing.assert_allclose((found * g).sum((-2, -1)), torch.linalg.svdvals(g)[:, 0], rtol=1e-6)
    assert torch.isfinite(leading_pair(torch.zeros(1, 40, 40))).all()


def test_default_rounds_are_those_measured():
    assert [default_rounds(c) for c in (bsfw.SpectralBall(1.0), bsfw.LinfBall(1.0), bsfw.Rows(bsfw.L2Ball(1.0)))] == [
        1
    ] * 3
    assert default_rounds(bsfw.NuclearBall(1.0)) == 5
    assert default_rounds(bsfw.L1Ball(1.0)) == 20
    assert default_rounds(bsfw.L1Ball(1.0, rows=True)) == 2


@pytest.mark.parametrize("name", ["l1", "nuclear", "spectral", "l1 rows"])
def test_stacking_changes_nothing(name):
    constraint, shape = SETS[name]
    runs = []
    for foreach in (True, False, None):
        weights = (
            [weight(shape, seed=i) for i in range(3)] + [weight((4, 3), seed=9)]
            if name != "l1"
            else [weight(shape, seed=i) for i in range(3)]
        )
        opt = bsfw.torch.FrankWolfe(weights, constraint, lr=0.2, max_rounds=3, foreach=foreach)
        opt.init_()
        train(opt, weights, 5)
        runs.append([p.detach().numpy() for p in weights])
    for other in runs[1:]:
        for a, b in zip(runs[0], other, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_maximize_ascends():
    down, up = weight((3, 4)), weight((3, 4))
    for p, sign in ((down, 1.0), (up, -1.0)):
        opt = bsfw.torch.FrankWolfe([p], bsfw.L1Ball(2.0), lr=0.2, maximize=sign < 0)
        opt.init_()
        for k in range(4):
            p.grad = sign * (p.detach() - 0.1 * k)
            opt.step()
    np.testing.assert_array_equal(down.detach(), up.detach())


def test_a_closure_is_called_with_gradients_and_its_loss_returned():
    p = weight((3, 4))
    opt = bsfw.torch.FrankWolfe([p], bsfw.L2Ball(1.0), lr=0.5)
    opt.init_()

    def closure():
        opt.zero_grad()
        loss = ((p - 1.0) ** 2).sum()
        loss.backward()
        return loss

    losses = [opt.step(closure).item() for _ in range(20)]
    assert losses[-1] < losses[0]
    assert opt.gap()[0] >= 0.0


@pytest.mark.parametrize("lr", [1.5, -0.1, math.nan])
def test_an_lr_that_would_leave_the_set_is_refused(lr):
    p = weight((3, 4))
    with pytest.raises(ValueError, match=r"lr is .* only for lr from 0 to 1"):
        bsfw.torch.FrankWolfe([p], bsfw.L2Ball(1.0), lr=lr)
    opt = bsfw.torch.FrankWolfe([p], bsfw.L2Ball(1.0), lr=0.1)
    opt.init_()
    p.grad = torch.ones_like(p)
    opt.param_groups[0]["lr"] = lr
    before = p.detach().clone()
    with pytest.raises(ValueError, match=r"lr is"):
        opt.step()
    np.testing.assert_array_equal(p.detach(), before)


def test_schedulers_work_and_one_that_asks_for_too_much_is_refused():
    p = weight((3, 4))
    opt = bsfw.torch.FrankWolfe([p], bsfw.L2Ball(1.0), lr=0.1)
    opt.init_()
    scheduler = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.9, total_steps=10)
    seen = []
    for _ in range(9):
        train(opt, [p], 1)
        scheduler.step()
        seen.append((opt.param_groups[0]["lr"], opt.param_groups[0]["momentum"]))
    assert max(lr for lr, _ in seen) > 0.8
    assert len({momentum for _, momentum in seen}) > 3
    too_much = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1.5, total_steps=10)

    def go_on():
        for _ in range(9):
            train(opt, [p], 1)
            too_much.step()

    with pytest.raises(ValueError, match="smaller max_lr"):
        go_on()
    assert violation(bsfw.L2Ball(1.0), p) <= 1e-6


def test_weights_outside_of_their_set_are_refused_until_they_are_moved_in():
    p = torch.nn.Parameter(torch.full((3, 4), 5.0))
    opt = bsfw.torch.FrankWolfe([p], bsfw.L1Ball(1.0))
    p.grad = torch.ones_like(p)
    with pytest.raises(ValueError, match=r"lies outside of L1Ball.*init_\(\)"):
        opt.step()
    opt.init_()
    opt.step()
    assert violation(bsfw.L1Ball(1.0), p) <= 1e-6


@every_set
def test_init_moves_in_and_leaves_alone_what_is_inside(name):
    constraint, shape = SETS[name]
    p = weight(shape, torch.float32)
    with torch.no_grad():
        p.mul_(100.0)
    opt = bsfw.torch.FrankWolfe([p], constraint)
    opt.init_()
    assert violation(constraint, p) <= 1e-6
    before = p.detach().clone()
    opt.init_()
    np.testing.assert_allclose(p.detach(), before, rtol=1e-6)
    assert p.detach().abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_saved_run_goes_on_to_the_same_bits(dtype):
    constraint = bsfw.NuclearBall(3.0)

    def fresh():
        p = weight((8, 6), dtype)
        opt = bsfw.torch.FrankWolfe([p], constraint, lr=0.01, max_rounds=3)
        opt.init_()
        return p, opt

    p, opt = fresh()
    train(opt, [p], 20, seed=1)
    train(opt, [p], 20, seed=2)
    q, half = fresh()
    train(half, [q], 20, seed=1)
    file = io.BytesIO()
    torch.save({"weight": q.detach(), "opt": half.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    r, resumed = fresh()
    with torch.no_grad():
        r.copy_(saved["weight"])
    resumed.load_state_dict(saved["opt"])
    for buffer in resumed.state[r].values():
        assert buffer.dtype == torch.float32
    train(resumed, [r], 20, seed=2)
    assert torch.equal(p, r)
    assert torch.equal(opt.state[p]["momentum"], resumed.state[r]["momentum"])


def test_small_steps_are_not_lost_in_bfloat16():
    """1e-3 of the way is below the rounding of bfloat16: without the float32 copy the weight would not move."""
    p = torch.nn.Parameter(torch.full((4, 4), 0.5, dtype=torch.bfloat16))
    opt = bsfw.torch.FrankWolfe([p], bsfw.LinfBall(1.0), lr=1e-3)
    for _ in range(2000):
        p.grad = -torch.ones_like(p)
        opt.step()
    assert p.detach().float().min() > 0.9
    with torch.no_grad():
        p.fill_(-0.25)  # somebody else writes into the weight: that counts
    p.grad = -torch.ones_like(p)
    opt.step()
    np.testing.assert_allclose(p.detach().float(), -0.25, atol=0.01)


def test_a_changed_radius_is_kept_and_said():
    p = weight((3, 4))
    saved = bsfw.torch.FrankWolfe([p], bsfw.L2Ball(1.0), lr=0.2).state_dict()
    opt = bsfw.torch.FrankWolfe([p], bsfw.L2Ball(2.0), lr=0.1)
    with pytest.warns(
        UserWarning, match=r"saved with the set L2Ball\(radius=1.0\).*L2Ball\(radius=2.0\), which is kept"
    ):
        opt.load_state_dict(saved)
    assert opt.param_groups[0]["constraint"].radius == 2.0
    assert opt.param_groups[0]["lr"] == 0.2
    same = bsfw.torch.FrankWolfe([p], bsfw.L2Ball(1.0), lr=0.1)
    same.load_state_dict(saved)  # no warning


def test_pickles_and_copies_go_on_alike():
    p = weight((3, 4))
    opt = bsfw.torch.FrankWolfe([p], bsfw.L1Ball(2.0), lr=0.1)
    opt.init_()
    train(opt, [p], 3)
    others = [pickle.loads(pickle.dumps(opt)), copy.deepcopy(opt)]
    train(opt, [p], 3, seed=4)
    for other in others:
        q = other.param_groups[0]["params"][0]
        train(other, [q], 3, seed=4)
        assert torch.equal(p, q)


def test_groups_have_sets_rounds_and_adamw():
    a, b, c = weight((3, 4)), weight((3, 4), seed=1), weight((5,), seed=2)
    opt = bsfw.torch.FrankWolfe(
        [
            {"params": [a], "constraint": bsfw.SpectralBall(3.0), "max_rounds": 1},
            {"params": [b], "constraint": bsfw.L1Ball(2.0)},
        ],
        lr=0.05,
    )
    opt.add_param_group({"params": [c], "constraint": None, "lr": 0.01})
    assert [g["max_rounds"] for g in opt.param_groups[:2]] == [1, 20]
    opt.init_()
    reference = torch.nn.Parameter(c.detach().clone())
    adamw = torch.optim.AdamW([reference], lr=0.01)
    for k in range(4):
        for p in (a, b, c, reference):
            p.grad = p.detach() - k
        opt.step()
        adamw.step()
    np.testing.assert_allclose(c.detach(), reference.detach(), rtol=1e-14)
    assert violation(bsfw.SpectralBall(3.0), a) <= 1e-6
    assert violation(bsfw.L1Ball(2.0), b) <= 1e-6
    gaps = opt.gap()
    assert gaps[0] > 0
    assert gaps[1] > 0
    assert math.isnan(gaps[2])


def test_weights_without_a_gradient_stay():
    a, b = weight((3, 4)), weight((3, 4), seed=1)
    opt = bsfw.torch.FrankWolfe([a, b], bsfw.L2Ball(1.0))
    opt.init_()
    before = b.detach().clone()
    train(opt, [a], 2)
    assert torch.equal(b, before)


def test_what_cannot_be_done_is_refused_in_a_sentence():
    p = weight((3, 4))
    with pytest.raises(ValueError, match="names no set"):
        bsfw.torch.FrankWolfe([p])
    with pytest.raises(TypeError, match="constraint must be a set"):
        bsfw.torch.FrankWolfe([p], 3.0)
    with pytest.raises(ValueError, match=r"weight of shape \(5,\) cannot live in SpectralBall.*AdamW"):
        bsfw.torch.FrankWolfe([weight((5,))], bsfw.SpectralBall(1.0))
    with pytest.raises(ValueError, match="works on NumPy arrays only"):
        bsfw.torch.FrankWolfe([weight((3, 3))], bsfw.Birkhoff(3))
    with pytest.raises(ValueError, match=r"real weights, but one is torch.complex64"):
        bsfw.torch.FrankWolfe([torch.nn.Parameter(torch.ones(3, dtype=torch.complex64))], bsfw.L2Ball(1.0))
    for setting, value in (("momentum", 1.0), ("min_gain", 0.0), ("max_rounds", 0), ("differentiable", True)):
        with pytest.raises(ValueError, match=setting):
            bsfw.torch.FrankWolfe([p], bsfw.L2Ball(1.0), **{setting: value})
    table = torch.nn.Embedding(5, 3, sparse=True)
    opt = bsfw.torch.FrankWolfe(table.parameters(), bsfw.L2Ball(1.0))
    opt.init_()
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match="dense gradients, but one is sparse"):
        opt.step()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("others", [0, 2])
def test_a_gradient_that_is_not_finite_changes_nothing(bad, others):
    p = weight((3, 4))
    weights = [*(weight((2, 5), seed=i) for i in range(others)), p]
    opt = bsfw.torch.FrankWolfe(weights, bsfw.L2Ball(1.0))
    opt.init_()
    train(opt, weights, 2)
    before, m = p.detach().clone(), opt.state[p]["momentum"].clone()
    p.grad = torch.full_like(p, bad)
    with pytest.raises(ValueError, match=r"NaN or infinite.*nothing was changed"):
        opt.step()
    assert torch.equal(p, before)
    assert torch.equal(opt.state[p]["momentum"], m)


def test_a_large_gradient_in_half_precision_is_not_taken_for_infinite():
    p = weight((8, 8), torch.float16)
    opt = bsfw.torch.FrankWolfe([p], bsfw.LinfBall(1.0), lr=0.5)
    opt.init_()
    p.grad = torch.full_like(p, 5e4)  # its norm is beyond the range of float16
    opt.step()
    assert torch.isfinite(p).all()


def test_a_group_sends_one_number_to_the_host():
    """Of the gradients of a group with K = 1, however many weights there are."""
    weights = [weight((3, 4), seed=i) for i in range(6)]
    opt = bsfw.torch.FrankWolfe(weights, bsfw.SpectralBall(1.0))
    opt.init_()
    train(opt, weights, 1)
    seen = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten._local_scalar_dense.default:
                seen.append(func)
            return func(*args, **(kwargs or {}))

    with Watch():
        opt.step()
    assert len(seen) == 1


def test_a_gradient_scaler_skips_overflows_and_goes_on():
    p = weight((3, 4), torch.float32)
    opt = bsfw.torch.FrankWolfe([p], bsfw.L2Ball(1.0), lr=0.5)
    opt.init_()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    start = p.detach().clone()
    for k in range(4):
        opt.zero_grad()
        scaler.scale(((p - 1.0) ** 2).sum()).backward()
        if k == 0:
            p.grad.fill_(math.inf)
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_([p], 1.0)
        scaler.step(opt)
        scaler.update()
        if k == 0:
            assert torch.equal(p, start)
    assert not torch.equal(p, start)
    assert scaler.get_scale() == 2.0**9


@every_set
def test_steps_stay_on_the_device(name):
    """On the meta device there are shapes only: a number that came to the host would raise."""
    constraint, shape = SETS[name]
    p = torch.nn.Parameter(torch.empty(shape, device="meta"))
    opt = bsfw.torch.FrankWolfe([p], constraint, max_rounds=3)
    for _ in range(2):
        p.grad = torch.empty(shape, device="meta")
        opt.step()
    assert p.is_meta
    assert opt.state[p]["momentum"].is_meta
    assert stack_lmo(constraint)(torch.empty((2, *matrix_shape(constraint, shape)), device="meta")).is_meta
