"""What a completed matrix predicts: ratings of users and items by their ids, and the items to recommend."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._arrays import Array, positive_int

_BLOCK = 2**20
"""Numbers in a temporary array."""


@dataclass(frozen=True, eq=False)
class CompletionModel:
    """constant + user_bias[i] + item_bias[j] + <left[i], right[j]>, with the ids of users and items.

    The field `model` of the results of `MatrixCompletion`. A user or an item without a rating, or whose id is unknown,
    has no bias and no factor: it is answered by what is known of the other side, at last by the mean.

    Attributes
    ----------
    constant : float
    user_bias, item_bias : array
    left, right : array
        Factors of users and items, a row each.
    user_ids, item_ids : array
        By row and by column, without repetition: numbers from 0 if the observations came without ids.
    indptr, seen : array
        User i has rated the columns seen[indptr[i] : indptr[i + 1]].
    """

    constant: float
    user_bias: Array = field(repr=False)
    item_bias: Array = field(repr=False)
    left: Array = field(repr=False)
    right: Array = field(repr=False)
    user_ids: Array = field(repr=False)
    item_ids: Array = field(repr=False)
    indptr: Array = field(repr=False)
    seen: Array = field(repr=False)

    def entries(self, rows: Any, cols: Any) -> Array:
        """Predictions by row and column numbers, as in `Ratings.rows` and `Ratings.cols`; -1 stands for unknown."""
        rows, cols = np.broadcast_arrays(np.asarray(rows), np.asarray(cols))
        out = np.empty(rows.size)
        flat = rows.ravel(), cols.ravel()
        for index, size, name in zip(flat, (len(self.left), len(self.right)), ("rows", "cols"), strict=True):
            if index.dtype.kind not in "iu":
                raise TypeError(f"{name} must be whole numbers, got entries of type {index.dtype}; ids go to predict.")
            if index.size and (index.min() < -1 or index.max() >= size):
                raise ValueError(
                    f"{name} must lie between 0 and {size - 1}, or be -1, got {index.min()} to {index.max()}."
                )
        step = max(1, _BLOCK // max(self.left.shape[1], 1))
        for first in range(0, out.size, step):
            i, j = (index[first : first + step] for index in flat)
            fitted = np.einsum("pk,pk->p", self.left[i], self.right[j])
            fitted[(i < 0) | (j < 0)] = 0.0
            fitted += np.where(i < 0, 0.0, self.user_bias[i])
            out[first : first + step] = self.constant + fitted + np.where(j < 0, 0.0, self.item_bias[j])
        return out.reshape(rows.shape)

    def predict(self, users: Any, items: Any) -> Array:
        """Predicted ratings of users[i] for items[i], by their ids; one id of a side goes with all of the other."""
        return self.entries(_places(users, self.user_ids), _places(items, self.item_ids))

    def top(self, user: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The n items with the highest predictions that this user has not rated: (id, prediction), best first.

        For an unknown user the items with the highest biases. Equal predictions come in the order of the ids.
        """
        n = positive_int(n, "n")
        place = int(_places(user, self.user_ids))
        scores = self.entries(np.full(len(self.right), place), np.arange(len(self.right)))
        if place >= 0:
            scores[self.seen[self.indptr[place] : self.indptr[place + 1]]] = -np.inf
        order = np.argsort(-scores, kind="stable")[:n]
        return [(self.item_ids[j].item() if hasattr(self.item_ids[j], "item") else self.item_ids[j], float(scores[j]))
                for j in order if scores[j] > -np.inf]  # fmt: skip


def _places(wanted: Any, ids: Array) -> Array:
    """Where the wanted ids are among `ids`; -1 for those that are unknown."""
    wanted = np.asarray(wanted)
    if ids.dtype.kind in "iu" and wanted.dtype.kind in "iu":
        order = np.argsort(ids, kind="stable")
        found = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
        return np.where(ids[order[found]] == wanted, order[found], -1)
    known = {key: place for place, key in enumerate(ids.tolist())}
    return np.array([known.get(key, -1) for key in wanted.ravel().tolist()], dtype=np.int64).reshape(wanted.shape)
