"""What a problem of an experiment is: a specification of it, from plain values, and the thing itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..._arrays import Array
from ..schema import Checked

if TYPE_CHECKING:
    from ...constraints import Constraint
    from ...objectives import Objective


@dataclass(frozen=True, eq=False)
class Problem:
    """min f over C, ready to be solved.

    Attributes
    ----------
    objective : Objective
    constraint : Constraint
    facts : dict
        "n", "m" and "nonzeros", as far as they have a meaning.
    start : callable, optional
        From the generator of the start to x^0; default: the algorithm's own start.
    metrics : dict of callables
        What is recorded of x beside f, e.g. a fidelity; off the clock.
    """

    objective: Objective
    constraint: Constraint
    facts: dict[str, int]
    start: Callable[[np.random.Generator], Array] | None = None
    metrics: dict[str, Callable[[Array], float]] = field(default_factory=dict)


class ProblemSpec(Checked, frozen=True, kw_only=True, tag_field="kind"):
    """All that determines a problem (but the seed, if it is `random`), as plain values: part of the key of each run.

    Whoever brings a further kind of problem writes a subclass with a tag, and adds it to `AnyProblem`.
    """

    random: ClassVar[bool] = False
    """Whether `build` draws from its generator, so that each seed has a problem of its own."""

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """What a table of a specification may say of it."""
        return cls.__struct_fields__

    @classmethod
    def resolved(cls, table: dict[str, Any], folder: Path) -> dict[str, Any]:
        """The fields that a table means: file names, for example, are looked for in `folder`. It reads no data."""
        return table

    @property
    def label(self) -> str:
        """The name of the data in titles and tables."""
        raise NotImplementedError

    @property
    def stand_in(self) -> str | None:
        """The published data in whose place synthetic data stands, if it does."""
        return None

    @property
    def convex(self) -> bool:
        """Whether f is convex, so that a Frank-Wolfe gap bounds the distance to the minimum."""
        return False

    @property
    def certifiable(self) -> bool:
        """Whether a run of the exact gradient can certify the minimum, the same for every seed."""
        return False

    def build(self, rng: np.random.Generator) -> Problem:
        """The problem; `rng` is that of the problem, which only a `random` one may draw from."""
        raise NotImplementedError
