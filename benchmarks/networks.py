"""Small networks on made or shipped data: tasks, optimizers and projections for ``python -m benchmarks.torch_jax``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import bsfw
import bsfw.torch

Batch = tuple[Tensor, Tensor]


@dataclass
class Task:
    """A network and its data: training batches by seed, a validation and a test set."""

    name: str
    model: Callable[[], nn.Module]
    batches: Callable[[int], Iterator[Batch]]
    validation: Batch
    test: Batch
    steps: int

    @property
    def has_hidden_matrices(self) -> bool:
        """Whether a weight besides the head and embeddings has two axes."""
        model = self.model()
        tables = sum(isinstance(module, nn.Embedding) for module in model.modules())
        return sum(p.ndim == 2 for p in model.parameters()) > 1 + tables


@dataclass
class Outcome:
    """One trained network. Milliseconds are CPU time a step: forward and backward, and the optimizer."""

    train_loss: float
    validation_loss: float
    test_loss: float
    accuracy: float
    gradient_ms: float
    optimizer_ms: float
    extras: dict[str, float] = field(default_factory=dict)


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(64, 256, bias=False), nn.ReLU(), nn.Linear(256, 256, bias=False), nn.ReLU(),
        nn.Linear(256, 10, bias=False),
    )  # fmt: skip


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(512, 10, bias=False),
    )  # fmt: skip


class Transformer(nn.Module):
    """Two blocks of causal attention, without biases: about 100,000 weights."""

    def __init__(self, letters: int, width: int = 64, blocks: int = 2, context: int = 48) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.attention = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(blocks))
        self.output = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(blocks))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width, bias=False) for _ in range(blocks))
        self.down = nn.ModuleList(nn.Linear(4 * width, width, bias=False) for _ in range(blocks))
        self.head = nn.Linear(width, letters, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.letters(tokens) + self.places(torch.arange(tokens.shape[1]))
        for attention, output, up, down in zip(self.attention, self.output, self.up, self.down, strict=True):
            parts = attention(_normed(x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + output(mixed.transpose(1, 2).flatten(2))
            x = x + down(F.relu(up(_normed(x))))
        return self.head(_normed(x)).transpose(1, 2)


def _normed(x: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:])


def digits_task(name: str, model: Callable[[], nn.Module], steps: int) -> Task:
    """scikit-learn's digits: 1,000 to train on, 300 to select by, 497 to test on."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x = torch.tensor(pixels[order] / 16.0, dtype=torch.float32)
    y = torch.tensor(labels[order])

    def batches(seed: int) -> Iterator[Batch]:
        generator = torch.Generator().manual_seed(seed)
        while True:
            chosen = torch.randint(0, 1000, (128,), generator=generator)
            yield x[chosen], y[chosen]

    return Task(name, model, batches, (x[1000:1300], y[1000:1300]), (x[1300:], y[1300:]), steps)


def made_text(length: int, seed: int) -> str:
    """Sentences of a small grammar with made words: spelling, word order and agreement to learn."""
    rng = np.random.default_rng(7)
    syllables = ["ba", "ko", "mi", "ru", "ten", "sol", "va", "lim", "dor", "pe", "nas", "qui"]
    words = ["".join(rng.choice(syllables, rng.integers(1, 4))) for _ in range(60)]
    nouns, verbs, others = words[:30], words[30:45], words[45:]
    rng = np.random.default_rng(seed)
    text: list[str] = []
    size = 0
    while size < length:
        many = rng.random() < 0.5
        noun, verb = nouns[int(30 * rng.random() ** 2)], verbs[int(15 * rng.random() ** 2)]
        told = others[int(15 * rng.random() ** 2)]
        sentence = f"the {told} {noun}{'s' if many else ''} {verb}{'' if many else 's'} {rng.choice(nouns)}. "
        text.append(sentence)
        size += len(sentence)
    return "".join(text)[:length]


def text_task(steps: int) -> Task:
    context = 48
    texts = [made_text(length, seed) for length, seed in ((60_000, 1), (6_000, 2), (6_000, 3))]
    alphabet = {letter: i for i, letter in enumerate(sorted(set("".join(texts))))}
    train, validation, test = (torch.tensor([alphabet[letter] for letter in text]) for text in texts)

    def windows(tokens: Tensor, starts: Tensor) -> Batch:
        rows = tokens[starts[:, None] + torch.arange(context + 1)]
        return rows[:, :-1], rows[:, 1:]

    def batches(seed: int) -> Iterator[Batch]:
        generator = torch.Generator().manual_seed(seed)
        while True:
            yield windows(train, torch.randint(0, len(train) - context - 1, (16,), generator=generator))

    held = [windows(tokens, torch.arange(0, len(tokens) - context - 1, context)) for tokens in (validation, test)]
    return Task("char transformer", lambda: Transformer(len(alphabet)), batches, held[0], held[1], steps)


Step = Callable[[float], None]
"""One step of an optimizer, at this fraction of its lr."""


def constrained(rounds: int, lr: float, radius: float) -> Callable[[nn.Module], Step]:
    """All layers in sets: spectral with radius R sqrt(out/in), the head in a sign ball, embeddings by rows."""

    def spectral(w: Tensor) -> bsfw.Constraint:
        rows, columns = w.shape[0], w[0].numel()
        return bsfw.SpectralBall(radius * math.sqrt(rows / columns))

    def make(model: nn.Module) -> Step:
        groups = bsfw.torch.layers(
            model,
            hidden=spectral,
            head=lambda w: bsfw.LinfBall(10.0 * radius / w.shape[1]),
            embedding=lambda w: bsfw.Rows(bsfw.L2Ball(max(radius, 1.0) * math.sqrt(w.shape[1]))),
        )
        for group in groups:
            group["max_rounds"] = rounds
        opt = bsfw.torch.FrankWolfe(groups, lr=lr, momentum=0.9)
        opt.init_()
        return _stepper([opt])

    return make


def structured(
    set_of: Callable[[float], bsfw.Constraint], layers: tuple[int, ...], rounds: int, lr: float, radius: float
) -> Callable[[nn.Module], Step]:
    """The named layers of an MLP in a set, the others by AdamW 3e-3."""

    def make(model: nn.Module) -> Step:
        inside = [model[i].weight for i in layers]
        rest = [p for p in model.parameters() if all(p is not q for q in inside)]
        groups = [
            {"params": inside, "constraint": set_of(radius), "max_rounds": rounds},
            {"params": rest, "constraint": None, "lr": 3e-3},
        ]
        opt = bsfw.torch.FrankWolfe(groups, lr=lr, momentum=0.9)
        opt.init_()
        return _stepper([opt])

    return make


def projected(
    project: Callable[[Tensor, float], Tensor], layers: tuple[int, ...], kind: str, lr: float, radius: float
) -> Callable[[nn.Module], Step]:
    """The rival: Adam or SGD with momentum on the named layers, and a projection after every step."""

    def make(model: nn.Module) -> Step:
        inside = [model[i].weight for i in layers]
        rest = [p for p in model.parameters() if all(p is not q for q in inside)]
        own: torch.optim.Optimizer = (
            torch.optim.Adam(inside, lr=lr) if kind == "Adam" else torch.optim.SGD(inside, lr=lr, momentum=0.9)
        )
        step = _stepper([own, torch.optim.AdamW(rest, lr=3e-3)])

        @torch.no_grad()
        def stepped(fraction: float) -> None:
            step(fraction)
            for p in inside:
                p.copy_(project(p, radius))

        return stepped

    return make


def plain(kind: str, lr: float) -> Callable[[nn.Module], Step]:
    """torch.optim's AdamW or SGD on all weights, or Muon on the hidden matrices and AdamW on the rest."""

    def make(model: nn.Module) -> Step:
        weights = list(model.parameters())
        if kind == "AdamW":
            return _stepper([torch.optim.AdamW(weights, lr=lr)])
        if kind == "SGD":
            return _stepper([torch.optim.SGD(weights, lr=lr, momentum=0.9)])
        groups = bsfw.torch.layers(model, hidden=lambda w: bsfw.L2Ball(1.0) if w.ndim == 2 else None)
        hidden, rest = groups[0]["params"], [p for g in groups[1:] for p in g["params"]]
        return _stepper([torch.optim.Muon(hidden, lr=lr, weight_decay=0.0), torch.optim.AdamW(rest, lr=3e-3)])

    return make


def _stepper(optimizers: list[torch.optim.Optimizer]) -> Step:
    first = [[group["lr"] for group in opt.param_groups] for opt in optimizers]

    def step(fraction: float) -> None:
        for opt, lrs in zip(optimizers, first, strict=True):
            for group, lr in zip(opt.param_groups, lrs, strict=True):
                group["lr"] = fraction * lr
            opt.step()

    return step


def project_l1(w: Tensor, radius: float) -> Tensor:
    """Onto the l1 ball of all entries, by sorting."""
    return torch.sign(w) * _project_simplex(w.abs().reshape(-1), radius).reshape(w.shape)


def project_nuclear(w: Tensor, radius: float) -> Tensor:
    """Onto the nuclear ball, by an SVD."""
    left, values, right = torch.linalg.svd(w, full_matrices=False)
    return (left * _project_simplex(values, radius)) @ right


def _project_simplex(values: Tensor, radius: float) -> Tensor:
    if values.sum() <= radius:
        return values
    ordered = values.sort(descending=True).values
    excess = (ordered.cumsum(0) - radius) / torch.arange(1, len(ordered) + 1)
    last = int((ordered > excess).sum()) - 1
    return (values - excess[last]).clamp(min=0.0)


def train(
    task: Task, make: Callable[[nn.Module], Step], seed: int, steps: int | None = None
) -> tuple[nn.Module, Outcome]:
    """Train from the orthogonal start of the seed, with lr that falls linearly to 0."""
    torch.manual_seed(seed)
    model = task.model()
    for p in model.parameters():
        nn.init.orthogonal_(p)
    step, steps = make(model), task.steps if steps is None else steps
    batches = task.batches(seed)
    gradient = optimizer = 0.0
    losses = []
    for k in range(steps):
        x, y = next(batches)
        started = time.process_time()
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        between = time.process_time()
        step(1.0 - k / steps)
        gradient += between - started
        optimizer += time.process_time() - between
        losses.append(loss.item())
    (validation, _), (test, accuracy) = evaluate(model, task.validation), evaluate(model, task.test)
    return model, Outcome(
        float(np.mean(losses[-10:])), validation, test, accuracy, 1e3 * gradient / steps, 1e3 * optimizer / steps
    )


@torch.no_grad()
def evaluate(model: nn.Module, batch: Batch) -> tuple[float, float]:
    """Loss and accuracy."""
    logits = model(batch[0])
    return F.cross_entropy(logits, batch[1]).item(), (logits.argmax(1) == batch[1]).float().mean().item()


def shrunk_accuracy(
    model: nn.Module, task: Task, layers: tuple[int, ...], keeps: tuple[float, ...], rank: int
) -> dict[str, Any]:
    """Test accuracy with the largest weights of the named layers only, and with the largest ranks only."""

    def accuracy(shrunk: nn.Module) -> float:
        return evaluate(shrunk, task.test)[1]

    def prune(copy: nn.Module, keep: float) -> Any:
        return bsfw.torch.prune_(copy, keep, [copy[i].weight for i in layers])

    def thin(copy: nn.Module, rank: int) -> Any:
        return bsfw.torch.to_lowrank_(copy, rank, [copy[i] for i in layers])

    found = {f"acc@{100 * keep:g}%": value for keep, _, value in bsfw.torch.tradeoff(model, prune, keeps, accuracy)}
    if rank:
        found[f"acc@rank {rank}"] = bsfw.torch.tradeoff(model, thin, [rank], accuracy)[0][2]
    return found
