"""Away, pairwise and blended pairwise Frank-Wolfe: from a gradient and an active set to a direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._arrays import Array, inner, norm
from ...active_set import ActiveSet
from ...boosting import Direction
from ...vertices import Vertex


@dataclass(frozen=True, slots=True)
class Choice(Direction):
    """A direction d with the weights it moves: from the atom `source` (from all, if None) to `target` (to all).

    A `Direction` whose combination of vertices is left empty, for d need not be a feasible point less x;
    `slope`, `alignment` and `norm` are those of d.

    Attributes
    ----------
    array : array
        d: s - x ("frank-wolfe"), x - a ("away") or v - a ("pairwise").
    source : int or None
        Position of the away atom a.
    target : Vertex or None
        Where the weight goes.
    largest : float
        The step at which a weight reaches zero; 1 for a Frank-Wolfe step.
    """

    array: Array
    source: int | None
    target: Vertex | None
    largest: float

    @property
    def kind(self) -> str:
        if self.source is None:
            return "frank-wolfe"
        return "away" if self.target is None else "pairwise"


@dataclass(frozen=True, slots=True)
class Look:
    """What a method chooses from.

    Attributes
    ----------
    x, g : array
        The iterate and its exact gradient.
    vertex : Vertex
        s = lmo(g).
    active : ActiveSet
    level, score : float
        <g, x> and <g, s>; their difference is the Frank-Wolfe gap.
    scores : array
        <g, a_i> for every atom.
    """

    x: Array
    g: Array
    vertex: Vertex
    active: ActiveSet
    level: float
    score: float
    scores: Array

    @classmethod
    def at(cls, x: Array, g: Array, vertex: Vertex, active: ActiveSet) -> Look:
        return cls(x, g, vertex, active, inner(g, x), vertex.inner(g), active.scores(g))

    @property
    def gap(self) -> float:
        """The Frank-Wolfe gap max_{s in C} <g, x - s>."""
        return self.level - self.score

    def towards(self) -> Choice:
        """s - x."""
        return self._choice(self.vertex.add_to(-self.x, 1.0), -self.gap, None, self.vertex, 1.0)

    def away(self, source: int) -> Choice:
        """x - a, until the weight of a is zero."""
        weight = float(self.active.weights[source])
        d = self.active.atom(source).add_to(self.x.copy(), -1.0)
        return self._choice(d, self.level - float(self.scores[source]), source, None, weight / (1.0 - weight))

    def between(self, source: int, target: Vertex, score: float) -> Choice:
        """v - a, until the weight of a is zero."""
        d = self.active.atom(source).add_to(target.add_to(0.0 * self.x, 1.0), -1.0)
        weight = float(self.active.weights[source])
        return self._choice(d, score - float(self.scores[source]), source, target, weight)

    def _choice(self, d: Array, slope: float, source: int | None, target: Vertex | None, largest: float) -> Choice:
        length, size = norm(d), norm(self.g)
        to_vertex = self.vertex.norm_squared() - 2.0 * self.vertex.inner(self.x) + inner(self.x, self.x)
        return Choice(
            vertices=[],
            weights=[],
            vertex=self.vertex,
            gap=self.gap,
            slope=slope,
            alignment=-slope / (size * length) if size * length > 0 else -1.0,
            norm=length,
            vertex_distance=math.sqrt(max(to_vertex, 0.0)),
            rounds=1,
            array=d,
            source=source,
            target=target,
            largest=largest,
        )


def away(look: Look) -> Choice:
    """Frank-Wolfe with away steps: the steeper one of s - x and x - a, a = argmax_{S} <g, a>.

    Guélat and Marcotte (1986); linear convergence on polytopes: Lacoste-Julien and Jaggi (2015), Algorithm 1. One LMO
    call and one pass over the atoms.
    """
    source = int(np.argmax(look.scores))
    if len(look.active) == 1 or look.gap >= look.scores[source] - look.level:
        return look.towards()
    return look.away(source)


def pairwise(look: Look) -> Choice:
    """Pairwise Frank-Wolfe: weight goes from a = argmax_{S} <g, a> to s, and nowhere else.

    Lacoste-Julien and Jaggi (2015), Algorithm 2. One LMO call and one pass over the atoms. A swap step, which takes
    all of the weight of a and makes s a new atom, need not make good progress.
    """
    return look.between(int(np.argmax(look.scores)), look.vertex, look.score)


def blended_pairwise(look: Look) -> Choice:
    """Blended pairwise Frank-Wolfe: a pairwise step within the active set if it is as steep as s - x, else s - x.

    Tsuji, Tanaka and Pokutta (2022), Algorithm 1: new atoms join by Frank-Wolfe steps only, so that there are no swap
    steps and few atoms. One LMO call, so that the gap is exact in every iteration (their lazy version, Algorithm 2,
    which skips calls, is not used), and one pass over the atoms.
    """
    source, target = int(np.argmax(look.scores)), int(np.argmin(look.scores))
    if source == target or look.gap > look.scores[source] - look.scores[target]:
        return look.towards()
    return look.between(source, look.active.atom(target), float(look.scores[target]))


CHOICES: dict[str, Callable[[Look], Choice]] = {
    "away": away,
    "pairwise": pairwise,
    "blended-pairwise": blended_pairwise,
}
"""By name."""
