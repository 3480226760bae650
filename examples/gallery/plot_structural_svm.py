"""
Structured prediction, one chain at a time
==========================================

The dual of a structural SVM is a quadratic over a product of polytopes, one for each training sequence.
Block-coordinate Frank-Wolfe solves one sequence's oracle at a time and steps at once.
"""

# %%
# Sequences to be labelled: sticky labels, noisy observations.
import matplotlib.pyplot as plt
import numpy as np

import bsfw

rng = np.random.default_rng(0)
LENGTH, LABELS, FEATURES = 6, 3, 4
means = rng.standard_normal((LABELS, FEATURES))


def sequences(count):
    """Observations (count, length, features) and labels (count, length)."""
    labels = np.empty((count, LENGTH), dtype=int)
    labels[:, 0] = rng.integers(LABELS, size=count)
    for t in range(1, LENGTH):
        stay = rng.random(count) < 0.7
        labels[:, t] = np.where(stay, labels[:, t - 1], rng.integers(LABELS, size=count))
    return means[labels] + 1.2 * rng.standard_normal((count, LENGTH, FEATURES)), labels


# %%
# A labelling is a path through a trellis, and the oracle of :class:`bsfw.PathPolytope` is Viterbi's algorithm. The
# score of an edge is linear in weights w: of the observation with the label it leads to, and of the pair of labels.
node = {(t, k): 1 + t * LABELS + k for t in range(LENGTH) for k in range(LABELS)}
end = 1 + LENGTH * LABELS
steps = [(None, (0, k)) for k in range(LABELS)]
steps += [((t, k), (t + 1, j)) for t in range(LENGTH - 1) for k in range(LABELS) for j in range(LABELS)]
steps += [((LENGTH - 1, k), None) for k in range(LABELS)]
trellis = bsfw.PathPolytope([(node.get(a, 0), node.get(b, end)) for a, b in steps], [(0, end, 1.0)])


def features(observations):
    """The matrix from edge flows to features, (LABELS * FEATURES + LABELS^2, edges)."""
    F = np.zeros((LABELS * FEATURES + LABELS**2, len(steps)))
    for column, (a, b) in enumerate(steps):
        if b is not None:
            F[b[1] * FEATURES : (b[1] + 1) * FEATURES, column] = observations[b[0]]
        if a is not None and b is not None:
            F[LABELS * FEATURES + a[1] * LABELS + b[1], column] = 1.0
    return F


def wrong(labels):
    """Of each edge, whether it leads to a wrong label: the Hamming loss of a path is their sum."""
    return np.array([float(b is not None and labels[b[0]] != b[1]) for _, b in steps])


def path(labels):
    """The edge flow of a labelling: the cheapest path where its own labels cost nothing."""
    return trellis.lmo(wrong(labels)).dense()


# %%
# The dual: flows of every sequence, f = lambda/2 ||w||^2 - mean loss, where w is what the true paths have more of each
# feature than the flows, over lambda n.
count, weight = 24, 0.05
observed, labels = sequences(count)
F = [features(x) for x in observed]
A = np.hstack(F) / (weight * count)
true = sum(f @ path(y) for f, y in zip(F, labels, strict=True)) / (weight * count)
loss = np.concatenate([wrong(y) for y in labels]) / count
dual = bsfw.Quadratic(weight * A.T @ A, -weight * A.T @ true - loss, 0.5 * weight * true @ true, convex=True)
flows = bsfw.Product([(trellis, len(steps))] * count)

# %%
# A pass of block steps and an iteration of Frank-Wolfe make the same number of oracle calls, one for each sequence; one
# that counts for one LMO call of the product.
comparison = bsfw.compare(
    (dual, flows),
    {
        "Frank-Wolfe": {"method": "boosted", "max_rounds": 1, "step": "line-search"},
        "in order": {"method": "block-cyclic"},
        "at random": {"method": "block-random"},
        "by gap": {"method": "block-gap"},
    },
    {"max_iter": 40},
    x0=np.concatenate([path(y) for y in labels]),
)
print(comparison)
comparison.plot(costs=["lmo_calls", "seconds"])

# %%
# The weights label new sequences, by the same oracle.
w = true - A @ comparison.results["by gap"][0].x
new, answers = sequences(200)
errors = [wrong(y) @ trellis.lmo(-w @ features(x)).dense() / LENGTH for x, y in zip(new, answers, strict=True)]
nearest = ((new[:, :, None] - means) ** 2).sum(axis=3).argmin(axis=2) != answers
print(f"wrong labels: {np.mean(errors):.1%}, by the nearest true mean of each observation alone {np.mean(nearest):.1%}")
plt.show()

# %%
# **What to change.** Any product of sets: ``bsfw.Product([(set, shape), ...])`` with one of the three orders. Where
# blocks differ much in what is left to gain, ``"block-gap"`` asks the oracles of those that matter.
