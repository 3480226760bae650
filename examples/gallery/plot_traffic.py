"""
Traffic on a road network
=========================

Everybody drives the cheapest way, and every way gets dearer by those who take it. Where do they all end up, and what
would tolls change?
"""

# %%
# Sioux Falls, if its files are in the folder ``networks`` under ``BSFW_DATA`` (they may be used for research, and are
# not part of bsfw); else a town of our own, a grid of streets with some of them narrow. The map of Sioux Falls is a
# sketch.
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import bsfw

prefix = Path(os.environ.get("BSFW_DATA", ".")) / "networks" / "SiouxFalls"
if Path(f"{prefix}_net.tntp").exists():
    town = bsfw.datasets.read_tntp(prefix)
    costs, flows, name = town.costs(), town.polytope(), "Sioux Falls"
    columns = [0, 3, 0, 1, 2, 3, 4, 3, 2, 2, 1, 0, 0, 1, 2, 3, 3, 4, 3, 3, 2, 2, 1, 1]
    rows = [7, 7, 6, 6, 6, 6, 5, 5, 5, 4, 4, 4, 0, 2, 2, 4, 3, 4, 2, 0, 0, 1, 1, 0]
    place = np.column_stack([columns, rows])
else:
    side, rng, name = 5, np.random.default_rng(0), "A town"
    place = np.array([(i % side, i // side) for i in range(side**2)])
    streets = [(i, j) for i in range(side**2) for j in range(side**2) if np.abs(place[i] - place[j]).sum() == 1]
    costs = bsfw.LinkCosts(rng.uniform(1.0, 2.0, len(streets)), rng.choice([2.0, 8.0], len(streets)))
    trips = [(i, j, rng.uniform(0.0, 0.3)) for i in range(side**2) for j in range(side**2) if i != j]
    flows = bsfw.PathPolytope(streets, trips)

# %%
# The equilibrium, at which no driver has a cheaper path; and the flows that are best for all together.
equilibrium = bsfw.minimize(costs, flows)
system = bsfw.minimize(costs.system(), flows)
print(equilibrium.why)
print(f"equilibrium: total time {costs.total(equilibrium.x):.6g}, certified to {equilibrium.gap / equilibrium.fun:.0e}")
print(f"best for all: {costs.total(system.x) / costs.total(equilibrium.x) - 1:+.1%}")

# %%
# Tolls equal to what a driver costs the others make the second the first, though every driver still looks for her own
# cheapest way; what the tolls bring can be paid back.
tolled = bsfw.minimize(costs.with_fixed(costs.fixed + costs.tolls(system.x)), flows)
print(f"with tolls: {costs.total(tolled.x) / costs.total(equilibrium.x) - 1:+.1%}")

# %%
# Width is the flow, colour the time lost to congestion; the other side of a street is drawn beside it.
figure, axes = plt.subplots(1, 2, figsize=(9, 6), layout="constrained")
slowest = (costs.gradient(equilibrium.x) / costs.free_flow).max()
for ax, x, title in zip(axes, (equilibrium.x, tolled.x), (f"{name}: equilibrium", "with tolls"), strict=True):
    slower = costs.gradient(x) / costs.free_flow
    for (tail, head), flow, factor in zip(flows.edges, x, slower, strict=True):
        along = place[head] - place[tail]
        beside = 0.06 * np.array([along[1], -along[0]]) / np.linalg.norm(along)
        colour = plt.cm.plasma_r(0.1 + 0.9 * (factor - 1.0) / (slowest - 1.0))
        ax.plot(*np.array([place[tail] + beside, place[head] + beside]).T, color=colour, lw=6.0 * flow / x.max())
    ax.plot(*place.T, "o", color="0.3", markersize=4)
    ax.set(title=title, aspect="equal")
    ax.axis("off")
scale = plt.cm.ScalarMappable(plt.Normalize(1.0, slowest), "plasma_r")
figure.colorbar(scale, ax=axes, label="time, in units of that on the empty street", shrink=0.6)

# %%
# **What to change.** Your own links and demands; or a network of your region in the TNTP format, by
# :func:`bsfw.datasets.read_tntp`. Tolls and distances go into ``fixed`` of :class:`bsfw.LinkCosts`.
