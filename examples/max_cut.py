"""Max-cut of a graph by a low-rank semidefinite relaxation.

A cut is a sign for each node, and X = x x^T has X_ii = 1 and X_ij = -1 exactly on the edges that are cut. For signs
(X_ij + 1)^2 / 2 = X_ij + 1, so the fewest uncut edges have the least sum of squares: drop "rank one", and what is left
is a least-squares problem over positive semidefinite matrices of trace n, observed on the diagonal and on the edges.
`bsfw.minimize` keeps X as a sum of u u^T; a random hyperplane through the rows of its factor gives cuts.
"""

import numpy as np

import bsfw


def random_graph(nodes, degree, rng):
    """Edges (i, j), i < j, of a random graph whose nodes have `degree` neighbours on average."""
    pairs = rng.integers(nodes, size=(3 * nodes * degree // 2, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    return rng.permutation(pairs)[: nodes * degree // 2]


def relaxation(nodes, edges, diagonal_weight=10.0):
    """The objective: -1 is wanted on the edges, +1 on the diagonal, the latter `diagonal_weight` times as urgently."""
    every = np.arange(nodes)
    rows, cols = np.concatenate([edges[:, 0], every]), np.concatenate([edges[:, 1], every])
    values = np.concatenate([-np.ones(len(edges)), np.ones(nodes)])
    weight = np.concatenate([np.ones(len(edges)), np.full(nodes, diagonal_weight)])
    return bsfw.MatrixCompletion((rows, cols, values, (nodes, nodes)), "squared", sample_weight=weight)


def best_cut(x, edges, rng, tries=50):
    """The most edges that one of `tries` random hyperplanes cuts, and the signs."""
    left, values, _ = x.factors()
    rows = left * np.sqrt(values)
    signs = np.where(rows @ rng.standard_normal((rows.shape[1], tries)) > 0, 1, -1)
    sizes = np.count_nonzero(signs[edges[:, 0]] != signs[edges[:, 1]], axis=0)
    return int(sizes.max()), signs[:, np.argmax(sizes)]


def main(nodes=500, degree=8, max_iter=200, seed=0):
    rng = np.random.default_rng(seed)
    edges = random_graph(nodes, degree, rng)
    result = bsfw.minimize(
        relaxation(nodes, edges), bsfw.Spectraplex(nodes, tolerance=1e-3), step="line-search", max_rounds=3,
        max_iter=max_iter, rng=seed,
    )  # fmt: skip
    size, signs = best_cut(result.x, edges, rng)
    print(f"{result.x!r}, f = {result.fun:.4f}")
    print(f"{size} of {len(edges)} edges are cut; signs drawn by lot cut {len(edges) // 2} on average")
    return result, size, signs, edges


if __name__ == "__main__":
    main()
