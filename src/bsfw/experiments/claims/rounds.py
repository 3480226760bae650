"""Claims about rounds and steps: fig. oracle_grid and gamma_plot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..methods import Method, PanelRecords
from ..statistics import EDGE, boosting_percentages, rounds_of
from ..style import display_name
from .rules import NOT_EVALUATED, NOT_SUPPORTED, Claim, Judgement, of_all, outcome, place, span

NEARLY_ALWAYS = 99.0
"""Boosting percentage from which "nearly 100 %" holds: at most one iteration in a hundred reverts."""

_MORE_ROUNDS = ("sarah", "heavy-ball")


def _by_estimator(panel: PanelRecords) -> dict[str, list[Method]]:
    """The boosted methods of each estimator, the largest delta first."""
    groups: dict[str, list[Method]] = {}
    for method in sorted(panel.methods, key=lambda method: -method.settings.min_gain):
        if method.boosted and len(rounds_of(method)):
            groups.setdefault(method.estimator, []).append(method)
    return groups


def _judge_rounds_grow(panels: Sequence[PanelRecords]) -> Judgement:
    growing, parts = 0, []
    for panel in panels:
        for estimator, methods in _by_estimator(panel).items():
            if len(methods) < 2:
                continue
            means = [float(rounds_of(method).mean()) for method in methods]
            growing += bool(np.all(np.diff(means) > 0))
            name = place(display_name(estimator), panel, panels)
            parts.append(f"{name} {', '.join(f'{mean:.1f}' for mean in means)}")
    if not parts:
        return NOT_EVALUATED, "There are no two values of delta to compare."
    counted = of_all(growing, len(parts), "estimator")
    finding = f"mean rounds grow with every smaller delta: {counted} ({'; '.join(parts)})."
    return outcome(growing, len(parts)), finding


def _judge_fewest_rounds(panels: Sequence[PanelRecords]) -> Judgement:
    at_smallest: list[tuple[str, int]] = []
    elsewhere: list[tuple[str, int]] = []
    for panel in panels:
        for estimator, methods in _by_estimator(panel).items():
            for method in methods:
                fewest = int(rounds_of(method).min())
                name = place(f"{display_name(estimator)} at {method.settings.min_gain:g}", panel, panels)
                special = method is methods[-1] and estimator in _MORE_ROUNDS
                (at_smallest if special else elsewhere).append((name, fewest))
    if not at_smallest:
        return NOT_EVALUATED, "There are no runs of SARAH and Heavy Ball."
    three = sum(fewest == 3 for _, fewest in at_smallest)
    fewest_elsewhere = [fewest for _, fewest in elsewhere]
    two = fewest_elsewhere.count(2)
    finding = f"fewest calls: {', '.join(f'{name} {fewest}' for name, fewest in at_smallest)}"
    if elsewhere:
        finding += f"; in the other cases {span(fewest_elsewhere)}, 2 in {two} of {len(elsewhere)}"
    finding += "."
    # What is special in the claim is the three; where most are not three, twos elsewhere do not save it.
    if 2 * three < len(at_smallest):
        return NOT_SUPPORTED, finding
    return outcome(three + two, len(at_smallest) + len(elsewhere)), finding


def _boosted(panels: Sequence[PanelRecords]) -> list[tuple[str, Method]]:
    return [
        (place(display_name(method.estimator), panel, panels), method)
        for panel in panels
        for method in panel.methods
        if method.boosted
    ]


def _judge_percentages(panels: Sequence[PanelRecords]) -> Judgement:
    # The lowest of the runs: a mean would let nine runs hide a tenth that reverts.
    shares = {name: min(boosting_percentages(method)) for name, method in _boosted(panels)}
    below = [f"{name} ({share:.1f} %)" for name, share in shares.items() if share < NEARLY_ALWAYS]
    good = len(shares) - len(below)
    finding = f"boosting percentage at least {NEARLY_ALWAYS:g} % in every run: {good} of {len(shares)}"
    if shares:
        finding += f", the lowest run from {min(shares.values()):.1f} to {max(shares.values()):.1f} %"
    return outcome(good, len(shares)), finding + (f"; below: {', '.join(below)}" if below else "") + "."


def _judge_steps_decrease(panels: Sequence[PanelRecords]) -> Judgement:
    ratios = {}
    for name, method in _boosted(panels):
        steps = method.middle("gamma")
        steps = steps[np.isfinite(steps)]
        edge = max(1, len(steps) // EDGE)
        ratios[name] = float(np.median(steps[-edge:]) / np.median(steps[:edge])) if len(steps) > 1 else math.nan
    growing = [name for name, ratio in ratios.items() if not ratio < 1]
    good = len(ratios) - len(growing)
    finding = f"median step of the last tenth below that of the first tenth: {good} of {len(ratios)}"
    if ratios:
        finding += f", ratio {span(list(ratios.values()))}"
    return outcome(good, len(ratios)), finding + (f"; not: {', '.join(growing)}" if growing else "") + "."


GROW = Claim("The smaller delta, the more LMO calls an iteration.", _judge_rounds_grow)
FEWEST = Claim(
    "The fewest LMO calls of an iteration are 2, but 3 for SARAH and Heavy Ball at delta = 1e-5.", _judge_fewest_rounds
)
NEARLY_ALWAYS_BOOSTED = Claim(
    "The method hardly ever reverts to Frank-Wolfe: nearly 100 % boosting.", _judge_percentages
)
STEPS_DECREASE = Claim("The step sizes tend to decrease.", _judge_steps_decrease)
