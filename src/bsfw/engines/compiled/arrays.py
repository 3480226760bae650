"""The arrays of a compiled run: those that a checkpoint saves, and those that can be made again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import Array
from ...boosting import zero_squared
from ...constraints._compiled_boost import GroupSet, make_bounds, make_rounds
from ...estimators import LSVRG, SAG, SAGA, SARAH, SEGA, FullGradient, HeavyBall
from ...estimators.lsvrg import CoinEstimator
from ...estimators.sag import refresh_period
from ...kernels import lists
from ...kernels.batches import GROUP, MOST_TOGETHER
from ...kernels.record import RECORD, Batch, BoostRule, Estimate, Gram, Lists, Margins, Model, Rule, Support, Work
from .choices import Choices
from .parts import loss_of

MARGIN_REFRESH = 2000
"""Iterations after which margins that follow x are formed anew."""
FLOOR_SHARE = 0.7
"""Rows are written with no care for the bounds of what is below this share of the largest."""
WINDOW = 2048
"""Rows over which a column is spread at a time, for the growing Gram matrix."""
COMPACT = ("coordinates", "x", "q", "previous", "vertex", "touched")
"""A slot per coordinate of the support or visited: their length is the run's own. The last one not all sets have."""


def capacity(wanted: int, n: int) -> int:
    """Length of the compact arrays: slot 0, the coordinates, and one more, so that the last is never used."""
    return min(wanted, n) + 2


def fresh_memory(choices: Choices, x: Array) -> dict[str, Any]:
    """What a checkpoint saves, at the start of a run from x."""
    of, n, m, estimator = choices.of, choices.n, choices.m, choices.estimator
    x = np.asarray(x, dtype=np.float64).ravel()
    support = of.support(x)
    size = capacity(2 * len(support) + 64, n)
    record, compact, coordinates = np.zeros(1, dtype=RECORD), np.zeros(size), np.zeros(size, dtype=np.int64)
    record["count"], record["scale"], record["margin_scale"], record["fitted_at"] = len(support), 1.0, 1.0, -1
    compact[1 : len(support) + 1], coordinates[1 : len(support) + 1] = x[support], support
    keeps_changes = isinstance(estimator, SEGA) or (isinstance(estimator, (SAGA, LSVRG)) and not choices.folds)
    memory = {
        "record": record,
        "g": np.zeros(n),
        "coordinates": coordinates,
        "x": compact,
        "previous": np.zeros(size if isinstance(estimator, (LSVRG, SARAH)) else 0),
        "q": np.zeros(size),
        "vertex": np.zeros(size),
        "table": np.zeros(0 if choices.by_coordinates or isinstance(estimator, HeavyBall) else m),
        "margins": np.zeros(m if choices.follows() else 0),
        "batch": np.zeros(choices.size, dtype=np.uint32),
        "change": np.zeros(choices.size if keeps_changes else 0),
        "base": np.zeros(n if choices.folds else 0),
    }
    if isinstance(of, GroupSet):
        memory["touched"] = of.touched(support, size)
    return memory


def make_rule(choices: Choices, refit: int) -> Rule:
    """The estimator as kernels know it; `refit` is how often the intercept is fitted, 0 if there is none."""
    estimator, refresh = choices.estimator, MARGIN_REFRESH
    if choices.size and not choices.by_coordinates:
        refresh = refresh_period(choices.m, choices.size)
    return Rule(
        probability=float(estimator.p(choices.m)) if isinstance(estimator, CoinEstimator) else 0.0,
        difference=float(getattr(estimator, "step", 0.0)),
        at_current=getattr(estimator, "point", "") == "current",
        zeros=isinstance(estimator, SAG) and estimator.table == "zeros",
        refresh=refresh,
        folds=choices.folds,
        exact=estimator.exact,
        refit=refit,
    )


def make_boost_rule(choices: Choices, max_rounds: int, min_gain: float) -> BoostRule:
    """K and delta of Boost, and what else it goes by."""
    share = 0.0 if choices.by_coordinates else FLOOR_SHARE
    return BoostRule(max_rounds, min_gain, zero_squared(np.float64), share)


def make_model(choices: Choices, by_columns: bool) -> Model:
    """The data and the loss; columns only where somebody asks for them."""
    objective = choices.objective
    A, weight = objective.A, objective.sample_weight
    if choices.dense:
        parts: tuple[Any, ...] = (A, None, None, objective.columns.T if by_columns else A[:0], None, None)
    elif by_columns or isinstance(choices.estimator, (FullGradient, LSVRG, SARAH)):
        csc = objective.columns
        parts = (A.data, A.indices, A.indptr, csc.data, csc.indices, csc.indptr)
    else:
        parts = (A.data, A.indices, A.indptr, A.data[:0], A.indices[:0], A.indptr[:0])
    weights = np.empty(0) if weight is None else np.asarray(weight, dtype=np.float64)
    return Model._make((*parts, np.asarray(objective.y, dtype=np.float64), weights, loss_of(objective)))


def make_gram(choices: Choices) -> dict[str, Any]:
    """The Gram matrix for steps that ask for lengths in the image: not a part of the state, for it can be formed
    again."""
    side = choices.gram_side()
    return {
        "matrix": choices.objective.gram if choices.image and choices.small else np.zeros((side, side)),
        "formed": np.zeros(1 if side else 0, dtype=np.int64),
        "cursors": np.zeros(side, dtype=np.uint64),
        "window": np.zeros(WINDOW if side else 0),
    }


def make_work(choices: Choices, memory: dict[str, Any], gram: dict[str, Any], listed: int) -> Work:
    """All that kernels change: the memory, and scratch with room for so many blocks of lists."""
    n, size, r = choices.n, memory["x"].size, memory["record"][0]
    slots = np.zeros(n, dtype=np.uint32)
    slots[memory["coordinates"][1 : r["count"] + 1]] = np.arange(1, r["count"] + 1)
    r["bounded"] = 0
    together = max(GROUP, min(choices.size, MOST_TOGETHER))
    places = memory["coordinates"] if choices.small else np.arange(size if choices.image else 0)
    return Work(
        memory["record"],
        Support(slots, memory["coordinates"], memory["x"], memory["previous"], memory["q"], memory["vertex"]),
        Estimate(
            memory["g"], memory["base"], memory["table"], memory["batch"], memory["change"],
            np.zeros(choices.population // 64 + 1 if choices.size else 0, dtype=np.uint64),
        ),
        Margins(memory["margins"], np.zeros(choices.m if choices.image_room() else 0)),
        Lists(
            np.zeros(choices.m if listed else 0, dtype=np.uint32), np.zeros(listed * lists.BLOCK, dtype=np.uint32),
            np.zeros(listed, dtype=np.uint32), np.zeros(listed, dtype=np.uint64), np.zeros(2, dtype=np.int64),
        ),
        Gram(places=places, pair=np.zeros((2, len(gram["matrix"]))), **gram),
        make_bounds(choices.of, n, choices.bounded),
        make_rounds(choices.of, size),
        Batch(
            *(np.zeros(together) for _ in range(3)), *(np.zeros(together, dtype=np.uint32) for _ in range(2))
        ),
    )  # fmt: skip


def grow(memory: dict[str, Any], n: int) -> None:
    """More room in the compact arrays."""
    size = capacity(3 * memory["x"].size // 2, n)
    for name in COMPACT:
        old = memory.get(name)
        if old is not None and old.size:
            memory[name] = np.zeros(size, dtype=old.dtype)
            memory[name][: old.size] = old
