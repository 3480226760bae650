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
    for _ in range(2000)
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


def trained(make, inputs, targets, radius, batch):
    """A network after 120 steps: with rows of at most a given l1 norm, or (radius None) free with AdamW."""
    torch.manual_seed(1)
    model = make()
    if radius:
        rows = bsfw.L1Ball(radius, rows=True)
        groups = bsfw.torch.layers(model, hidden=rows, head=rows, adamw={"lr": 3e-3})
        optimizer = bsfw.torch.FrankWolfe(groups, lr=0.05, momentum=0.9)
        optimizer.init_()
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, 120)
    for _ in range(120):
        rows = torch.randint(0, len(inputs), (batch,))
        optimizer.zero_grad()
        F.cross_entropy(model(inputs[rows]), targets[rows]).backward()
        optimizer.step()
        schedule.step()
    return model


# %%
# Keep the largest entries of the large weights only, and see what is lost.
tasks = {
    "digits, dense": (dense, X, y, 1400, 6.0, 128),
    "digits, convolutions": (convolutional, X, y, 1400, 6.0, 64),
    "letters, transformer": (Transformer, windows[:, :-1], windows[:, 1:], 1200, 5.0, 16),
}


def prune(model, keep):
    return bsfw.torch.prune_(model, keep, [p for p in model.parameters() if p.numel() >= 1000])


levels = [1.0, 0.3, 0.1, 0.05, 0.02]
figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
print(f"{'share of the weights kept':40s}" + "".join(f"{level:8.0%}" for level in levels))
for ax, (title, (make, inputs, targets, split, radius, batch)) in zip(axes, tasks.items(), strict=True):

    @torch.no_grad()
    def accuracy(model, inputs=inputs[split:], targets=targets[split:]):
        """Share of the test set that is right."""
        return float((model(inputs).argmax(1) == targets).float().mean())

    for name, bound in (("rows in l1 balls", radius), ("AdamW, free", None)):
        model = trained(make, inputs[:split], targets[:split], bound, batch)
        table = bsfw.torch.tradeoff(model, prune, levels, accuracy)
        print(f"{title:22s}{name:18s}" + "".join(f"{row[-1]:8.3f}" for row in table))
        ax.plot(levels, [row[-1] for row in table], "o-", label=name)
    ax.set(xscale="log", xlabel="share of the weights kept", title=title)
axes[0].set_ylabel("accuracy")
axes[0].legend()

# %%
# Short runs of small networks, the radii chosen out of three by eye, AdamW with its usual learning rate: what to see is
# how late each curve falls, not who wins at full size.
#
# **What to change.** Your model, and a set for its layers (:doc:`/torch` says which number of rounds pays for which
# set).
