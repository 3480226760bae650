"""What a compiled run decides by counting: which of two ways to the same numbers is cheaper on this problem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...estimators import LSVRG, SAGA, SARAH
from ...estimators.base import BatchEstimator, CoordinateEstimator
from ...kernels import lists, onehot
from ...steps import ImageStep, LineSearch

WIDE, WIDE_ROWS = 256, 4
"""With n so many times the coordinates, or the entries of rows, that an iteration writes into m, Boost keeps bounds of
|m| instead of a sweep over m."""
GRAM_SHARE = 4
"""The Gram matrix of the support has at most one number for so many samples."""
LISTED_SHARE = 16
"""With more than one entry in so many in the support, margins that follow x are cheaper than lists of the support."""
COLUMNS_A_STEP, VERTICES_A_STEP = 8, 3
"""Different columns that a boosted step adds to x, about, where vertices have one nonzero; as many groups; and vertices
of the k-sparse polytope, with few coordinates in common."""


class Choices:
    """Of a run over the set `of` (`constraints._compiled_boost`), by the sizes of its data."""

    def __init__(self, objective: Any, estimator: Any, step: Any, of: Any, n: int) -> None:
        self.objective, self.estimator, self.of, self.n, self.m = objective, estimator, of, n, objective.n_samples
        self.by_coordinates = isinstance(estimator, CoordinateEstimator)
        self.image, self.searches_lines = isinstance(step, ImageStep), isinstance(step, LineSearch)
        self.population, self.size = self.m, 0
        if isinstance(estimator, CoordinateEstimator):
            self.population, self.size = n, estimator.size(n)
        elif isinstance(estimator, BatchEstimator):
            self.size = estimator.batch(self.m)
        self.dense = isinstance(objective.A, np.ndarray)
        self.entries: int = objective.A.size if self.dense else objective.A.nnz
        self.small = n**2 <= 2 * self.m  # the Gram matrix of all columns takes no more room than two numbers a sample
        self.folds = self._folds()
        self.bounded = type(of.kernel(0, np.empty(0, np.int64))) is onehot.L1 and self._writes_little()

    def _folds(self) -> bool:
        """Whether SAGA and L-SVRG form m by a pass over n, rather than by adding the batch and taking it out again: the
        pass costs n, taking out costs the nonzeros of the batch; the pass needs one more vector of n."""
        if not isinstance(self.estimator, (SAGA, LSVRG)):
            return False
        return bool(self.n <= min(2 * self.size * self.entries / self.m, 3 * self.m))

    def _writes_little(self) -> bool:
        """Whether an iteration writes so little into m that bounds of |m| cost less than a sweep over m."""
        if self.by_coordinates or self.dense:
            return self.by_coordinates and self.n >= WIDE * self.size
        return 0 < WIDE_ROWS * self.size * self.entries <= self.n * self.m and not self.folds

    def columns_pay(self) -> bool:
        """Whether slopes by the columns of the support (lists of them, later margins that follow x) are cheaper than
        slopes by the rows of the batch: a step adds some columns, as long as those that many rows have (SARAH also
        copies the margins); without them the rows of the batch are read."""
        if self.dense:
            return False
        if self.of.keyed:
            popular, others = float(COLUMNS_A_STEP), 0.0
        elif hasattr(self.of, "starts"):  # a group has a popular column
            popular, others = COLUMNS_A_STEP, COLUMNS_A_STEP * (self.n / (self.of.starts.size - 1) - 1.0)
        else:
            popular, others = max(COLUMNS_A_STEP, VERTICES_A_STEP * self.of.widest), 0.0
        step = popular * self.objective.column_length + others * self.entries / self.n
        if isinstance(self.estimator, SARAH):
            step += self.m
        return bool(step < (self.size or self.m) * self.entries / self.m)

    def follows(self) -> bool:
        """Whether margins follow x from the start: where steps or estimates by columns read them, or full passes do."""
        return self.by_coordinates or self.searches_lines or (self.estimator.exact and self.columns_pay())

    def blocks_of_lists(self, held: int) -> int:
        """Blocks of nodes for the lists of the support, 0 where there are none.

        Lists are for batches that are worth a copy of the data in columns, as far as there is room for them beside the
        bytes `held`: three vectors of n and three of m are what a run may take.
        """
        n, m = self.n, self.m
        if self.by_coordinates or not self.size or not self.columns_pay():
            return 0
        held += 4 * (n + m) + (n + m) // 4 + (10 * m if self.image else 0)  # slots, heads; sets; image and Gram matrix
        room = max(0, 24 * (n + m) - held) // (4 * lists.BLOCK + 12)
        entries = self.entries / LISTED_SHARE
        return int(min(room, entries / lists.BLOCK + entries / self.objective.column_length))  # a column begins a block

    def gram_side(self) -> int:
        """Columns for which the growing Gram matrix has room; none where that of all columns is there."""
        return math.isqrt(self.m // GRAM_SHARE) if self.image and not self.small else 0

    def image_room(self) -> bool:
        """Whether there is a vector of m for A vbar: line searches need it; steps in the image save one of two passes
        over the columns of their vertices, and may take it if it is small beside n."""
        return self.searches_lines or (self.image and not self.small and self.n > self.m)
