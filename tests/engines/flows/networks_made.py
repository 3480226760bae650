"""Networks that the tests make, and the published ones if they are here."""

import os
from pathlib import Path

import numpy as np
import pytest

import bsfw


def grid(side=4, seed=0, centroids=True):
    """Streets both ways, with zones at the corners, each by a connector; tolls, and powers from 0 to 5."""
    rng = np.random.default_rng(seed)
    edges = [(i, j) for i in range(side**2) for j in (i + 1, i + side) if j < side**2 and (j % side or j == i + side)]
    zones = [side**2 + k for k in range(4)]
    corners = [0, side - 1, side * (side - 1), side**2 - 1]
    edges += list(zip(zones, corners, strict=True))
    edges = np.array(edges + [(j, i) for i, j in edges])
    demands = [(a, b, float(rng.uniform(2.0, 6.0))) for a in zones for b in zones if a != b]
    count = len(edges)
    costs = bsfw.LinkCosts(
        rng.uniform(1.0, 2.0, count), rng.uniform(2.0, 6.0, count), rng.uniform(0.0, 1.0, count),
        rng.choice([0.0, 1.0, 1.5, 4.0, 5.0], count), rng.choice([0.0, 0.3], count),
    )  # fmt: skip
    return costs, bsfw.PathPolytope(edges, demands, zones if centroids else ())


def braess(bridge):
    """Six drivers from 0 to 3; roads 1 + 10 v and 50 + v, and a bridge 10 + v from 1 to 2."""
    edges = [(0, 1), (2, 3), (0, 2), (1, 3)] + [(1, 2)] * bridge
    free_flow, b = np.array([1.0, 1.0, 50.0, 50.0, 10.0]), np.array([10.0, 10.0, 1 / 50, 1 / 50, 1 / 10])
    count = len(edges)
    costs = bsfw.LinkCosts(free_flow[:count], 1.0, b[:count], 1.0)
    return costs, bsfw.PathPolytope(edges, [(0, 3, 6.0)])


def published(name):
    prefix = Path(os.environ.get("BSFW_DATA", "")) / "networks" / name
    if not Path(f"{prefix}_net.tntp").exists():
        pytest.skip(f"needs the network {name} under BSFW_DATA")
    return bsfw.datasets.read_tntp(prefix)
