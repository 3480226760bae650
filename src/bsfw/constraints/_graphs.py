"""A directed graph as people have it, made into numbered edges and demands."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .._arrays import Array, plain, require_finite, shown

_ACCEPTED = (
    "edges must be a nonempty list of pairs (tail, head) of node numbers or names, a directed networkx graph, or a "
    "square SciPy sparse matrix"
)


def numbered(graph: Any) -> tuple[Array, tuple[Hashable, ...] | None]:
    """Tail and head of each edge, by number, and the names of the nodes; None where nodes are numbers already."""
    if hasattr(graph, "is_directed") and hasattr(graph, "nodes"):
        edges, names = _of_networkx(graph)
    elif _is_sparse(graph):
        edges, names = _of_matrix(graph), None
    else:
        edges, names = _of_pairs(graph)
    loops = int((edges[:, 0] == edges[:, 1]).sum())
    if loops:
        raise ValueError(f"edges holds {loops} loops (tail equal to head), which no path uses; remove them.")
    return edges, names


def _of_networkx(graph: Any) -> tuple[Array, tuple[Hashable, ...]]:
    if not graph.is_directed():
        raise ValueError(
            "the graph is undirected, and flows have a direction; graph.to_directed() has an edge each way."
        )
    return _by_name([(tail, head) for tail, head in graph.edges()], tuple(graph.nodes))


def _of_matrix(matrix: Any) -> Array:
    from scipy import sparse

    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.nnz == 0:
        raise ValueError(f"{_ACCEPTED}, got one of shape {matrix.shape} with {matrix.nnz} entries.")
    rows = sparse.csr_array(matrix, copy=True)
    rows.sum_duplicates()  # which sorts, too
    tails = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.stack([tails, rows.indices], axis=1).astype(np.intp)


def _of_pairs(edges: Any) -> tuple[Array, tuple[Hashable, ...] | None]:
    try:
        array = plain(edges, "edges")
    except ValueError:  # names that are tuples of several lengths
        array = np.empty(0)
    if array.ndim == 2 and array.shape[1] == 2 and len(array) and array.dtype.kind in "iu":
        if array.min() < 0:
            raise ValueError(f"nodes are numbered from 0, but edges holds {int(array.min())}.")
        return array.astype(np.intp), None
    pairs = list(edges) if isinstance(edges, (list, tuple)) else array.tolist() if array.ndim == 2 else []
    if not pairs or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"{_ACCEPTED}, got {shown(edges)}.")
    ends = [end for pair in pairs for end in pair]
    if wrong := [end for end in ends if not _is_name(end)]:
        raise ValueError(f"{_ACCEPTED}, got the node {shown(wrong[0])}.")
    return _by_name(pairs, tuple(dict.fromkeys(ends)))


def _is_name(node: Any) -> bool:
    try:
        hash(node)
    except TypeError:  # a tuple that holds a list, say
        return False
    return not isinstance(node, (float, complex, bool))


def _by_name(pairs: list[Any], names: tuple[Hashable, ...]) -> tuple[Array, tuple[Hashable, ...]]:
    if not pairs:
        raise ValueError(f"{_ACCEPTED}, got a graph without edges.")
    number = {name: k for k, name in enumerate(names)}
    return np.array([(number[tail], number[head]) for tail, head in pairs], dtype=np.intp), names


def _is_sparse(value: Any) -> bool:
    from scipy import sparse

    return bool(sparse.issparse(value))


def numbered_demands(demands: Any, names: tuple[Hashable, ...] | None) -> Array:
    """Rows (source, target, amount), the first two as node numbers."""
    array = _numbers(demands) if names is None else _named(demands, names)
    if array.ndim != 2 or array.shape[1] != 3 or len(array) == 0:
        raise ValueError(
            f"demands must be a nonempty list of (source, target, amount), got an array of shape {array.shape}."
        )
    require_finite(array, "demands")
    if (array[:, :2] < 0).any() or (array[:, :2] != np.floor(array[:, :2])).any():
        raise ValueError("source and target of a demand must be node numbers, whole and not negative.")
    if (array[:, 0] == array[:, 1]).any():
        raise ValueError("a demand has the same source and target, so nothing would flow; remove it.")
    if (array[:, 2] <= 0).any():
        raise ValueError("the amount of every demand must be positive; remove demands of zero.")
    return array


def numbered_nodes(nodes: Any, names: tuple[Hashable, ...] | None, count: int) -> Array:
    """Distinct nodes by number, sorted; `count` is how many there are."""
    given = nodes.tolist() if isinstance(nodes, np.ndarray) else nodes
    if not isinstance(given, (list, tuple, set, frozenset, range)):
        raise ValueError(f"centroids must be a list of nodes, got {shown(nodes)}.")
    number: dict[Any, int] = {k: k for k in range(count)} if names is None else {n: k for k, n in enumerate(names)}
    unknown = [node for node in given if not _is_name(node) or node not in number]
    if unknown:
        raise ValueError(f"centroids holds {shown(unknown[0])}, which is no node of the graph of {count} nodes.")
    return np.unique(np.array([number[node] for node in given], dtype=np.intp))


def _numbers(demands: Any) -> Array:
    try:
        return np.array(demands, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"demands must be a nonempty list of (source, target, amount), numbers as the nodes of edges are, got "
            f"{shown(demands)}."
        ) from None


def _named(demands: Any, names: tuple[Hashable, ...]) -> Array:
    rows = demands if isinstance(demands, (list, tuple)) else plain(demands, "demands").tolist()
    number, found = {name: k for k, name in enumerate(names)}, []
    for k, row in enumerate(rows if isinstance(rows, (list, tuple)) else [rows]):
        if not isinstance(row, (list, tuple)) or len(row) != 3:
            raise ValueError(f"demands must be a nonempty list of (source, target, amount), but number {k} is {row!r}.")
        unknown = [name for name in row[:2] if not _is_name(name) or name not in number]
        if unknown:
            raise ValueError(
                f"demand number {k} names {shown(unknown[0])}, which is no node of the graph; its {len(names)} nodes "
                f"are {shown(names)}."
            )
        found.append((number[row[0]], number[row[1]], row[2]))
    return _numbers(found)
