"""`bsfw.torch.FrankWolfe` compiled, and in two processes that share their gradients."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import bsfw
import bsfw.torch

WORKER = """
import os, sys, torch, bsfw, bsfw.torch
import torch.distributed as dist
rank, port = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
dist.init_process_group("gloo", rank=rank, world_size=2)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
opt = bsfw.torch.FrankWolfe(bsfw.torch.layers(model, hidden=bsfw.SpectralBall(2.0), head=bsfw.L1Ball(4.0)), lr=0.1)
opt.init_()
ddp = torch.nn.parallel.DistributedDataParallel(model)
data = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))
target = data[:, :3].roll(1, 0)
for k in range(6):
    rows = slice(20 * rank, 20 * rank + 20)  # each process has half of the data
    opt.zero_grad()
    ((ddp(data[rows]) - target[rows]) ** 2).mean().backward()
    opt.step()
print(*(f"{v:.6f}" for p in model.parameters() for v in p.detach().reshape(-1).tolist()))
dist.destroy_process_group()
"""


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_two_processes_keep_the_same_weights_as_one_with_all_the_data():
    port = str(free_port())
    running = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(rank), port], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    try:
        found = [np.array(p.communicate(timeout=120)[0].split(), float) for p in running]
    finally:
        for p in running:
            p.kill()
    assert all(p.returncode == 0 for p in running)
    np.testing.assert_array_equal(found[0], found[1])

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    opt = bsfw.torch.FrankWolfe(bsfw.torch.layers(model, hidden=bsfw.SpectralBall(2.0), head=bsfw.L1Ball(4.0)), lr=0.1)
    opt.init_()
    data = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))
    target = data[:, :3].roll(1, 0)
    for _ in range(6):
        opt.zero_grad()
        ((model(data) - target) ** 2).mean().backward()
        opt.step()
    alone = np.concatenate([p.detach().reshape(-1).numpy() for p in model.parameters()])
    np.testing.assert_allclose(found[0], alone, atol=1e-3)


@pytest.mark.filterwarnings("ignore")  # those of PyTorch about itself
def test_a_compiled_step_does_what_the_step_does():
    def setup():
        generator = torch.Generator().manual_seed(0)
        weights = [torch.nn.Parameter(torch.randn((6, 5), generator=generator)) for _ in range(3)]
        groups = [
            {"params": weights[:1], "constraint": bsfw.SpectralBall(1.0)},
            {"params": weights[1:2], "constraint": bsfw.L1Ball(3.0, rows=True), "max_rounds": 2},
            {"params": weights[2:], "constraint": None},
        ]
        opt = bsfw.torch.FrankWolfe(groups, lr=torch.tensor(0.1))
        opt.init_()
        return weights, opt

    def train(weights, opt, step):
        for k in range(4):
            for p in weights:
                p.grad = torch.cos(p.detach() * (k + 1))
            step()
        return [p.detach().numpy() for p in weights]

    weights, opt = setup()
    expected = train(weights, opt, opt.step)
    weights, opt = setup()
    found = train(weights, opt, torch.compile(opt.step, backend="aot_eager"))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
