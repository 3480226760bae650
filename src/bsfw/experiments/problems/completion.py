"""Matrix completion over a nuclear ball: the paper's collaborative filtering."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ...objectives._entries import ENTRY_LOSSES
from ..schema import Checked, Positive, Slug
from .base import Problem, ProblemSpec

if TYPE_CHECKING:
    CompletionLoss: TypeAlias = str
else:
    CompletionLoss = Literal[tuple(ENTRY_LOSSES)]

SYNTHETIC = "ml-100k-like"
"""The seeded synthetic ratings that take the place of ml-100k where the published file is not here."""


class RatingsSource(Checked, frozen=True, kw_only=True):
    """A set of ratings by name, and the published one in whose place it stands, if it does."""

    name: Slug
    stand_in: Slug | None = None

    @classmethod
    def named(cls, name: Any) -> RatingsSource:
        from ...datasets import available

        places = {known.name: known.place for known in available()}
        published = [known for known in _known() if known != SYNTHETIC]
        if name == "movielens":
            name = "ml-100k" if places["ml-100k"] != "download" else SYNTHETIC
        if name == SYNTHETIC:
            return cls(name=SYNTHETIC, stand_in="ml-100k")
        if name not in published:
            raise ValueError(
                f"unknown set of ratings {name!r} in [panel.problem]; known are "
                f"{', '.join(['movielens', *published, SYNTHETIC])}."
            )
        return cls(name=name)


def _known() -> list[str]:
    from ...datasets.registry import ENTRIES

    return [*(entry.name for entry in ENTRIES.values() if entry.kind == "ratings"), SYNTHETIC]


class Completion(ProblemSpec, frozen=True, kw_only=True, tag="completion"):
    """The average loss of a matrix of small nuclear norm on known ratings."""

    data: RatingsSource
    radius: Positive
    loss: CompletionLoss = "bounded"

    @classmethod
    def resolved(cls, table: dict[str, Any], folder: Path) -> dict[str, Any]:
        return table | ({"data": RatingsSource.named(table["data"])} if "data" in table else {})

    @property
    def label(self) -> str:
        return f"{self.data.name} (synthetic)" if self.data.stand_in else self.data.name

    @property
    def stand_in(self) -> str | None:
        return self.data.stand_in

    @property
    def convex(self) -> bool:
        return ENTRY_LOSSES[self.loss] == 1.0

    def build(self, rng: np.random.Generator) -> Problem:
        from ...constraints import NuclearBall
        from ...datasets import load
        from ...datasets.synthetic import ratings_like
        from ...objectives import MatrixCompletion

        ratings: Any = ratings_like() if self.data.name == SYNTHETIC else load(self.data.name)
        objective = MatrixCompletion(ratings, self.loss)
        return Problem(
            objective, NuclearBall(self.radius), {"n": int(np.prod(objective.shape)), "m": objective.n_samples}
        )
