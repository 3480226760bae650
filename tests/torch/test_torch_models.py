"""`bsfw.torch.layers`, `prune_`, `to_lowrank_`: from a model to groups, and from trained weights to small ones."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn

import bsfw
import bsfw.torch


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.conv = nn.Conv1d(6, 8, 3, padding=1)
        self.norm = nn.LayerNorm(8)
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 11)

    def forward(self, tokens):
        x = self.conv(self.embedding(tokens).mT).mT
        return self.head(torch.tanh(self.body(self.norm(x))))


def test_every_weight_has_its_place():
    model = Small()
    groups = bsfw.torch.layers(
        model,
        hidden=bsfw.SpectralBall(3.0),
        head=bsfw.L1Ball(40.0, rows=True),
        embedding=bsfw.Rows(bsfw.L2Ball(3.0)),
        adamw={"lr": 0.02},
    )
    names = {id(p): name for name, p in model.named_parameters()}
    placed = {repr(g["constraint"]): [names[id(p)] for p in g["params"]] for g in groups}
    assert placed == {
        "Rows(inner=L2Ball(radius=3.0))": ["embedding.weight"],
        "SpectralBall(radius=3.0)": ["conv.weight", "body.weight"],
        "Rows(inner=L1Ball(radius=40.0, weights=None))": ["head.weight"],
        "None": ["conv.bias", "norm.weight", "norm.bias", "body.bias", "head.bias"],
    }
    assert groups[-1]["lr"] == 0.02


def test_a_set_can_depend_on_the_weight_and_frozen_weights_are_left_out():
    model = Small()
    model.conv.weight.requires_grad_(False)
    groups = bsfw.torch.layers(model, hidden=lambda w: bsfw.SpectralBall(math.sqrt(w.shape[0] / w.shape[1])))
    assert groups[0]["constraint"].radius == 1.0
    assert [tuple(p.shape) for p in groups[0]["params"]] == [(8, 8)]
    assert sum(len(g["params"]) for g in groups) == len(list(model.parameters())) - 1
    with pytest.raises(ValueError, match="no weight of the model has a set"):
        bsfw.torch.layers(model)
    with pytest.raises(ValueError, match="adamw takes lr, betas, eps, weight_decay, got momentum"):
        bsfw.torch.layers(model, hidden=bsfw.SpectralBall(1.0), adamw={"momentum": 0.9})
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"):
        bsfw.torch.layers([], hidden=bsfw.SpectralBall(1.0))


def test_a_model_learns_inside_of_its_sets():
    torch.manual_seed(0)
    model = Small()
    groups = bsfw.torch.layers(
        model, hidden=bsfw.SpectralBall(3.0), head=bsfw.L1Ball(8.0, rows=True), embedding=bsfw.Rows(bsfw.L2Ball(3.0))
    )
    opt = bsfw.torch.FrankWolfe(groups, lr=0.05, momentum=0.9)
    opt.init_()
    schedule = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.0, 60)
    tokens = torch.randint(0, 11, (16, 12))
    losses = []
    for _ in range(60):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens).reshape(-1, 11), tokens.reshape(-1))
        loss.backward()
        opt.step()
        schedule.step()
        losses.append(loss.item())
    assert losses[-1] < 0.25 * losses[0]
    for group in groups[:-1]:
        for p in group["params"]:
            matrix = p.detach().double().reshape(p.shape[0], -1).numpy()
            assert group["constraint"].violation(matrix) <= 1e-6


def test_pruning_keeps_the_largest_weights():
    model = Small()
    before = model.body.weight.detach().clone()
    size = bsfw.torch.prune_(model, 0.25)
    kept = model.body.weight.detach() != 0
    assert int(kept.sum()) == 16
    assert before.abs()[kept].min() >= before.abs()[~kept].max()
    assert torch.equal(model.body.weight[kept], before[kept])
    every = list(model.parameters())
    assert size == (sum(int((p != 0).sum()) for p in every), sum(p.numel() for p in every))
    only = Small()
    bsfw.torch.prune_(only, 0.01, [only.head.weight])
    assert int(only.head.weight.count_nonzero()) == 1
    assert int(only.body.weight.count_nonzero()) == 64
    with pytest.raises(ValueError, match=r"keep is the fraction .* got 3"):
        bsfw.torch.prune_(model, 3)


def test_low_rank_layers_are_the_best_approximation_and_smaller():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 2, bias=False))
    with torch.no_grad():
        model[0].weight.copy_(torch.randn(30, 3) @ torch.randn(3, 20))
    x = torch.randn(5, 20)
    expected = model(x).detach()
    last = model[2]
    size = bsfw.torch.to_lowrank_(model, 3)
    assert size == (3 * 50 + 30 + 60, 600 + 30 + 60)
    assert model[2] is last  # two factors of rank 3 would be larger
    np.testing.assert_allclose(model(x).detach(), expected, atol=1e-4)
    with pytest.raises(ValueError, match="rank must be"):
        bsfw.torch.to_lowrank_(model, 0)


def test_the_tradeoff_leaves_the_model_alone():
    model = Small()
    weights = [p.detach().clone() for p in model.parameters()]
    rows = bsfw.torch.tradeoff(model, bsfw.torch.prune_, [1.0, 0.1], lambda m: float(m.body.weight.count_nonzero()))
    assert [(level, value) for level, _, value in rows] == [(1.0, 64.0), (0.1, 6.0)]
    assert rows[1][1].kept < rows[0][1].kept
    assert all(torch.equal(a, b) for a, b in zip(weights, model.parameters(), strict=True))
