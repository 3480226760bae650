"""
Networks under norm balls
=========================

A PyTorch optimizer whose weights never leave their sets: here rows of at most a given l1 norm, which can be pruned. A
dense network, a convolutional one and a small transformer, with accuracy against size.
"""

# %%
# Small digits for the first two; made sentences for the transformer, which learns to spell them letter by letter.
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

import bsfw

digits = load_digits()
X = torch.tensor(digits.data / 16.0, dtype=torch.float32)
y = torch.tensor(digits.target)

rng = np.random.default_rng(0)
words = ["".join(rng.choice(["ba", "ko", "mi", "ru", "ten", "sol", "va"], 2)) for _ in range(30)]
text = "".join(
    f"the {words[int(15 * rng.random() ** 2)]} {rng.choice(['sees', 'hears'])} {words[15 + rng.integers(15)]}. "
    for _ in range(1500)
)
letters = sorted(set(text))
tokens = torch.tensor([letters.index(letter) for letter in text])
windows = tokens[: len(tokens) // 33 * 33].reshape(-1, 33)


# %%
# The networks, a set for each kind of layer, and AdamW without sets beside them.
class Transformer(nn.Module):
    """One block of causal attention."""

    def __init__(self, width=64):
        super().__init__()
        self.letters, self.places = nn.Embedding(len(letters), width), nn.Embedding(32, width)
        self.attention, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head = nn.Linear(width, len(letters))

    def forward(self, tokens):
        x = self.letters(tokens) + self.places.weight
        parts = self.attention(F.rms_norm(x, x.shape[-1:])).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.output(F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2))
        x = x + self.down(F.relu(self.up(F.rms_norm(x, x.shape[-1:]))))
        return self.head(F.rms_norm(x, x.shape[-1:])).transpose(1, 2)


def dense():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def convolutional():
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip


def trained(make, inputs, targets, constrained, steps):
    """A network after some steps on batches: with rows of at most a given l1 norm, or free with AdamW."""
    torch.manual_seed(1)
    model = make()
    if constrained:
        rows = bsfw.L1Ball(10.0, rows=True)
        groups = bsfw.torch.layers(model, hidden=rows, head=rows)
        optimizer = bsfw.torch.FrankWolfe(groups, lr=0.1, momentum=0.9)
        optimizer.init_()
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    for _ in range(steps):
        batch = torch.randint(0, len(inputs), (min(128, 4096 // inputs.shape[1]),))
        optimizer.zero_grad()
        F.cross_entropy(model(inputs[batch]), targets[batch]).backward()
        optimizer.step()
        schedule.step()
    return model


# %%
# Keep the largest weights only, and see what is lost.
tasks = {
    "digits, dense": (dense, X, y, 1400, 200),
    "digits, convolutions": (convolutional, X, y, 1400, 150),
    "letters, transformer": (Transformer, windows[:, :-1], windows[:, 1:], 1200, 150),
}
levels = [1.0, 0.3, 0.1, 0.05, 0.02]
figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
print(f"{'share of the weights kept':42s}" + "".join(f"{level:8.0%}" for level in levels))
for ax, (title, (make, inputs, targets, split, steps)) in zip(axes, tasks.items(), strict=True):

    @torch.no_grad()
    def accuracy(model, inputs=inputs[split:], targets=targets[split:]):
        """Share of the test set that is right."""
        return float((model(inputs).argmax(1) == targets).float().mean())

    for name, constrained in (("rows in l1 balls", True), ("AdamW, free", False)):
        model = trained(make, inputs[:split], targets[:split], constrained, steps)
        table = bsfw.torch.tradeoff(model, bsfw.torch.prune_, levels, accuracy)
        print(f"{title:22s}{name:20s}" + "".join(f"{row[-1]:8.3f}" for row in table))
        ax.plot(levels, [row[-1] for row in table], "o-", label=name)
    ax.set(xscale="log", xlabel="share of the weights kept", title=title)
axes[0].set_ylabel("accuracy")
axes[0].legend()

# %%
# **What to change.** Your model, and a set for its layers (:doc:`/torch` says which number of rounds pays for which
# set). Here all radii are 10 and all learning rates the same: a network of yours wants its own.
