"""The rank of a fit, chosen by shots that it did not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, positive_int
from .._minimize import minimize
from .._refusals import refusing
from .states import StateTomography
from .tomography import ProcessTomography

_HEDGE = 1e-3
"""Share of the uniform distribution in each forecast: a fit of low rank calls things impossible that do happen."""


@dataclass(frozen=True)
class RankChoice:
    """Ranks and how well their fits foretell the shots held out.

    Attributes
    ----------
    rank : int
        The smallest one that is not worse than the best by more than one standard error.
    ranks : tuple of int
    scores : array
        Mean of -log(probability) over the shots held out; lower is better.
    errors : array
        Standard error of the difference to the best score.
    """

    rank: int
    ranks: tuple[int, ...]
    scores: Array
    errors: Array


@refusing
def choose_rank(
    problem: ProcessTomography | StateTomography,
    ranks: Sequence[int] | None = None,
    *,
    held_out: float = 0.2,
    rng: np.random.Generator | int | None = None,
    **settings: Any,
) -> RankChoice:
    """Fit each rank to a part of the shots, and ask how likely it finds the others.

    Parameters
    ----------
    problem : ProcessTomography or StateTomography
        Made from counts; of any rank.
    ranks : sequence of int, optional
        Default: 1, 2, 4, ... up to all.
    held_out : float
        The share of shots held out, each drawn at random.
    rng : numpy.random.Generator, int or None
    **settings
        For `bsfw.minimize`, such as max_iter.
    """
    if problem.shots is None:
        raise ValueError("shots are held out, but the problem was not made from counts; use from_counts.")
    if not 0 < held_out < 1:
        raise ValueError(f"held_out must be a share between 0 and 1, got {held_out!r}.")
    most = problem.largest_rank
    ranks = [2**k for k in range(most.bit_length())] if ranks is None else ranks
    ranks = sorted({positive_int(rank, "ranks") for rank in ranks})
    counts = np.rint(problem.observed() * problem.shots[:, :, None]).astype(np.int64)
    test = np.random.default_rng(rng).binomial(counts, held_out)
    train = counts - test
    test = test * (train.sum(axis=-1, keepdims=True) > 0)
    if not test.sum():
        raise ValueError("no shots were held out; there are too few of them, or held_out is too small.")
    logs = np.stack([_forecast(problem.with_counts(train, rank), settings) for rank in ranks])
    scores = -(test * logs).sum(axis=(1, 2, 3)) / test.sum()
    best = int(np.argmin(scores))
    difference = logs[best] - logs
    mean = (test * difference).sum(axis=(1, 2, 3)) / test.sum()
    spread = (test * (difference - mean[:, None, None, None]) ** 2).sum(axis=(1, 2, 3)) / test.sum()
    errors = np.sqrt(spread / test.sum())
    chosen = next(k for k in range(len(ranks)) if scores[k] <= scores[best] + errors[k])
    return RankChoice(ranks[chosen], tuple(ranks), scores, errors)


def _forecast(problem: ProcessTomography | StateTomography, settings: dict[str, Any]) -> Array:
    """log p of all outcomes, (inputs, settings, outcomes), by the fit."""
    p = problem.fitted(minimize(problem, **settings).x)
    return np.asarray(np.log((1 - _HEDGE) * np.maximum(p, 0.0) + _HEDGE / p.shape[-1]))
