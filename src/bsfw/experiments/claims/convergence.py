"""Claims about curves of f: fig. convergence_plots, pw_res, exp_loss and collaborative filtering."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..methods import Method, PanelRecords
from ..statistics import MOST, Comparison, Scale, gradient_axes, ratio_of
from ..style import display_name
from .rules import NOT_EVALUATED, Claim, Judgement, of_all, outcome, place, span

Pairs = Callable[[PanelRecords], list[tuple[Method, Method]]]
Axes = Callable[[PanelRecords], list[str]]


def _compare_all(
    panels: Sequence[PanelRecords], pairs: Pairs, axes: Axes, words: str, *, throughout: bool = True
) -> Judgement:
    """Whether the first method of each pair is lower than the second at equal cost, on every axis asked for: in the
    end, and `throughout` if the claim is not of the end alone."""
    compared: list[tuple[str, Comparison]] = []
    apart: list[str] = []
    for panel in panels:
        found = pairs(panel)
        scale = Scale.of(panel) if found else None
        for first, second in found:
            assert scale is not None
            name = display_name(first.estimator)
            if first.variant and first.variant != second.variant and not second.boosted:
                name += f" ({first.variant})"
            for axis in axes(panel):
                comparison = scale.compare(first, second, axis)
                if comparison is None:
                    apart.append(place(name, panel, panels))
                else:
                    compared.append((place(name, panel, panels), comparison))
    if not compared:
        return NOT_EVALUATED, "There are no two runs to compare at equal cost."
    ratios = [comparison.ratio for _, comparison in compared]
    above = [
        f"{name} ({comparison.ratio:.3g})"
        if comparison.ratio >= 1
        else f"{name} ({comparison.ratio:.3g} in the end, but below on {100 * comparison.share:.0f} % of the way)"
        for name, comparison in compared
        if not comparison.ratio < 1 or (throughout and comparison.share < MOST)
    ]
    good = len(compared) - len(above)
    alone = len(panels) == 1 and not any(comparison.first.variant for _, comparison in compared)
    what = "estimator" if alone else "pair"
    finding = f"{words}: {of_all(good, len(compared), what)}, ratio of suboptimality {span(ratios)}"
    if above:
        finding += f"; not lower: {', '.join(above)}"
    if apart:
        finding += f"; never at equal cost: {', '.join(apart)}"
    return outcome(good, len(compared)), finding + "."


def _gradients(panel: PanelRecords) -> list[str]:
    return gradient_axes(panel.methods)


def _judge_gradients(panels: Sequence[PanelRecords]) -> Judgement:
    kinds = sorted({axis.replace("_", " ") for panel in panels for axis in _gradients(panel)}, reverse=True)
    words = f"boosted below vanilla at equal {' and '.join(kinds) or 'gradients'}"
    return _compare_all(panels, PanelRecords.pairs, _gradients, words)


def _judge_seconds(panels: Sequence[PanelRecords]) -> Judgement:
    return _compare_all(panels, PanelRecords.pairs, lambda _: ["seconds"], "boosted below vanilla at equal seconds")


def _judge_decays(panels: Sequence[PanelRecords]) -> Judgement:
    def pairs(panel: PanelRecords) -> list[tuple[Method, Method]]:
        boosted = [method for method in panel.methods if method.boosted]
        return [
            (any_time, piecewise)
            for any_time in boosted
            for piecewise in boosted
            if any_time.estimator == piecewise.estimator
            and any_time.settings.decay == "auto"
            and piecewise.settings.decay == "piecewise"
        ]

    words = "any-time below piecewise at equal gradients"
    return _compare_all(panels, pairs, _gradients, words, throughout=False)


def _judge_piecewise(panels: Sequence[PanelRecords]) -> Judgement:
    def pairs(panel: PanelRecords) -> list[tuple[Method, Method]]:
        return [pair for pair in panel.pairs() if pair[0].settings.decay == "piecewise"]

    return _compare_all(panels, pairs, _gradients, "piecewise boosted below vanilla at equal gradients")


def _judge_heavy_ball(panels: Sequence[PanelRecords]) -> Judgement:
    """Boosted Heavy Ball against every other boosted estimator, panel by panel."""
    ratios: dict[str, float] = {}
    for panel in panels:
        boosted = [method for method in panel.methods if method.boosted]
        for best in (method for method in boosted if method.estimator == "heavy-ball"):
            for other in (method for method in boosted if method.estimator != "heavy-ball"):
                comparison = Scale.of(panel).compare(best, other, "sample_gradients")
                if comparison is not None:
                    ratios[place(display_name(other.estimator), panel, panels)] = comparison.ratio
    if not ratios:
        return NOT_EVALUATED, "There is no other estimator beside Heavy Ball to compare at equal gradients."
    above = [f"{name} ({ratio:.3g})" for name, ratio in ratios.items() if not ratio < 1]
    good = len(ratios) - len(above)
    finding = f"below {good} of {len(ratios)}, ratio of suboptimality {span(list(ratios.values()))}"
    return outcome(good, len(ratios)), finding + (f"; not below: {', '.join(above)}" if above else "") + "."


def _judge_expected_loss(panels: Sequence[PanelRecords]) -> Judgement:
    names, ratios, shares = [], [], []
    for panel in panels:
        best = Scale.of(panel).lowest if panel.methods else 0.0
        for boosted, vanilla in panel.pairs():
            common, at, other = np.intersect1d(boosted.iterations, vanilla.iterations, return_indices=True)
            if not len(common):
                continue
            low, high = (
                method.column("value").mean(axis=0)[rows] - best for method, rows in ((boosted, at), (vanilla, other))
            )
            names.append(place(display_name(boosted.estimator), panel, panels))
            ratios.append(ratio_of(float(low[-1]), float(high[-1])))
            # Both start from the same point: there they are equal.
            shares.append(float(np.mean(low[1:] < high[1:])) if len(low) > 1 else 0.0)
    if not names:
        return NOT_EVALUATED, "There are no two runs to compare at equal iterations."
    above = [
        f"{name} (ratio {ratio:.3g}, below on {100 * share:.0f} %)"
        for name, ratio, share in zip(names, ratios, shares, strict=True)
        if not (ratio < 1 and share >= MOST)
    ]
    good = len(names) - len(above)
    finding = (
        f"boosted below vanilla at the last iteration and on {100 * MOST:.0f} % of all: {good} of {len(names)} pairs, "
        f"ratio of expected loss in the end {span(ratios)}; below on {100 * min(shares):.0f} to "
        f"{100 * max(shares):.0f} % of the recorded iterations"
    )
    return outcome(good, len(names)), finding + (f"; not: {', '.join(above)}" if above else "") + "."


EQUAL_GRADIENTS = Claim(
    "For every estimator, boosted Frank-Wolfe is below vanilla at the same number of gradients.", _judge_gradients
)
EQUAL_SECONDS = Claim(
    "The same at equal seconds (our comparison: the figure of the paper counts gradients, its abstract names the wall "
    "clock).",
    _judge_seconds,
)
ANY_TIME = Claim("Boosting with the any-time decay ends lower than with the piecewise decay.", _judge_decays)
PIECEWISE = Claim(
    "With the piecewise decay, too, boosted Frank-Wolfe is below vanilla at the same number of gradients.",
    _judge_piecewise,
)
HEAVY_BALL = Claim("Boosted Heavy Ball ends below the other boosted estimators at equal gradients.", _judge_heavy_ball)
EXPECTED_LOSS = Claim(
    "By iteration, the expected loss of the boosted method is below that of vanilla, for every estimator.",
    _judge_expected_loss,
)
