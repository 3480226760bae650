"""What the paper claims of each figure, and whether the records support it: computed from them, never typed."""

from __future__ import annotations

from collections.abc import Sequence

from ..methods import PanelRecords
from ..model import Experiment, Verdict
from . import convergence, fidelity, plane, rounds, tables
from .rules import NOT_EVALUATED, Claim

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "convergence": (convergence.EQUAL_GRADIENTS, convergence.EQUAL_SECONDS),
    "piecewise": (convergence.ANY_TIME, convergence.PIECEWISE),
    "expected-loss": (convergence.EXPECTED_LOSS,),
    "oracle-calls": (rounds.GROW, rounds.FEWEST),
    "step-sizes": (rounds.NEARLY_ALWAYS_BOOSTED, rounds.STEPS_DECREASE),
    "trajectories": (plane.ZIGZAGGING,),
    "boosting-step": (plane.ALIGNING,),
    "facts": (tables.PARAMETERS,),
    "fidelity": fidelity.CLAIMS,
    "filtering": (convergence.EQUAL_GRADIENTS, convergence.HEAVY_BALL, convergence.EQUAL_SECONDS),
    "constants": (tables.CONSTANTS,),
    "costs": tables.COSTS,
}
"""What is claimed in each view. The paper's words are in the experiment's claim; here is what can be computed."""


def verdicts(experiment: Experiment, panels: Sequence[PanelRecords], gaps: str) -> tuple[Verdict, ...]:
    """Judge the claims of an experiment; if runs are missing or failed, as `gaps` says, nothing is judged.

    Panels on stand-in data are left out: their numbers say nothing of the data of the paper.
    """
    real = [panel for panel in panels if panel.panel.stand_in is None]
    left_out = "".join(
        f" Not counted: {panel.title}, a stand-in for {panel.panel.stand_in}."
        for panel in panels
        if panel.panel.stand_in is not None
    )
    judged = []
    for claim in CLAIMS.get(experiment.view, ()):
        if gaps:
            outcome, finding = NOT_EVALUATED, gaps
        elif left_out and not real:
            outcome, finding = NOT_EVALUATED, "Only stand-in data were run."
        else:
            outcome, finding = claim.judge(real)
        judged.append(Verdict(claim.text, outcome, finding + left_out))
    return tuple(judged)
