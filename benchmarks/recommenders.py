"""Peers of the completion benchmark: what people use to predict ratings, and softImpute. One thread, CPU seconds.

`least_squares` and `soft_impute` are ours, in Numba; cmfrec, scikit-surprise and myfm are run where they are installed
(``pip install bsfw[recommenders]``). A curve is a list of (CPU seconds, error on the held-out ratings).
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from bsfw.datasets import Ratings
from bsfw.lowrank import LowRank
from bsfw.objectives.completion import MatrixCompletion

Point = tuple[float, float]
"""CPU seconds, and the test RMSE or the gap then."""


class Clock:
    """CPU seconds of this process between start and stop, summed."""

    def __init__(self) -> None:
        self.seconds, self._since = 0.0, 0.0

    def start(self) -> None:
        self._since = time.process_time()

    def stop(self) -> None:
        self.seconds += time.process_time() - self._since


_FAST = {"reassoc", "contract", "nsz", "arcp"}


# --- alternating least squares with joint biases ---------------------------------------------------------------------


@numba.njit(cache=True, fastmath=_FAST)
def _solve_rows(indptr, cols, targets, fixed, offsets, ridges, bias_ridge, out, steps, work):
    """Conjugate gradients on min over u of sum_p (<u, fixed_j> + offset_j - target_p)^2 + ridge_i |u|^2, row by row.

    The last column of `fixed` is one: its coefficient is the bias of the row, with a ridge of its own. Warm starts from
    `out`; `work` has five rows.
    """
    width = fixed.shape[1]
    residual, direction, image = work[0], work[1], work[2]
    for i in range(indptr.size - 1):
        first, last = indptr[i], indptr[i + 1]
        ridge = ridges[i]
        for k in range(width):
            residual[k] = -(ridge if k < width - 1 else bias_ridge) * out[i, k]
        for p in range(first, last):
            j = cols[p]
            error = targets[p] - offsets[j]
            for k in range(width):
                error -= out[i, k] * fixed[j, k]
            for k in range(width):
                residual[k] += error * fixed[j, k]
        square = np.float32(0.0)
        for k in range(width):
            direction[k] = residual[k]
            square += residual[k] * residual[k]
        for _ in range(steps):
            if square < 1e-10:
                break
            for k in range(width):
                image[k] = (ridge if k < width - 1 else bias_ridge) * direction[k]
            for p in range(first, last):
                j = cols[p]
                s = np.float32(0.0)
                for k in range(width):
                    s += direction[k] * fixed[j, k]
                for k in range(width):
                    image[k] += s * fixed[j, k]
            curvature = np.float32(0.0)
            for k in range(width):
                curvature += direction[k] * image[k]
            length = square / curvature
            new = np.float32(0.0)
            for k in range(width):
                out[i, k] += length * direction[k]
                residual[k] -= length * image[k]
                new += residual[k] * residual[k]
            for k in range(width):
                direction[k] = residual[k] + (new / square) * direction[k]
            square = new


def least_squares(
    train: Ratings, test: Ratings, rank: int, weight: float, alpha: float, bias: float = 4.0, seed: int = 0
) -> Iterator[Point]:
    """Alternating least squares in float32: biases fitted with the factors, penalty weight n^alpha, 3 CG steps a row.

    A point after each sweep over users and items; the preparation of the data is on the clock.
    """
    started = time.process_time()
    from scipy.sparse import csr_array

    mean = float(train.values.mean())
    by_row = csr_array(((train.values - mean).astype(np.float32), (train.rows, train.cols)), shape=train.shape)
    by_col = by_row.T.tocsr()
    rng, sides = np.random.default_rng(seed), []
    tables = [0.1 * rng.standard_normal((size, rank + 1)).astype(np.float32) for size in train.shape]
    for table in tables:
        table[:, -1] = 0.0
    fixed = [np.empty_like(table) for table in tables]
    for side, data in enumerate((by_row, by_col)):
        counts = np.diff(data.indptr)
        ridges = (weight * np.maximum(counts, 1) ** alpha).astype(np.float32)
        sides.append((data.indptr.astype(np.int64), data.indices.astype(np.int64), data.data, ridges, 1 - side))
    work = np.empty((3, rank + 1), np.float32)
    seconds = 0.0
    while True:
        for side, (indptr, cols, data, ridges, other) in enumerate(sides):
            fixed[other][:, :-1], fixed[other][:, -1] = tables[other][:, :-1], 1.0
            offsets = tables[other][:, -1].copy()
            _solve_rows(
                indptr, cols, data, fixed[other], offsets, ridges, np.float32(bias), tables[side], 3, work
            )  # fmt: skip
        seconds += time.process_time() - started
        users, items = tables
        fitted = np.einsum("pk,pk->p", users[test.rows, :-1], items[test.cols, :-1])
        fitted += mean + users[test.rows, -1] + items[test.cols, -1]
        yield seconds, float(np.sqrt(np.mean(np.square(fitted - test.values))))
        started = time.process_time()


# --- softImpute by alternating least squares -------------------------------------------------------------------------


def soft_impute(
    objective: MatrixCompletion, penalty: float, rank: int, seed: int = 0
) -> Iterator[tuple[float, LowRank]]:
    """softImpute-ALS (Hastie, Mazumder, Lee, Zadeh 2015) for f(X) + penalty ||X||_*: CPU seconds and X, by sweeps."""
    from bsfw.engines.newton import passes

    started = time.process_time()
    (n, m), count = objective.size, objective.n_samples
    rank = min(rank, n, m)
    shrink = penalty * count  # of the problem with the sum of the losses
    rng = np.random.default_rng(seed)
    left, values, right = np.linalg.qr(rng.standard_normal((n, rank)))[0], np.zeros(rank), np.zeros((m, rank))
    residual, by_left, by_right = objective.y.astype(float), np.empty((n, rank)), np.empty((m, rank))

    def entries() -> None:
        passes.entries(objective.indptr, objective.cols, left * values, right, residual)
        np.subtract(objective.y, residual, out=residual)

    seconds = 0.0
    while True:
        for columns in (True, False):
            passes.adjoint(objective.indptr, objective.cols, residual, left, right, by_left, by_right)
            ridge = values / (values + shrink) if values.any() else np.ones(rank)
            if columns:
                u, values, vt = np.linalg.svd((by_right + right * values) * ridge, full_matrices=False)
                right, left = u, left @ vt.T
            else:
                u, values, vt = np.linalg.svd((by_left + left * values) * ridge, full_matrices=False)
                left, right = u, right @ vt.T
            entries()
        seconds += time.process_time() - started
        yield seconds, LowRank(left, values, right)
        started = time.process_time()


# --- packages --------------------------------------------------------------------------------------------------------


def cmfrec(train: Ratings, test: Ratings, rank: int, weight: float, sweeps: int, implicit: bool) -> Point:
    from cmfrec import CMF
    from scipy import sparse

    model = CMF(
        k=rank, lambda_=weight, add_implicit_features=implicit, use_float=True, nthreads=1, verbose=False,
        precompute_for_predictions=False, niter=sweeps,
    )  # fmt: skip
    observed = sparse.coo_matrix((train.values, (train.rows, train.cols)), shape=train.shape)
    started = time.process_time()
    model.fit(observed)  # of a table it asks pandas for what pandas 4 drops
    seconds = time.process_time() - started
    return seconds, _rmse(model.predict(test.rows, test.cols), test)


def surprise(train: Ratings, test: Ratings, rank: int, epochs: int) -> Point:
    import pandas
    from surprise import SVD, Dataset, Reader

    table = pandas.DataFrame({"UserId": train.rows, "ItemId": train.cols, "Rating": train.values})
    data = Dataset.load_from_df(table, Reader(rating_scale=(1, 5))).build_full_trainset()
    started = time.process_time()
    model = SVD(n_factors=rank, n_epochs=epochs, random_state=0).fit(data)
    seconds = time.process_time() - started
    pairs = zip(test.rows, test.cols, strict=True)
    return seconds, _rmse([model.predict(u, i, clip=False).est for u, i in pairs], test)


def myfm(train: Ratings, test: Ratings, rank: int, iterations: int) -> Point:
    """Bayesian factorisation machine with implicit features of users, by Gibbs sampling."""
    from scipy import sparse

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pkg_resources
        import myfm as package
    users, items = train.shape
    seen = sparse.csr_matrix((np.ones(len(train.rows)), (train.rows, train.cols)), shape=train.shape)
    seen = sparse.diags(1.0 / np.sqrt(np.maximum(np.diff(seen.indptr), 1))) @ seen

    def blocks(ratings: Ratings) -> list[Any]:
        eye = sparse.identity(users, format="csr")
        return [
            package.RelationBlock(ratings.rows, sparse.hstack([eye, seen]).tocsr()),
            package.RelationBlock(ratings.cols, sparse.identity(items, format="csr")),
        ]

    shapes = [users, items, items]
    model = package.MyFMRegressor(rank=rank, random_seed=0)
    started = time.process_time()
    model.fit(None, train.values, X_rel=blocks(train), n_iter=iterations, group_shapes=shapes)
    seconds = time.process_time() - started
    return seconds, _rmse(model.predict(None, X_rel=blocks(test)), test)


def available(package: str) -> bool:
    """Whether that package can be imported."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(package)
    except ImportError:
        return False
    return True


def _rmse(predicted: Any, test: Ratings) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(predicted) - test.values))))
