"""The entries of a row in the support, as a list: a margin then costs those, not all entries of the row.

Every sample has a list of nodes, one for each entry of its row in a column of the support. The nodes of a column are
numbered like its entries in the CSC form of the data, from a multiple of BLOCK on. So a node's block tells its slot and
its entry, and nothing is kept for a node but the one after it in the list.
"""

from __future__ import annotations

import numpy as np

from ._jit import kernel
from .rows import column_entry, column_span, member

BLOCK_BITS, BLOCK = np.uint64(4), 16
"""Nodes of a block. Block 0 has none, for 0 ends a list."""
ONE, END = np.uint64(1), np.uint32(0)


@kernel()
def list_support(model, record, support, lists):
    """Enter the columns that are new in the support. O(their entries). False if there is no room for one."""
    heads, links, listed = lists.heads, lists.links, lists.listed
    for slot in range(listed[0] + 1, record[0].count + 1):
        start, end = column_span(model.columns, model.column_indptr, support.coordinates[slot])
        block = np.uint64(listed[1]) + ONE
        first = block << BLOCK_BITS
        last = (first + (end - start)) >> BLOCK_BITS
        if last >= np.uint64(lists.owners.size):
            return False
        for b in range(block, last + ONE):
            lists.owners[b], lists.shifts[b] = slot, start - first
        for p in range(start, end):
            i, node = np.uint64(member(model.column_indices, p)), first + (p - start)
            links[node], heads[i] = heads[i], node
        listed[0], listed[1] = slot, last
    return True


@kernel()
def listed_margins(model, support, lists, samples, batch, other):
    """<a_i, x> of these samples into `batch.margins`, and <a_i, other> into `batch.others` if it is asked for. O(their
    nodes).

    All lists are gone through together, one node of each at a time and without a branch: the nodes lie anywhere, and
    so many of them are on their way at once.
    """
    margins, others, nodes, places, left = batch.margins, batch.others, batch.nodes, batch.samples, 0
    for k in range(samples.size):
        margins[k] = others[k] = 0.0
        nodes[left], places[left] = lists.heads[samples[k]], k
        left += nodes[left] != END
    while left > 0:
        still = 0
        for a in range(left):
            k, node = places[a], np.uint64(nodes[a])
            slot, p = lists.owners[node >> BLOCK_BITS], node + lists.shifts[node >> BLOCK_BITS]
            value = column_entry(model.columns, support.coordinates[slot], p)
            margins[k] += value * support.x[slot]
            if other.size > 0:
                others[k] += value * other[slot]
            nodes[still], places[still] = lists.links[node], k
            still += nodes[still] != END
        left = still
