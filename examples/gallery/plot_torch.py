"""
Networks under norm balls
=========================

A PyTorch optimizer whose weights never leave their sets: here rows of at most a given l1 norm, which can be pruned.
"""

# %%
# Small digits, one hidden layer.
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits

import bsfw

torch.manual_seed(0)
digits = load_digits()
X = torch.tensor(digits.data / 16.0, dtype=torch.float32)
y = torch.tensor(digits.target)
train, test = slice(0, 1400), slice(1400, None)


def trained(constrained):
    """A network after 200 steps: with rows of at most a given l1 norm, or free with AdamW."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    if constrained:
        rows = bsfw.L1Ball(10.0, rows=True)
        optimizer = bsfw.torch.FrankWolfe(bsfw.torch.layers(model, hidden=rows, head=rows), lr=0.1, momentum=0.9)
        optimizer.init_()
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, 200)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(X[train]), y[train]).backward()
        optimizer.step()
        schedule.step()
    return model


def accuracy(model):
    """Share of the test set that is right."""
    return float((model(X[test]).argmax(1) == y[test]).float().mean())


# %%
# Keep the largest weights only, and see what is lost.
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
levels = [1.0, 0.3, 0.1, 0.05, 0.02]
for name, constrained in (("rows in l1 balls", True), ("AdamW, free", False)):
    model = trained(constrained)
    table = bsfw.torch.tradeoff(model, bsfw.torch.prune_, levels, accuracy)
    ax.plot(levels, [row[-1] for row in table], "o-", label=name)
ax.set(xscale="log", xlabel="share of the weights kept", ylabel="accuracy")
ax.legend()

# %%
# **What to change.** Your model, and a set for its layers (:doc:`/torch` says which number of rounds pays for which
# set).
