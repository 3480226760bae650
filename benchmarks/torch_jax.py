"""``python -m benchmarks.torch_jax``: times of bsfw on PyTorch and JAX, and what boosting does to small networks.

``timings`` prints ratios of CPU time, minima of turns that competitors take one after the other; ``networks`` trains on
fresh seeds and prints tables and verdicts, won and lost. Both by default. Everything on one thread of a CPU.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import bsfw
import bsfw.torch

from . import networks as net

REPEATS = 7


def fastest(competitors: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, float]:
    """The least CPU seconds of each, called in turn after one call that does not count."""
    best = dict.fromkeys(competitors, math.inf)
    for turn in range(repeats + 1):
        for name, run in competitors.items():
            started = time.process_time()
            run()
            if turn:
                best[name] = min(best[name], time.process_time() - started)
    return best


def row(what: str, ours: float, peer: float, limit: float | None, unit: float = 1e3) -> None:
    verdict = "" if limit is None else f"   at most {limit:g}: {'yes' if ours <= limit * peer else 'NO'}"
    print(f"  {what:58s} {unit * ours:9.3f} {unit * peer:9.3f} ms   ratio {ours / peer:5.2f}{verdict}", flush=True)


# JAX.


def jax_loop() -> None:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    print("JAX: an iteration of the compiled loop, K = 5, against one call of the compiled gradient alone")
    for (m, n), iterations, limit in (((50, 20), 2000, 2.0), ((300, 300), 500, 1.6)):
        rng = np.random.default_rng(0)
        data = jnp.asarray(rng.standard_normal((m, n))), jnp.asarray(rng.standard_normal(m))

        def loss(x: Any, batch: Any) -> Any:
            return ((batch[0] @ x - batch[1]) ** 2).mean() / 2

        gradient = jax.jit(jax.grad(loss))
        for constraint in (bsfw.L1Ball(1.0), bsfw.LinfBall(0.1)):
            fw = bsfw.jax.FrankWolfe(loss, constraint, data=data, max_rounds=5, quasar_rho=1.0)

            def run(fw: Any = fw, n: int = n, iterations: int = iterations) -> None:
                fw.run(jnp.zeros(n), iterations).x.block_until_ready()

            def alone(n: int = n, data: Any = data, gradient: Any = gradient, iterations: int = iterations) -> None:
                x = jnp.zeros(n)
                for _ in range(iterations):
                    x = gradient(x, data)
                x.block_until_ready()

            best = fastest({"loop": run, "gradient": alone})
            row(
                f"{m} x {n}, {type(constraint).__name__}",
                best["loop"] / iterations,
                best["gradient"] / iterations,
                limit,
            )


def minimize_times() -> None:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((50, 20)), rng.standard_normal(50)
    print("minimize: 300 iterations, 50 x 20, K = 5, in all, against NumPy arrays")
    for constraint in (bsfw.L1Ball(1.0), bsfw.L2Ball(0.5), bsfw.LinfBall(0.1), bsfw.Simplex(1.0)):
        runs = {}
        for name, to in (("numpy", np.array), ("torch", torch.from_numpy), ("jax", jnp.asarray)):
            a, b = to(A), to(y)
            objective = bsfw.Function(
                lambda x, a=a, b=b: ((a @ x - b) ** 2).mean() / 2,
                lambda x, a=a, b=b: a.T @ (a @ x - b) / 50,
                like=a, shape=20, quasar_rho=1.0,
            )  # fmt: skip
            runs[name] = lambda f=objective, c=constraint: bsfw.minimize(f, c, max_rounds=5, max_iter=300)
        best = fastest(runs)
        for name, limit in (("torch", 3.0), ("jax", None)):
            row(f"{name}, {type(constraint).__name__}", best[name], best["numpy"], limit)


# The optimizer.


def _float32_newton_schulz(grad: torch.Tensor, coefficients: Any, steps: int, eps: float) -> torch.Tensor:
    """Muon's iteration, which torch.optim runs in bfloat16, in float32."""
    a, b, c = coefficients
    x = grad.T if grad.size(0) > grad.size(1) else grad.clone()
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if grad.size(0) > grad.size(1) else x


def step_times() -> None:
    import torch.optim._muon as muon

    print("One optimizer step, ms of CPU time a layer; Muon in float32 is torch.optim.Muon, its products in float32")
    own = muon._zeropower_via_newtonschulz
    sets = {"spectral K=1": bsfw.SpectralBall(3.0), "nuclear K=5": bsfw.NuclearBall(9.0)}
    sets |= {"l1 K=20": bsfw.L1Ball(40.0), "l1 rows K=2": bsfw.L1Ball(4.0, rows=True)}
    one, four = [(64, 64), (1024, 1024)], [(64, 64), (256, 64), (128, 128), (256, 256), (512, 512)]
    for shape, layers in [*((shape, 1) for shape in one), *((shape, 4) for shape in four)]:

        def stepper(make: Callable[[Any], Any], shape: Any = shape, layers: int = layers) -> Callable[[], None]:
            generator = torch.Generator().manual_seed(0)
            weights = [torch.nn.Parameter(torch.randn(shape, generator=generator) / 30) for _ in range(layers)]
            opt = make(weights)
            if isinstance(opt, bsfw.torch.FrankWolfe):
                opt.init_()
            grads = [torch.randn(shape, generator=generator) for _ in range(4)]
            steps = max(1, int(3e5 / shape[0] ** 2))

            def run() -> None:
                for k in range(steps):
                    for i, p in enumerate(weights):
                        p.grad = grads[(k + i) % 4]
                    opt.step()

            run.steps = steps  # type: ignore[attr-defined]
            return run

        def in_float32(run: Callable[[], None]) -> Callable[[], None]:
            def patched() -> None:
                muon._zeropower_via_newtonschulz = _float32_newton_schulz
                try:
                    run()
                finally:
                    muon._zeropower_via_newtonschulz = own

            return patched

        makers = {name: stepper(lambda w, c=c: bsfw.torch.FrankWolfe(w, c, lr=0.01)) for name, c in sets.items()}
        bfloat16 = stepper(lambda w: torch.optim.Muon(w, lr=0.01))
        makers |= {
            "Muon bfloat16": bfloat16,
            "Muon float32": in_float32(stepper(lambda w: torch.optim.Muon(w, lr=0.01))),
        }
        makers["AdamW"] = stepper(lambda w: torch.optim.AdamW(w, lr=0.01))
        best = fastest(makers, 5 if shape[0] < 1024 else 3)
        ms = {name: 1e3 * seconds / bfloat16.steps / layers for name, seconds in best.items()}  # type: ignore[attr-defined]
        what = f"{layers} of {shape[0]} x {shape[1]}"
        print(f"  {what:16s} " + "  ".join(f"{name} {value:.3f}" for name, value in ms.items()))
        row(f"{what}: spectral K = 1 / Muon float32", ms["spectral K=1"], ms["Muon float32"], 1.2, 1.0)


def feasibility(steps: int = 10_000) -> None:
    print(f"Largest relative violation of float32 weights over {steps} steps with noisy gradients, lr 0.05")
    for name, constraint, shape in (
        ("spectral", bsfw.SpectralBall(3.0), (48, 32)), ("nuclear K=5", bsfw.NuclearBall(9.0), (48, 32)),
        ("l1 K=20", bsfw.L1Ball(40.0), (48, 32)), ("l1 rows K=2", bsfw.L1Ball(4.0, rows=True), (48, 32)),
        ("sign", bsfw.LinfBall(0.1), (48, 32)), ("convolution, spectral", bsfw.SpectralBall(1.0), (16, 8, 3, 3)),
    ):  # fmt: skip
        generator = torch.Generator().manual_seed(0)
        p = torch.nn.Parameter(torch.randn(shape, generator=generator))
        opt = bsfw.torch.FrankWolfe([p], constraint, lr=0.05)
        opt.init_()
        worst = 0.0
        for k in range(steps):
            p.grad = p.detach() + torch.randn(shape, generator=generator)
            opt.step()
            if k % 500 == 499:
                worst = max(worst, constraint.violation(p.detach().double().reshape(shape[0], -1).numpy()))
        print(f"  {name:24s} {worst:.1e}   at most 1e-6: {'yes' if worst <= 1e-6 else 'NO'}", flush=True)


# Networks.


def spread(values: list[float], digits: int = 4) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.{digits}f} +- {deviation:.{digits}f}"


def show(name: str, setting: str, outcomes: list[net.Outcome]) -> float:
    """Print a row; returns the mean test loss."""
    extras = "".join(
        f"  {key} {statistics.fmean(o.extras[key] for o in outcomes):.3f}" for key in outcomes[0].extras
    )  # fmt: skip
    print(
        f"  {name:26s} {setting:14s} train {statistics.fmean(o.train_loss for o in outcomes):.4f}"
        f"  test {spread([o.test_loss for o in outcomes])}  acc {statistics.fmean(o.accuracy for o in outcomes):.3f}"
        f"{extras}  ms {min(o.gradient_ms for o in outcomes):.1f}/{min(o.optimizer_ms for o in outcomes):.1f}",
        flush=True,
    )
    return statistics.fmean(o.test_loss for o in outcomes)


def dense(task: net.Task, seeds: range) -> None:
    """All layers spectral, the head in a sign ball: settings by the validation loss of seed 0, then fresh seeds."""
    print(
        f"\n{task.name}, {task.steps} steps, {len(seeds)} fresh seeds (test loss mean +- sd, ms gradient / optimizer)"
    )
    grids: dict[str, list[tuple[str, Any]]] = {}
    for rounds in (1, 2, 3, 5):
        grids[f"constrained K={rounds}"] = [
            (f"{lr:g}, R {radius:g}", net.constrained(rounds, lr, radius))
            for lr in (0.01, 0.03, 0.1)
            for radius in (3.0, 10.0)
        ]
    if task.has_hidden_matrices:  # all that torch.optim.Muon takes
        grids["Muon + AdamW"] = [(f"{lr:g}", net.plain("Muon", lr)) for lr in (0.01, 0.03, 0.1)]
    grids["AdamW"] = [(f"{lr:g}", net.plain("AdamW", lr)) for lr in (1e-3, 3e-3, 1e-2)]
    grids["SGD momentum"] = [(f"{lr:g}", net.plain("SGD", lr)) for lr in (0.03, 0.1, 0.3)]
    losses = {}
    for name, grid in grids.items():
        tried = [(net.train(task, make, 0)[1].validation_loss, label, make) for label, make in grid]
        _, label, make = min(tried, key=lambda t: t[0] if math.isfinite(t[0]) else math.inf)
        losses[name] = show(name, label, [net.train(task, make, seed)[1] for seed in seeds])
    first = losses["constrained K=1"]
    boosted = min((loss, name) for name, loss in losses.items() if name.startswith("constrained") and loss is not first)
    others = min((loss, name) for name, loss in losses.items() if not name.startswith("constrained"))
    for what, (ours, peer) in {
        f"boosting ({boosted[1]}) against K=1 at equal steps": (boosted[0], first),
        f"K=1 against {others[1]}": (first, others[0]),
    }.items():
        print(f"  verdict: {what}: {'won' if ours < peer else 'LOST'} ({ours:.4f} against {peer:.4f})", flush=True)


def compared(
    task: net.Task,
    title: str,
    layers: tuple[int, ...],
    rows: list[tuple[str, str, Any]],
    seeds: range,
    rank: int,
    pairs: list[tuple[str, str]],
) -> None:
    """Structured sets: the rows as given; ``time of NAME`` rows get the steps that fit into the time of NAME."""
    print(f"\n{title}, {task.steps} steps, {len(seeds)} fresh seeds")
    losses, costs = {}, {}
    for name, setting, make in rows:
        steps = task.steps
        if "time of" in name:
            plain_cost, rich_cost = costs[name.split(",")[0]], costs[name.split("time of ")[1]]
            steps = round(task.steps * rich_cost / plain_cost)
        outcomes = []
        for seed in seeds:
            model, outcome = net.train(task, make, seed, steps)
            outcome.extras = net.shrunk_accuracy(model, task, layers, (0.03, 0.01), rank)
            outcomes.append(outcome)
        costs[name] = min(o.gradient_ms + o.optimizer_ms for o in outcomes)
        losses[name] = show(name, setting if steps == task.steps else f"{setting}; {steps}", outcomes)
    for ours, peer in pairs:
        print(f"  verdict: {ours} {'won' if losses[ours] < losses[peer] else 'LOST'} against {peer} in test loss "
              f"({losses[ours]:.4f} against {losses[peer]:.4f})")  # fmt: skip


def sparse_and_low_rank(seeds: range) -> None:
    task = net.digits_task("MLP digits", net.mlp, 200)
    hidden, middle = (0, 2), (2,)

    def l1(rounds: int, lr: float, radius: float) -> Any:
        return net.structured(bsfw.L1Ball, hidden, rounds, lr, radius)

    def rows(rounds: int, lr: float) -> Any:
        return net.structured(lambda r: bsfw.L1Ball(r, rows=True), hidden, rounds, lr, 3.0)

    def nuclear(rounds: int) -> Any:
        return net.structured(bsfw.NuclearBall, middle, rounds, 0.03, 50.0)

    compared(task, "l1 ball over each hidden layer of the MLP", hidden, [
        ("FW K=1", ".0003, R 1000", l1(1, 3e-4, 1000.0)), ("FW K=5", ".001, R 1000", l1(5, 1e-3, 1000.0)),
        ("FW K=20", ".0003, R 1000", l1(20, 3e-4, 1000.0)),
        ("FW K=1, time of FW K=20", ".001, R 400", l1(1, 1e-3, 400.0)),
        ("projected Adam", ".01, R 100", net.projected(net.project_l1, hidden, "Adam", 0.01, 100.0)),
        ("projected SGD", ".1, R 100", net.projected(net.project_l1, hidden, "SGD", 0.1, 100.0)),
        ("projected Adam, large R", ".01, R 400", net.projected(net.project_l1, hidden, "Adam", 0.01, 400.0)),
    ], seeds, 0, [
        ("FW K=20", "FW K=1"), ("FW K=20", "FW K=1, time of FW K=20"), ("FW K=20", "projected Adam"),
        ("FW K=20", "projected Adam, large R"),
    ])  # fmt: skip
    compared(task, "l1 ball over each row of the hidden layers", hidden, [
        ("K=1", ".03, R 3", rows(1, 0.03)), ("K=2", ".03, R 3", rows(2, 0.03)), ("K=5", ".01, R 3", rows(5, 0.01)),
        ("K=1, time of K=2", ".03, R 3", rows(1, 0.03)),
    ], seeds, 0, [("K=2", "K=1"), ("K=2", "K=1, time of K=2")])  # fmt: skip
    compared(task, "nuclear ball on the 256 x 256 layer", middle, [
        ("K=1", ".03, R 50", nuclear(1)), ("K=2", ".03, R 50", nuclear(2)), ("K=5", ".03, R 50", nuclear(5)),
        ("K=10", ".03, R 50", nuclear(10)), ("K=1, time of K=5", ".03, R 50", nuclear(1)),
        ("projected Adam", ".01, R 15", net.projected(net.project_nuclear, middle, "Adam", 0.01, 15.0)),
    ], seeds, 4, [("K=5", "K=1"), ("K=5", "K=1, time of K=5"), ("K=5", "projected Adam")])  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_jax", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[], help="default: all")
    parser.add_argument("--seeds", type=int, default=3, help="fresh seeds for the networks")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for part in options.parts or PARTS:
        PARTS[part](range(1, 1 + options.seeds))


PARTS: dict[str, Callable[[range], None]] = {
    "timings": lambda seeds: [part() for part in (jax_loop, minimize_times, step_times, feasibility)] and None,
    "mlp": lambda seeds: dense(net.digits_task("MLP digits", net.mlp, 150), seeds),
    "cnn": lambda seeds: dense(net.digits_task("CNN digits", net.cnn, 200), seeds),
    "text": lambda seeds: dense(net.text_task(150), seeds),
    "structured": sparse_and_low_rank,
}

if __name__ == "__main__":
    main(sys.argv[1:])
