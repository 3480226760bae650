"""Claims about the two drawings in the plane: fig. boosting_vs_zigzag and boosting_expln."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..methods import PanelRecords
from ..statistics import median_angle
from ..tasks import Path, Rounds, Trajectory
from .rules import NOT_EVALUATED, NOT_SUPPORTED, Claim, Judgement, outcome, span

ZIGZAG = 90.0
"""Degrees between successive steps from which a step undoes part of the one before."""

ROUNDING = 1e-9
"""How far outside of a set, relative to its size, a point may lie by rounding."""


def _judge_zigzag(panels: Sequence[PanelRecords]) -> Judgement:
    found: dict[bool, list[Path]] = {True: [], False: []}
    for panel in panels:
        for record in panel.records:
            if isinstance(record.task, Trajectory) and isinstance(record.data, Path):
                found[record.task.max_rounds > 1].append(record.data)
    vanilla, boosted = found[False], found[True]
    if not vanilla or not boosted:
        return NOT_EVALUATED, "There are no two trajectories to compare."
    turn, other = (float(np.median([median_angle(path.points) for path in of])) for of in (vanilla, boosted))
    ends, others = ([path.values[-1] - path.optimum for path in of] for of in (vanilla, boosted))
    facts = [turn >= ZIGZAG, other < ZIGZAG, max(others) < min(ends)]
    finding = (
        f"usual turn between steps: FW {turn:.0f} degrees, BFW {other:.0f}; f - f* after "
        f"{len(vanilla[0].values) - 1} steps: FW {span(ends)}, BFW {span(others)}."
    )
    return outcome(sum(facts), len(facts)), finding


def _inside(point: ArrayLike, corners: Sequence[Sequence[float]]) -> bool:
    """Whether a point of the plane lies in the convex polygon of these corners, given in order, up to rounding."""
    polygon = np.asarray(corners, dtype=float)
    edges = np.roll(polygon, -1, axis=0) - polygon
    to_point = np.asarray(point, dtype=float) - polygon
    sides = edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0]
    slack = ROUNDING * float(np.max(np.abs(edges))) ** 2
    return bool(np.all(sides >= -slack) or np.all(sides <= slack))


def _judge_boosting_step(panels: Sequence[PanelRecords]) -> Judgement:
    steps = [record.data for panel in panels for record in panel.records if isinstance(record.data, Rounds)]
    if not steps:
        return NOT_EVALUATED, "There is no step to judge."
    aligning = sum(bool(np.all(np.diff(step.alignments) > 0)) for step in steps)
    inside = all(
        _inside(point, step.corners) for step in steps for point in (np.add(step.x, step.direction), step.next)
    )
    aligned = ", ".join(f"{value:.3f}" for value in steps[0].alignments)
    finding = (
        f"alignment after each round: {aligned}; x + d and the next iterate are in the set: "
        f"{'yes' if inside else 'no'}."
    )
    # A step that leaves the set is no step of the method, however well it is aligned.
    return (outcome(aligning, len(steps)) if inside else NOT_SUPPORTED), finding


ZIGZAGGING = Claim("Frank-Wolfe zigzags, boosted Frank-Wolfe avoids this.", _judge_zigzag)
ALIGNING = Claim(
    "Every accepted round aligns the direction better with -m, and the scaled direction stays in the set.",
    _judge_boosting_step,
)
