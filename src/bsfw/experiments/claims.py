"""What the paper claims of each figure, and whether the records support it: computed from them, never typed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .methods import Comparison, Floats, Method, PanelRecords, gradient_axes
from .model import Experiment, Verdict
from .style import display_name

SUPPORTED, PARTLY, NOT_SUPPORTED, NOT_EVALUATED = "supported", "partly supported", "not supported", "not evaluated"

NEARLY_ALWAYS = 99.0
"""Boosting percentage from which "nearly 100 %" holds: at most one iteration in a hundred reverts."""

EDGE = 10
"""One part in so many of a run is its beginning, and its end: long enough that one step cannot move the median."""

ZIGZAG = 90.0
"""Degrees between successive steps from which a step undoes part of the one before."""

SHORTEST_STEP = 1e-6
"""Steps below this part of the longest one have no direction that means anything: the method has arrived."""

WIDEST_ORDER = 0.5
"""Decades around 10^k that are "of the order of 10^k": what rounds to k."""

ROUNDING = 1e-9
"""How far outside of a set, relative to its size, a point may lie by rounding."""

PAPER_PARAMETERS: dict[str, dict[str, float]] = {
    "rcv1": {"n": 47_236, "m": 20_242, "batch_size": 742, "radius": 100},
    "mushrooms": {"n": 112, "m": 8_124, "batch_size": 404, "radius": 50},
    "breast-cancer": {"n": 10, "m": 683, "coordinates": 1, "radius": 5},
}
"""The table exp_params of the paper, to compare the data with."""

Judgement = tuple[str, str]


@dataclass(frozen=True)
class Claim:
    """A sentence, and what tells from the records whether it holds: the outcome and the finding."""

    text: str
    judge: Callable[[Sequence[PanelRecords]], Judgement]


def verdicts(experiment: Experiment, panels: Sequence[PanelRecords], gaps: str) -> tuple[Verdict, ...]:
    """Judge the claims of an experiment; if runs are missing or failed, as `gaps` says, nothing is judged."""
    judged = []
    for claim in CLAIMS.get(experiment.view, ()):
        outcome, finding = (NOT_EVALUATED, gaps) if gaps else claim.judge(panels)
        judged.append(Verdict(claim.text, outcome, finding))
    return tuple(judged)


def _outcome(good: int, total: int) -> str:
    if total == 0:
        return NOT_EVALUATED
    return SUPPORTED if good == total else PARTLY if good else NOT_SUPPORTED


def _number(value: float) -> str:
    return f"{value:.2g}" if math.isfinite(value) else "infinite"


def _range(values: Sequence[float]) -> str:
    low, high = _number(min(values)), _number(max(values))
    return low if low == high else f"{low} to {high}"


def _place(name: str, panel: PanelRecords, panels: Sequence[PanelRecords]) -> str:
    return f"{name} on {panel.title}" if len(panels) > 1 else name


def _of_all(good: int, names: Sequence[str], what: str) -> str:
    return f"{good} of {len(names)} {what}{'s' if len(names) != 1 else ''}"


# --- convergence_plots and pw_res ------------------------------------------------------------------------------------


def _compare_all(
    panels: Sequence[PanelRecords],
    pairs: Callable[[PanelRecords], list[tuple[Method, Method]]],
    axes: Callable[[PanelRecords], list[str]],
    words: str,
) -> Judgement:
    """Whether the first method of each pair is lower than the second at equal cost, on every axis asked for."""
    compared: list[tuple[str, Comparison]] = []
    apart: list[str] = []
    for panel in panels:
        for first, second in pairs(panel):
            name = display_name(first.estimator)
            if first.variant and first.variant != second.variant and not second.boosted:
                name += f" ({first.variant})"
            for axis in axes(panel):
                comparison = panel.scale.compare(first, second, axis)
                if comparison is None:
                    apart.append(_place(name, panel, panels))
                else:
                    compared.append((_place(name, panel, panels), comparison))
    if not compared:
        return NOT_EVALUATED, "There are no two runs to compare at equal cost."
    ratios = [comparison.ratio for _, comparison in compared]
    above = [f"{name} ({comparison.ratio:.3g})" for name, comparison in compared if not comparison.ratio < 1]
    good = len(compared) - len(above)
    alone = len(panels) == 1 and not any(comparison.first.variant for _, comparison in compared)
    what = "estimator" if alone else "pair"
    finding = f"{words}: {_of_all(good, [name for name, _ in compared], what)}, ratio of suboptimality {_range(ratios)}"
    if above:
        finding += f"; not lower: {', '.join(above)}"
    if apart:
        finding += f"; never at equal cost: {', '.join(apart)}"
    return _outcome(good, len(compared)), finding + "."


def _judge_gradients(panels: Sequence[PanelRecords]) -> Judgement:
    kinds = sorted({axis.replace("_", " ") for panel in panels for axis in gradient_axes(panel.methods)}, reverse=True)
    words = f"boosted below vanilla at equal {' and '.join(kinds) or 'gradients'}"
    return _compare_all(panels, PanelRecords.pairs, lambda panel: gradient_axes(panel.methods), words)


def _judge_seconds(panels: Sequence[PanelRecords]) -> Judgement:
    return _compare_all(panels, PanelRecords.pairs, lambda _: ["seconds"], "boosted below vanilla at equal seconds")


def _decays(panel: PanelRecords) -> list[tuple[Method, Method]]:
    boosted = [method for method in panel.methods if method.boosted]
    return [
        (any_time, piecewise)
        for any_time in boosted
        for piecewise in boosted
        if any_time.estimator == piecewise.estimator
        and any_time.settings["decay"] == "auto"
        and piecewise.settings["decay"] == "piecewise"
    ]


def _judge_decays(panels: Sequence[PanelRecords]) -> Judgement:
    words = "any-time below piecewise at equal gradients"
    return _compare_all(panels, _decays, lambda panel: gradient_axes(panel.methods), words)


def _judge_piecewise(panels: Sequence[PanelRecords]) -> Judgement:
    def pairs(panel: PanelRecords) -> list[tuple[Method, Method]]:
        return [pair for pair in panel.pairs() if pair[0].settings["decay"] == "piecewise"]

    words = "piecewise boosted below vanilla at equal gradients"
    return _compare_all(panels, pairs, lambda panel: gradient_axes(panel.methods), words)


_EQUAL_GRADIENTS = Claim(
    "For every estimator, boosted Frank-Wolfe is below vanilla at the same number of gradients.", _judge_gradients
)
_EQUAL_SECONDS = Claim(
    "The same at equal seconds (our comparison: the figure of the paper counts gradients, its abstract names the wall "
    "clock).",
    _judge_seconds,
)
_ANY_TIME = Claim("Boosting with the any-time decay ends lower than with the piecewise decay.", _judge_decays)
_PIECEWISE = Claim(
    "With the piecewise decay, too, boosted Frank-Wolfe is below vanilla at the same number of gradients.",
    _judge_piecewise,
)


# --- exp_loss --------------------------------------------------------------------------------------------------------


def _judge_expected_loss(panels: Sequence[PanelRecords]) -> Judgement:
    names, ratios, shares = [], [], []
    for panel in panels:
        best = panel.scale.lowest
        for boosted, vanilla in panel.pairs():
            common, at, other = np.intersect1d(boosted.iterations, vanilla.iterations, return_indices=True)
            if not len(common):
                continue
            low, high = (
                method.column("value").mean(axis=0)[rows] - best for method, rows in ((boosted, at), (vanilla, other))
            )
            names.append(_place(display_name(boosted.estimator), panel, panels))
            ratios.append(float(low[-1] / high[-1]) if high[-1] else 1.0)
            # Both start from the same point: there they are equal.
            shares.append(float(np.mean(low[1:] < high[1:])) if len(low) > 1 else 0.0)
    if not names:
        return NOT_EVALUATED, "There are no two runs to compare at equal iterations."
    good = sum(ratio < 1 for ratio in ratios)
    above = [f"{name} ({ratio:.3g})" for name, ratio in zip(names, ratios, strict=True) if not ratio < 1]
    finding = (
        f"boosted below vanilla at the last iteration: {good} of {len(names)} pairs, ratio of expected loss "
        f"{_range(ratios)}; below on {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the recorded iterations"
    )
    return _outcome(good, len(names)), finding + (f"; not lower: {', '.join(above)}" if above else "") + "."


# --- oracle_grid -----------------------------------------------------------------------------------------------------


def rounds_of(method: Method) -> Floats:
    """Rounds of all recorded iterations of all runs; the last iterate took no step, so it has none."""
    rounds = method.column("rounds").ravel()
    return rounds[rounds > 0]


def _by_estimator(panel: PanelRecords) -> dict[str, list[Method]]:
    """The boosted methods of each estimator, the largest delta first."""
    groups: dict[str, list[Method]] = {}
    for method in sorted(panel.methods, key=lambda method: -method.settings["min_gain"]):
        if method.boosted:
            groups.setdefault(method.estimator, []).append(method)
    return groups


def _judge_rounds_grow(panels: Sequence[PanelRecords]) -> Judgement:
    growing, parts = 0, []
    for panel in panels:
        for estimator, methods in _by_estimator(panel).items():
            means = [float(rounds_of(method).mean()) for method in methods]
            growing += bool(np.all(np.diff(means) > 0)) and len(means) > 1
            name = _place(display_name(estimator), panel, panels)
            parts.append(f"{name} {', '.join(f'{mean:.1f}' for mean in means)}")
    finding = f"mean rounds grow with every smaller delta: {_of_all(growing, parts, 'estimator')} ({'; '.join(parts)})."
    return _outcome(growing, len(parts)), finding


_MORE_ROUNDS = ("sarah", "heavy-ball")


def _judge_fewest_rounds(panels: Sequence[PanelRecords]) -> Judgement:
    at_smallest: list[tuple[str, int]] = []
    elsewhere: list[tuple[str, int]] = []
    for panel in panels:
        for estimator, methods in _by_estimator(panel).items():
            for method in methods:
                fewest = int(rounds_of(method).min())
                name = _place(f"{display_name(estimator)} at {method.settings['min_gain']:g}", panel, panels)
                special = method is methods[-1] and estimator in _MORE_ROUNDS
                (at_smallest if special else elsewhere).append((name, fewest))
    if not at_smallest:
        return NOT_EVALUATED, "There are no runs of SARAH and Heavy Ball."
    three = sum(fewest == 3 for _, fewest in at_smallest)
    fewest_elsewhere = [fewest for _, fewest in elsewhere]
    two = fewest_elsewhere.count(2)
    finding = f"fewest calls: {', '.join(f'{name} {fewest}' for name, fewest in at_smallest)}"
    if elsewhere:
        finding += f"; in the other cases {_range(fewest_elsewhere)}, 2 in {two} of {len(elsewhere)}"
    finding += "."
    if three == len(at_smallest) and two == len(elsewhere):
        return SUPPORTED, finding
    return (PARTLY if three else NOT_SUPPORTED), finding


# --- gamma_plot ------------------------------------------------------------------------------------------------------


def _boosted(panels: Sequence[PanelRecords]) -> list[tuple[str, Method]]:
    return [
        (_place(display_name(method.estimator), panel, panels), method)
        for panel in panels
        for method in panel.methods
        if method.boosted
    ]


def boosting_percentages(method: Method) -> list[float]:
    """One a run (paper, eq. boosting_per)."""
    return [float(run["result"]["boosting_percentage"]) for run in method.runs]


def _judge_percentages(panels: Sequence[PanelRecords]) -> Judgement:
    means = {name: float(np.mean(boosting_percentages(method))) for name, method in _boosted(panels)}
    below = [f"{name} ({mean:.1f} %)" for name, mean in means.items() if mean < NEARLY_ALWAYS]
    good = len(means) - len(below)
    finding = f"boosting percentage at least {NEARLY_ALWAYS:g} %: {good} of {len(means)}"
    if means:
        finding += f", from {min(means.values()):.1f} to {max(means.values()):.1f} %"
    return _outcome(good, len(means)), finding + (f"; below: {', '.join(below)}" if below else "") + "."


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
        finding += f", ratio {_range(list(ratios.values()))}"
    return _outcome(good, len(ratios)), finding + (f"; not: {', '.join(growing)}" if growing else "") + "."


# --- boosting_vs_zigzag and boosting_expln ---------------------------------------------------------------------------


def turning_angles(points: Sequence[Sequence[float]]) -> Floats:
    """Degrees between successive steps of a path, 0 if it goes straight on and 180 if it turns back."""
    steps = np.diff(np.asarray(points, dtype=float), axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    moved = lengths > SHORTEST_STEP * lengths.max(initial=0.0)
    steps = steps[moved] / lengths[moved, None]
    cosines = np.clip(np.sum(steps[1:] * steps[:-1], axis=1), -1.0, 1.0)
    return np.degrees(np.arccos(cosines))


def median_angle(points: Sequence[Sequence[float]]) -> float:
    """The usual turn of a path; 0 if it has no two steps."""
    angles = turning_angles(points)
    return float(np.median(angles)) if len(angles) else 0.0


def _judge_zigzag(panels: Sequence[PanelRecords]) -> Judgement:
    paths = [record for panel in panels for record in panel.records if record.task.kind == "trajectory"]
    vanilla = [record.data for record in paths if record.task.settings["max_rounds"] == 1]
    boosted = [record.data for record in paths if record.task.settings["max_rounds"] > 1]
    if not vanilla or not boosted:
        return NOT_EVALUATED, "There are no two trajectories to compare."
    turn, other = (float(np.median([median_angle(data["points"]) for data in of])) for of in (vanilla, boosted))
    ends, others = ([data["values"][-1] - data["optimum"] for data in of] for of in (vanilla, boosted))
    facts = [turn >= ZIGZAG, other < ZIGZAG, max(others) < min(ends)]
    finding = (
        f"usual turn between steps: FW {turn:.0f} degrees, BFW {other:.0f}; f - f* after "
        f"{len(vanilla[0]['values']) - 1} steps: FW {_range(ends)}, BFW {_range(others)}."
    )
    return _outcome(sum(facts), len(facts)), finding


def _inside(point: Sequence[float], corners: Sequence[Sequence[float]]) -> bool:
    """Whether a point of the plane lies in the convex polygon of these corners, given in order, up to rounding."""
    polygon = np.asarray(corners, dtype=float)
    edges = np.roll(polygon, -1, axis=0) - polygon
    to_point = np.asarray(point, dtype=float) - polygon
    sides = edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0]
    slack = ROUNDING * float(np.max(np.abs(edges))) ** 2
    return bool(np.all(sides >= -slack) or np.all(sides <= slack))


def _judge_boosting_step(panels: Sequence[PanelRecords]) -> Judgement:
    steps = [record.data for panel in panels for record in panel.records if record.task.kind == "boosting-step"]
    if not steps:
        return NOT_EVALUATED, "There is no step to judge."
    facts: list[bool] = []
    for data in steps:
        target = np.add(data["x"], data["direction"])
        facts += [
            bool(np.all(np.diff(data["alignments"]) > 0)),
            _inside(target, data["corners"]) and _inside(data["next"], data["corners"]),
        ]
    aligned = ", ".join(f"{value:.3f}" for value in steps[0]["alignments"])
    finding = (
        f"alignment after each round: {aligned}; x + d and the next iterate are in the set: "
        f"{'yes' if all(facts[1::2]) else 'no'}."
    )
    return _outcome(sum(facts), len(facts)), finding


# --- exp_params and "When to boost?" ---------------------------------------------------------------------------------


def _judge_parameters(panels: Sequence[PanelRecords]) -> Judgement:
    seen, differences = 0, []
    for panel in panels:
        for record in panel.records:
            data = record.data
            name = str(data["label"]).split(" ")[0].removesuffix("-like")
            if name not in PAPER_PARAMETERS:
                continue
            seen += 1
            ours: dict[str, Any] = {**data["facts"], **data}
            for parameter, value in PAPER_PARAMETERS[name].items():
                if ours.get(parameter) != value:
                    differences.append(f"{data['label']}: {parameter} {ours.get(parameter)} (paper: {value:,g})")
    if not seen:
        return NOT_EVALUATED, "None of the data sets of the paper is here."
    same = f"{seen} data set{'s' if seen != 1 else ''} compared; "
    finding = same + (f"different: {'; '.join(differences)}." if differences else "all numbers are the same.")
    return (PARTLY if differences else SUPPORTED), finding


def _judge_cost(constraint: str, exponent: int) -> Callable[[Sequence[PanelRecords]], Judgement]:
    """Of the case of the paper with this set: least squares on samples, whose gradient passes over all of them."""

    def judge(panels: Sequence[PanelRecords]) -> Judgement:
        for panel in panels:
            for record in panel.records:
                problem = record.task.settings["problem"]
                if (problem.get("kind"), problem.get("set")) != ("least-squares", constraint):
                    continue
                ratio = float(record.data["ratio"])
                finding = f"measured {_number(ratio)} ({record.data['case']}); the paper says 1e{exponent}."
                if abs(math.log10(ratio) - exponent) <= WIDEST_ORDER:
                    return SUPPORTED, finding
                return (PARTLY if ratio < 1 else NOT_SUPPORTED), finding
        return NOT_EVALUATED, "This case was not measured."

    return judge


def _judge_heavy_ball(panels: Sequence[PanelRecords]) -> Judgement:
    """Boosted Heavy Ball against every other boosted estimator, panel by panel."""
    ratios: dict[str, float] = {}
    for panel in panels:
        boosted = [method for method in panel.methods if method.boosted]
        for best in (method for method in boosted if method.estimator == "heavy-ball"):
            for other in (method for method in boosted if method.estimator != "heavy-ball"):
                comparison = panel.scale.compare(best, other, "sample_gradients")
                if comparison is not None:
                    ratios[_place(display_name(other.estimator), panel, panels)] = comparison.ratio
    if not ratios:
        return NOT_EVALUATED, "There is no other estimator beside Heavy Ball to compare at equal gradients."
    above = [f"{name} ({ratio:.3g})" for name, ratio in ratios.items() if not ratio < 1]
    good = len(ratios) - len(above)
    finding = f"below {good} of {len(ratios)}, ratio of suboptimality {_range(list(ratios.values()))}"
    return _outcome(good, len(ratios)), finding + (f"; not below: {', '.join(above)}" if above else "") + "."


FIDELITIES = {"fidelity": "as measured", "fidelity_normalised": "normalised to trace d"}
"""The two conventions of the process fidelity: columns of a record, and words."""


def end_means(method: Method, column: str, axis: str, end: float = math.inf) -> Floats:
    """For each run the mean of a column over the last tenth of the iterates up to `end` on the axis."""
    means = []
    for cost, value in zip(method.column(axis), method.column(column), strict=True):
        reached = max(1, int(np.searchsorted(cost, end, side="right")))
        means.append(float(np.mean(value[reached - max(1, reached // EDGE) : reached])))
    return np.array(means)


def _judge_fidelity(column: str, axis: str) -> Callable[[Sequence[PanelRecords]], Judgement]:
    """Every K > 1 against K = 1, run by run (they share truth, noise and start). A difference counts if the mean over
    the runs is more than two standard errors from zero."""

    def judge(panels: Sequence[PanelRecords]) -> Judgement:
        higher, lower, differences = 0, [], []
        for panel in panels:
            for boosted, vanilla in panel.pairs():
                end = min(float(method.column(axis)[:, -1].min()) for method in (boosted, vanilla))
                gain = end_means(boosted, column, axis, end) - end_means(vanilla, column, axis, end)
                mean = float(gain.mean())
                error = float(gain.std(ddof=1)) / math.sqrt(len(gain)) if len(gain) > 1 else 0.0
                differences.append(mean)
                higher += mean > 2 * error
                if mean < -2 * error:
                    lower.append(f"K = {boosted.settings['max_rounds']} on {panel.title} ({mean:+.2g})")
        if not differences:
            return NOT_EVALUATED, "There is no K > 1 to compare with K = 1."
        finding = (
            f"{higher} of {len(differences)} are higher by more than two standard errors, {len(lower)} lower; "
            f"differences of the means {min(differences):+.2g} to {max(differences):+.2g}"
        )
        finding += f"; lower: {', '.join(lower)}" if lower else ""
        return _outcome(higher, len(differences)), finding + "."

    return judge


def _judge_constants(panels: Sequence[PanelRecords]) -> Judgement:
    rows = [row for panel in panels for record in panel.records for row in record.data["rows"]]
    if not rows:
        return NOT_EVALUATED, "There are no constants."
    wrong = [display_name(row["estimator"]) for row in rows if (row["C"] == 0) == (row["estimator"] == "zoja")]
    finding = f"{len(rows)} estimators; " + (f"otherwise for {', '.join(wrong)}." if wrong else "so it is.")
    return _outcome(len(rows) - len(wrong), len(rows)), finding


CLAIMS: dict[str, tuple[Claim, ...]] = {
    "convergence": (_EQUAL_GRADIENTS, _EQUAL_SECONDS),
    "piecewise": (_ANY_TIME, _PIECEWISE),
    "expected-loss": (
        Claim(
            "By iteration, the expected loss of the boosted method is below that of vanilla, for every estimator.",
            _judge_expected_loss,
        ),
    ),
    "oracle-calls": (
        Claim("The smaller delta, the more LMO calls an iteration.", _judge_rounds_grow),
        Claim(
            "The fewest LMO calls of an iteration are 2, but 3 for SARAH and Heavy Ball at delta = 1e-5.",
            _judge_fewest_rounds,
        ),
    ),
    "step-sizes": (
        Claim("The method hardly ever reverts to Frank-Wolfe: nearly 100 % boosting.", _judge_percentages),
        Claim("The step sizes tend to decrease.", _judge_steps_decrease),
    ),
    "trajectories": (Claim("Frank-Wolfe zigzags, boosted Frank-Wolfe avoids this.", _judge_zigzag),),
    "boosting-step": (
        Claim(
            "Every accepted round aligns the direction better with -m, and the scaled direction stays in the set.",
            _judge_boosting_step,
        ),
    ),
    "facts": (Claim("The data have the parameters that the paper prints.", _judge_parameters),),
    "fidelity": tuple(
        Claim(
            f"At equal {axis}, boosting (K > 1) ends with a higher fidelity, {words}, than vanilla (K = 1).",
            _judge_fidelity(column, name),
        )
        for column, words in FIDELITIES.items()
        for name, axis in (("seconds", "seconds"), ("iteration", "iterations"))
    ),
    "filtering": (
        _EQUAL_GRADIENTS,
        Claim("Boosted Heavy Ball ends below the other boosted estimators at equal gradients.", _judge_heavy_ball),
        _EQUAL_SECONDS,
    ),
    "constants": (Claim("C = 0 for all estimators but ZOJA.", _judge_constants),),
    "costs": (
        Claim(
            "An LMO of the nuclear ball costs about 1e-1 of a gradient (100 x 100 matrices).",
            _judge_cost("nuclear", -1),
        ),
        Claim("An LMO of the l1 ball costs about 1e-3 of a gradient (vectors of size 10,000).", _judge_cost("l1", -3)),
    ),
}
"""What is claimed in each view. The paper's words are in the experiment's claim; here is what can be computed."""
