"""The compiled parts of the corrective method on paths.

Paths are rows of a ragged table: path j has the edges ``edges[starts[j]:starts[j + 1]]``, from its target back to its
source, as a tree is walked; so the costs of equal paths are equal sums, to the last bit. Demand k has the paths
first[k] to first[k + 1] - 1, with their flows.
"""

from __future__ import annotations

import numpy as np

from ...kernels._jit import jit

CLOSE, TRIALS = 0.1, 4
"""An exchange between two paths ends when their difference in cost is this fraction of what it was; trials for that."""


@jit()
def load(starts, edges, flow, x):
    """x = the flows of all paths, edge by edge."""
    x[:] = 0.0
    for j in range(flow.size):
        if flow[j] != 0.0:
            for p in range(starts[j], starts[j + 1]):
                x[edges[p]] += flow[j]


@jit()
def survey(trees, origin, source, target, tails, first, starts, edges, flow, costs, best, joins):
    """For each demand the cheapest of its paths in use (`best`, by its number, -1 without any), and whether the path in
    the tree is cheaper. Returns the numbers of paths and of their edges if those join and the unused leave."""
    paths, size = 0, 0
    for k in range(origin.size):
        cheapest = np.inf
        best[k] = -1
        for j in range(first[k], first[k + 1]):
            if flow[j] > 0.0:
                total = 0.0
                for p in range(starts[j], starts[j + 1]):
                    total += costs[edges[p]]
                if total < cheapest:
                    cheapest = total
                    best[k] = j
                paths += 1
                size += starts[j + 1] - starts[j]
        node, total, length = target[k], 0.0, 0
        while node != source[k]:
            edge = trees[origin[k], node]
            total += costs[edge]
            length += 1
            node = tails[edge]
        joins[k] = total < cheapest
        if joins[k]:
            paths += 1
            size += length
    return paths, size


@jit()
def merge(
    trees, origin, source, target, tails, first, starts, edges, flow, best, joins, new_first, new_starts, new_edges,
    new_flow,
):  # fmt: skip
    """Write the paths in use, and the joining ones with flow 0 behind them. `best` then counts among the new."""
    j_new, p_new = 0, 0
    new_starts[0] = 0
    for k in range(origin.size):
        new_first[k] = j_new
        cheapest = best[k]
        for j in range(first[k], first[k + 1]):
            if flow[j] > 0.0:
                for p in range(starts[j], starts[j + 1]):
                    new_edges[p_new] = edges[p]
                    p_new += 1
                new_flow[j_new] = flow[j]
                if j == cheapest:
                    best[k] = j_new
                j_new += 1
                new_starts[j_new] = p_new
        if joins[k]:
            node = target[k]
            while node != source[k]:
                edge = trees[origin[k], node]
                new_edges[p_new] = edge
                p_new += 1
                node = tails[edge]
            new_flow[j_new] = 0.0
            best[k] = j_new
            j_new += 1
            new_starts[j_new] = p_new
    new_first[origin.size] = j_new


@jit()
def _evaluate(links, e, x, cost, slope):
    """Cost and slope of an edge at its flow."""
    base, rise, capacity, power = links
    r, p = max(x[e], 0.0) / capacity[e], power[e]
    if p == 4.0:
        steep = r * r * r
    elif p >= 1.0:
        steep = r ** (p - 1.0)
    else:  # a cost that does not depend on the flow
        cost[e] = base[e] + rise[e]
        slope[e] = 0.0
        return
    cost[e] = base[e] + rise[e] * steep * r
    slope[e] = rise[e] * p * steep / capacity[e]


@jit()
def evaluate(links, x, cost, slope):
    """Costs and slopes of all edges."""
    for e in range(x.size):
        _evaluate(links, e, x, cost, slope)


@jit()
def _shift(links, amount, more, fewer, counts, x, cost, slope):
    """Move flow from the edges `fewer` to the edges `more`; the difference in cost, fewer - more, and its slope."""
    difference, steepness = 0.0, 0.0
    for i in range(counts[1]):
        e = fewer[i]
        x[e] -= amount
        _evaluate(links, e, x, cost, slope)
        difference += cost[e]
        steepness += slope[e]
    for i in range(counts[0]):
        e = more[i]
        x[e] += amount
        _evaluate(links, e, x, cost, slope)
        difference -= cost[e]
        steepness += slope[e]
    return difference, steepness


@jit()
def _difference(starts, edges, best, j, token, marks, more, fewer, counts, cost, slope):
    """Edges of only one of two paths, into `more` and `fewer`; the difference in cost, and its slope."""
    for p in range(starts[j], starts[j + 1]):
        marks[edges[p]] = token
    counts[0], counts[1] = 0, 0
    difference, steepness = 0.0, 0.0
    for p in range(starts[best], starts[best + 1]):
        e = edges[p]
        if marks[e] == token:
            marks[e] = token + 1
        else:
            more[counts[0]] = e
            counts[0] += 1
            difference -= cost[e]
            steepness += slope[e]
    for p in range(starts[j], starts[j + 1]):
        e = edges[p]
        if marks[e] == token:
            fewer[counts[1]] = e
            counts[1] += 1
            difference += cost[e]
            steepness += slope[e]
    return difference, steepness


@jit()
def _exchange(links, best, j, difference, steepness, more, fewer, counts, flow, x, cost, slope):
    """Newton's step for the flow to move from path j to path `best`, within their flows; where it went too far, back by
    secants. Returns the trials."""
    trials, at, low, at_low = 0, 0.0, 0.0, difference  # `low`: where the difference still has its first sign
    step = difference / steepness if steepness > 0.0 else np.copysign(np.inf, difference)
    high, at_high = step, 0.0
    while True:
        # Largest moves: all of path j, or, backwards, all of the best path.
        step = min(max(step, -flow[best]), flow[j])
        found, steepness = _shift(links, step - at, more, fewer, counts, x, cost, slope)
        at = step
        trials += 1
        too_far = found * difference < 0.0
        if trials == TRIALS or abs(found) <= CLOSE * abs(difference) or (trials == 1 and not too_far):
            break
        if too_far:
            high, at_high = at, found
        else:
            low, at_low = at, found
        step = low + (high - low) * at_low / (at_low - at_high)
    flow[j] -= at
    flow[best] += at
    return trials


@jit()
def sweep(links, several, first, starts, edges, flow, x, cost, slope, marks, token, more, fewer, counts):
    """Exchange flows between each path and the cheapest of its demand, once, for the demands in `several`.

    Returns
    -------
    gap : float
        What users paid more than on the cheapest of their demand's paths, each demand as it was met.
    evaluated : int
        Costs of single edges that were evaluated.
    token : int64
        For the next call: larger than all marks.
    """
    gap, evaluated = 0.0, 0
    for k in several:
        best, cheapest, paid, used = -1, np.inf, 0.0, 0.0
        for j in range(first[k], first[k + 1]):
            total = 0.0
            for p in range(starts[j], starts[j + 1]):
                total += cost[edges[p]]
            if total < cheapest:
                cheapest, best = total, j
            paid += flow[j] * total
            used += flow[j]
        gap += max(paid - used * cheapest, 0.0)
        for j in range(first[k], first[k + 1]):
            if j == best or flow[j] == 0.0:
                continue
            difference, steepness = _difference(starts, edges, best, j, token, marks, more, fewer, counts, cost, slope)
            token += 2
            if difference != 0.0:
                trials = _exchange(links, best, j, difference, steepness, more, fewer, counts, flow, x, cost, slope)
                evaluated += trials * (counts[0] + counts[1])
    return gap, evaluated, token


@jit()
def rescale(first, flow, amount, least):
    """Drop flows below `least` of their demand, and let the others add up to it."""
    for k in range(amount.size):
        total = 0.0
        for j in range(first[k], first[k + 1]):
            if flow[j] <= least * amount[k]:
                flow[j] = 0.0
            total += flow[j]
        for j in range(first[k], first[k + 1]):
            flow[j] *= amount[k] / total
