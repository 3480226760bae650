"""Claims about tables: exp_params, estimator_params and "When to boost?"."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..methods import PanelRecords
from ..problems.least_squares import GaussianLeastSquares
from ..statistics import parameters_of
from ..style import display_name
from ..tasks import ConstantRows, Costs, Facts, Parameters
from .rules import NOT_EVALUATED, NOT_SUPPORTED, PARTLY, SUPPORTED, Claim, Judgement, number, outcome

WIDEST_ORDER = 0.5
"""Decades around 10^k that are "of the order of 10^k": what rounds to k."""

NEXT_ORDER = 1.0
"""Decades up to which a cost is partly what the paper says, if an LMO is cheaper than a gradient at all."""

PAPER_PARAMETERS: dict[str, dict[str, float]] = {
    "rcv1": {"n": 47_236, "m": 20_242, "batch_size": 742, "radius": 100},
    "mushrooms": {"n": 112, "m": 8_124, "batch_size": 404, "radius": 50},
    "breast-cancer": {"n": 10, "m": 683, "coordinates": 1, "radius": 5},
}
"""The table exp_params of the paper, to compare the data with."""


def _judge_parameters(panels: Sequence[PanelRecords]) -> Judgement:
    seen, numbers, differences = 0, 0, []
    for panel in panels:
        for record in panel.records:
            if not isinstance(record.task, Facts) or not isinstance(record.data, Parameters):
                continue
            name = record.task.problem.label
            if name not in PAPER_PARAMETERS:
                continue
            seen += 1
            ours = parameters_of(record.task, record.data)
            numbers += len(PAPER_PARAMETERS[name])
            for parameter, value in PAPER_PARAMETERS[name].items():
                if ours[parameter] != value:
                    differences.append(f"{name}: {parameter} {ours[parameter]} (paper: {value:,g})")
    if not seen:
        return NOT_EVALUATED, "None of the data sets of the paper is here."
    same = f"{seen} data set{'s' if seen != 1 else ''} compared; "
    finding = same + (f"different: {'; '.join(differences)}." if differences else "all numbers are the same.")
    return outcome(numbers - len(differences), numbers), finding


def _judge_cost(constraint: str, exponent: int) -> Callable[[Sequence[PanelRecords]], Judgement]:
    """Of the case of the paper with this set: least squares on samples, whose gradient passes over all of them."""

    def judge(panels: Sequence[PanelRecords]) -> Judgement:
        for panel in panels:
            for record in panel.records:
                problem, costs = record.task.problem, record.data
                if not isinstance(problem, GaussianLeastSquares) or not isinstance(costs, Costs):
                    continue
                if problem.set.name != constraint:
                    continue
                finding = f"measured {number(costs.ratio)} ({costs.case}); the paper says 1e{exponent}."
                off = abs(math.log10(costs.ratio) - exponent)
                if off <= WIDEST_ORDER:
                    return SUPPORTED, finding
                return (PARTLY if off <= NEXT_ORDER and costs.ratio < 1 else NOT_SUPPORTED), finding
        return NOT_EVALUATED, "This case was not measured."

    return judge


def _judge_constants(panels: Sequence[PanelRecords]) -> Judgement:
    found = [record.data for panel in panels for record in panel.records]
    rows = [row for data in found if isinstance(data, ConstantRows) for row in data.rows]
    if not rows:
        return NOT_EVALUATED, "There are no constants."
    wrong = [display_name(row.estimator) for row in rows if (row.C == 0) == (row.estimator == "zoja")]
    finding = f"{len(rows)} estimators; " + (f"otherwise for {', '.join(wrong)}." if wrong else "so it is.")
    return outcome(len(rows) - len(wrong), len(rows)), finding


PARAMETERS = Claim("The data have the parameters that the paper prints.", _judge_parameters)
CONSTANTS = Claim("C = 0 for all estimators but ZOJA.", _judge_constants)
COSTS = (
    Claim(
        "An LMO of the nuclear ball costs about 1e-1 of a gradient (100 x 100 matrices).", _judge_cost("nuclear", -1)
    ),
    Claim("An LMO of the l1 ball costs about 1e-3 of a gradient (vectors of size 10,000).", _judge_cost("l1", -3)),
)
